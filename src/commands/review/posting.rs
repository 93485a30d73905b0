//! Comments and statuses of one pull request.

use std::collections::BTreeSet;
use std::sync::Arc;

use slipway_forges::approvals::{self, Evidence, Outcome};
use slipway_forges::comment::{Preview, without_plan};
use slipway_forges::{
    Comment, Forge, Kind, Policy, Posted, PullRequest, Status, StatusState, Subject, report, sticky,
};
use slipway_operations::{Actor, plans};
use slipway_plan::Plan;
use slipway_state_store::approvals::{Approval, FORMAT, approve};
use slipway_state_store::{Backend, ClusterName, Generation};

use super::checkout::Extracted;
use super::clusters::Finding;
use crate::error::CommandError;
use crate::program::Context;

/// The review of one pull request.
pub(super) struct Review<'a> {
    pub context: &'a Context,
    pub forge: &'a dyn Forge,
    /// The login of our own user.
    pub own: &'a str,
    /// The host of the forge, to name its users.
    pub host: &'a str,
    /// The page that statuses link to.
    pub page: Option<&'a str>,
    pub pull_request: &'a PullRequest,
    pub comments: &'a [Comment],
    pub reviews: &'a [slipway_forges::Review],
    pub statuses: &'a [Posted],
    pub policy: &'a Policy,
}

impl Review<'_> {
    /// Sets the status that covers all clusters.
    pub(super) async fn overall(&self, state: StatusState, sentence: &str) -> Result<(), CommandError> {
        self.set(&report::status(&Subject::Specs, state, sentence, self.page)).await
    }

    async fn set(&self, status: &Status) -> Result<(), CommandError> {
        Ok(self.forge.set_status(&self.pull_request.head, status).await?)
    }

    async fn post(&self, subject: &Subject, body: &str) -> Result<(), CommandError> {
        let known = (self.comments, self.own);
        sticky::post(self.forge, self.pull_request.number, known, (subject, body)).await?;
        Ok(())
    }

    fn without_plan(&self, subject: &Subject, sentence: &str, text: &str) -> String {
        without_plan(subject, self.pull_request, (sentence, text), self.forge.comment_limit())
    }

    /// Shows a problem of all specs. Plans of an older head are out of date.
    pub(super) async fn problem(&self, sentence: &str, text: &str) -> Result<(), CommandError> {
        self.post(&Subject::Specs, &self.without_plan(&Subject::Specs, sentence, text)).await?;
        self.outdated(self.pull_request).await?;
        self.overall(StatusState::Failure, sentence).await?;
        self.context.output.outcome(sentence)
    }

    /// Marks the comments as out of date that are about other commits than those of the pull request as it is now.
    pub(super) async fn outdated(&self, now: &PullRequest) -> Result<(), CommandError> {
        let comments = self.forge.comments(now.number).await?;
        let known = (&*comments, self.own);
        sticky::mark_stale(self.forge, now.number, known, (&now.base, &now.head), &|_| None).await?;
        Ok(())
    }

    /// Takes a comment about a problem of all specs back.
    pub(super) async fn resolved(&self) -> Result<(), CommandError> {
        if sticky::find(self.comments, self.own, &Subject::Specs).is_none() {
            return Ok(());
        }
        let sentence = "The specs can be read after a merge.";
        self.post(&Subject::Specs, &self.without_plan(&Subject::Specs, sentence, "")).await
    }

    /// Shows what was found about a cluster, and stores its approvals in the backend. Returns the state of its status.
    pub(super) async fn cluster(
        &self,
        name: &str,
        finding: &Finding,
        (untrusted, backend): (bool, Option<Arc<dyn Backend>>),
        merged: &Extracted,
    ) -> Result<StatusState, CommandError> {
        let subject = Subject::Cluster(name.to_owned());
        let (body, status) = match finding {
            Finding::Planned { plan, before, weakened } => {
                let outcome = self.outcome(plan)?;
                if let Some(backend) = backend {
                    record(&backend, plan, &outcome, self.host).await?;
                }
                let preview = Preview {
                    pull_request: self.pull_request,
                    plan,
                    before: before.as_deref(),
                    weakened,
                    untrusted,
                    approvals: &outcome,
                    by_review: self.forge.kind() != Kind::GitLab,
                };
                let status = report::of_plan(plan, weakened.len(), &outcome, self.page)?;
                (preview.render(self.forge.comment_limit())?, status)
            }
            Finding::Failed(error) => {
                let body =
                    self.without_plan(&subject, "There is no plan:", &merged.without_place(&error.plain()));
                let code = error.code().map(|code| format!(" ({code})")).unwrap_or_default();
                let sentence = format!("there is no plan{code}; the comment says why");
                (body, report::status(&subject, StatusState::Failure, &sentence, self.page))
            }
            Finding::Removed => {
                let sentence = "A merge removes the spec of this cluster. Slipway does not delete the cluster: \
                                `slipway delete` does.";
                let body = self.without_plan(&subject, sentence, "");
                (body, report::status(&subject, StatusState::Success, "its spec is removed", self.page))
            }
        };
        self.post(&subject, &merged.without_place(&body)).await?;
        self.set(&status).await?;
        self.context.output.outcome(&format!("{name}: {}", status.description))?;
        Ok(status.state)
    }

    fn outcome(&self, plan: &Plan) -> Result<Outcome, CommandError> {
        let digest = plan.digest()?;
        let evidence = Evidence {
            pull_request: self.pull_request,
            own: self.own,
            statuses: self.statuses,
            reviews: self.reviews,
            comments: self.comments,
        };
        Ok(approvals::count(&self.policy.approvals, &digest, &plan.cluster, &evidence))
    }

    /// Takes the plans of clusters back that the pull request does not affect any more.
    pub(super) async fn unaffected(&self, findings: &[(String, Finding)]) -> Result<(), CommandError> {
        let shown: BTreeSet<&str> = findings.iter().map(|(name, _)| name.as_str()).collect();
        let mut subjects: Vec<Subject> =
            sticky::ours(self.comments, self.own).map(|(_, marker)| marker.subject).collect();
        subjects.dedup();
        for subject in subjects {
            if matches!(&subject, Subject::Cluster(name) if !shown.contains(name.as_str())) {
                let sentence = "This pull request does not change this cluster any more.";
                self.post(&subject, &self.without_plan(&subject, sentence, "")).await?;
            }
        }
        Ok(())
    }
}

/// Stores the approvals that count, for an apply of exactly this plan.
async fn record(
    backend: &Arc<dyn Backend>,
    plan: &Plan,
    outcome: &Outcome,
    host: &str,
) -> Result<(), CommandError> {
    for given in &outcome.given {
        let actor = Actor::new(given.person.as_str(), host)?;
        let approval = Approval {
            format: FORMAT,
            cluster: ClusterName::new(plan.cluster.as_str())?,
            plan: plans::digest(plan)?,
            generation: Generation(plan.binding.generation.unwrap_or(0)),
            person: actor.person,
            who: actor.who,
            when: given.at,
            comment: None,
        };
        approve(backend, approval).await?;
    }
    Ok(())
}
