//! Comments, statuses and approvals of one pull request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use slipway_forges::approvals::{self, Evidence, Outcome};
use slipway_forges::comment::without_plan;
use slipway_forges::{
    ApprovalPolicy, Comment, Forge, Kind, MarkedPart, Posted, PullRequest, Status, StatusState, report,
    sticky,
};
use slipway_operations::Actor;
use slipway_state_store::approvals::{Approval, FORMAT, approve, revoke};
use slipway_state_store::{Backend, ClusterName, Digest, Generation};

use crate::checkout::Extracted;
use crate::clusters::Finding;
use crate::draft::{Draft, Rendered};
use crate::error::Error;

/// The review of one pull request.
pub struct Review<'a> {
    /// The repository on the forge.
    pub forge: &'a dyn Forge,
    /// The login of our own user.
    pub own: &'a str,
    /// The host of the forge, to name its users.
    pub host: &'a str,
    /// The page that statuses link to.
    pub page: Option<&'a str>,
    /// The pull request.
    pub pull_request: &'a PullRequest,
    /// Its comments, the earliest first.
    pub comments: &'a [Comment],
    /// Its reviews, the earliest first.
    pub reviews: &'a [slipway_forges::Review],
    /// The statuses of its head, the earliest first.
    pub statuses: &'a [Posted],
    /// Whose approvals count for a cluster.
    pub approvals: &'a (dyn Fn(&str) -> ApprovalPolicy + Sync),
    /// Where approvals are stored; `None` if they are only shown.
    pub record: Option<Arc<dyn Backend>>,
    /// Whether a status is left out that the head has already. The statuses were read after the last one was set.
    pub skips_same: bool,
    /// The statuses that this review has set since.
    pub sent: Sent,
}

/// The statuses that a review has set, the last one of each name.
#[derive(Debug, Default)]
pub struct Sent(Mutex<BTreeMap<String, Status>>);

impl Sent {
    fn last(&self, context: &str) -> Option<Status> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(context).cloned()
    }

    fn take(&self, status: &Status) {
        let mut sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sent.insert(status.context.clone(), status.clone());
    }
}

impl Review<'_> {
    /// Sets the status that covers all clusters.
    ///
    /// # Errors
    /// When the forge or the state store refuses.
    pub async fn overall(&self, state: StatusState, sentence: &str) -> Result<(), Error> {
        self.set(&report::status(&MarkedPart::Specs, state, sentence, self.page)).await
    }

    /// Sets a status, unless the last one of its name is the same and of our own user.
    pub(crate) async fn set(&self, status: &Status) -> Result<(), Error> {
        if self.skips_same && self.is_shown(status) {
            return Ok(());
        }
        self.forge.set_status(&self.pull_request.head, status).await?;
        self.sent.take(status);
        Ok(())
    }

    /// Whether the last status of this name says the same, and is of our own user.
    fn is_shown(&self, status: &Status) -> bool {
        if let Some(sent) = self.sent.last(&status.context) {
            return sent.state == status.state && sent.description == status.description;
        }
        let last = self.statuses.iter().rev().find(|known| known.context == status.context);
        last.is_some_and(|known| {
            known.by == self.own
                && known.state == Some(status.state)
                && known.description == status.description
        })
    }

    async fn post(&self, subject: &MarkedPart, body: &str) -> Result<(), Error> {
        let known = (self.comments, self.own);
        sticky::post(self.forge, self.pull_request.number, known, (subject, body)).await?;
        Ok(())
    }

    fn without_plan(&self, subject: &MarkedPart, sentence: &str, text: &str) -> String {
        without_plan(subject, self.pull_request, (sentence, text), self.forge.comment_limit())
    }

    /// Shows a problem of all specs. Plans of an older head are out of date.
    ///
    /// # Errors
    /// When the forge or the state store refuses.
    pub async fn problem(&self, sentence: &str, text: &str) -> Result<(), Error> {
        self.post(&MarkedPart::Specs, &self.without_plan(&MarkedPart::Specs, sentence, text)).await?;
        self.outdated(self.pull_request).await?;
        self.overall(StatusState::Failure, sentence).await
    }

    /// Marks the comments as out of date that are about other commits than those of the pull request as it is now.
    ///
    /// # Errors
    /// When the forge or the state store refuses.
    pub async fn outdated(&self, now: &PullRequest) -> Result<(), Error> {
        let comments = self.forge.comments(now.number).await?;
        let known = (&*comments, self.own);
        sticky::mark_stale(self.forge, now.number, known, (&now.base, &now.head), &|_| None).await?;
        Ok(())
    }

    /// Takes a comment about a problem of all specs back.
    ///
    /// # Errors
    /// When the forge or the state store refuses.
    pub async fn resolved(&self) -> Result<(), Error> {
        if sticky::find(self.comments, self.own, &MarkedPart::Specs).is_none() {
            return Ok(());
        }
        let sentence = "The specs can be read after a merge.";
        self.post(&MarkedPart::Specs, &self.without_plan(&MarkedPart::Specs, sentence, "")).await
    }

    /// Shows what was found about a cluster, and stores its approvals. Those of an untrusted plan are not stored: its digest is
    /// another one than that of the plan after the merge. Returns its status.
    ///
    /// # Errors
    /// When the forge or the state store refuses.
    pub async fn cluster(
        &self,
        (name, finding): (&str, &Finding),
        untrusted: bool,
        merged: &Extracted,
        render: impl AsyncFn(Draft) -> Result<Rendered, Error>,
    ) -> Result<Status, Error> {
        let subject = MarkedPart::Cluster(name.to_owned());
        let (body, status) = match finding {
            Finding::Planned { plan, digest, before, weakened } => {
                let approvals = self.count(digest, &plan.cluster);
                if let Some(backend) = self.record.as_ref().filter(|_| !untrusted) {
                    let generation = Generation(plan.binding.generation.unwrap_or(0));
                    let about = (plan.cluster.as_str(), stored_as(digest)?, generation);
                    record(backend, about, &approvals, self.host).await?;
                }
                let draft = Draft {
                    pull_request: self.pull_request.clone(),
                    plan: plan.clone(),
                    before: before.clone(),
                    weakened: weakened.clone(),
                    untrusted,
                    approvals,
                    by_review: self.forge.kind() != Kind::GitLab,
                    page: self.page.map(str::to_owned),
                    limit: self.forge.comment_limit(),
                };
                let Rendered { comment, status } = render(draft).await?;
                (comment, status)
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
        Ok(status)
    }

    fn count(&self, digest: &slipway_resource::Digest, cluster: &str) -> Outcome {
        let evidence = Evidence {
            pull_request: self.pull_request,
            own: self.own,
            statuses: self.statuses,
            reviews: self.reviews,
            comments: self.comments,
        };
        approvals::count(&(self.approvals)(cluster), digest, cluster, &evidence)
    }

    /// Stores the approvals of the plans that the comments of a merged pull request show: a person may approve and merge within
    /// one moment. Those of a pull request that was closed without a merge are not taken any more. Approvals that were taken back are
    /// removed in both cases.
    ///
    /// # Errors
    /// When the state store refuses.
    pub async fn closed(&self) -> Result<(), Error> {
        let Some(backend) = self.record.as_ref().filter(|_| !self.pull_request.from_fork) else {
            return Ok(());
        };
        for (_, marker) in sticky::ours(self.comments, self.own) {
            // The merge itself moves the base branch. Approvals are for exactly the plan that was shown.
            let is_current =
                marker.head == self.pull_request.head && (!marker.stale || self.pull_request.merged);
            let (MarkedPart::Cluster(cluster), Some(shown)) = (&marker.subject, &marker.digest) else {
                continue;
            };
            let Some(plan) = shown.as_str().parse::<Digest>().ok().filter(|_| is_current) else { continue };
            let about = (cluster.as_str(), plan, Generation(marker.generation.unwrap_or(0)));
            let mut outcome = self.count(shown, cluster);
            if !self.pull_request.merged {
                outcome.given.clear();
            }
            record(backend, about, &outcome, self.host).await?;
        }
        Ok(())
    }

    /// Takes the plans of clusters back that the pull request does not affect any more.
    ///
    /// # Errors
    /// When the forge or the state store refuses.
    pub async fn unaffected(&self, findings: &[(String, Finding)]) -> Result<(), Error> {
        let shown: BTreeSet<&str> = findings.iter().map(|(name, _)| name.as_str()).collect();
        let mut subjects: Vec<MarkedPart> =
            sticky::ours(self.comments, self.own).map(|(_, marker)| marker.subject).collect();
        subjects.dedup();
        for subject in subjects {
            if matches!(&subject, MarkedPart::Cluster(name) if !shown.contains(name.as_str())) {
                let sentence = "This pull request does not change this cluster any more.";
                self.post(&subject, &self.without_plan(&subject, sentence, "")).await?;
            }
        }
        Ok(())
    }
}

/// The digest of a plan, as the state store names it.
fn stored_as(digest: &slipway_resource::Digest) -> Result<Digest, Error> {
    let parsed = digest.as_str().parse::<Digest>();
    parsed.map_err(|error| {
        slipway_operations::Error::internal("the plan's digest cannot be used as a name", error).into()
    })
}

/// Stores the approvals that count, for an apply of exactly this plan, and removes those that were taken back.
async fn record(
    backend: &Arc<dyn Backend>,
    (cluster, plan, generation): (&str, Digest, Generation),
    outcome: &Outcome,
    host: &str,
) -> Result<(), Error> {
    for given in &outcome.given {
        let actor = Actor::new(given.person.as_str(), host)?;
        let approval = Approval {
            format: FORMAT,
            cluster: ClusterName::new(cluster)?,
            plan,
            generation,
            person: actor.person,
            who: actor.who,
            when: given.at,
            comment: None,
        };
        approve(backend, approval).await?;
    }
    for login in &outcome.withdrawn {
        let actor = Actor::new(login.as_str(), host)?;
        revoke(&**backend, &ClusterName::new(cluster)?, plan, &actor.person).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use slipway_forges::{Address, CommentId, Connection, Marker, Repository, Revision, Verdict, connect};
    use slipway_state_store::{MemoryBackend, approvals};

    use super::*;

    /// A pull request whose plan Grace has approved in a comment, by its end.
    struct Scene {
        pull_request: PullRequest,
        comments: Vec<Comment>,
        reviews: Vec<slipway_forges::Review>,
        backend: Arc<dyn Backend>,
    }

    fn shown() -> slipway_resource::Digest {
        slipway_resource::Digest::of_bytes(b"plan")
    }

    impl Scene {
        fn new(merged: bool) -> Self {
            let revision = |digit: &str| Revision::parse(&digit.repeat(40)).unwrap();
            let (base, head) = (revision("a"), revision("b"));
            let marker = Marker {
                subject: MarkedPart::Cluster("prod".to_owned()),
                base: base.clone(),
                head: head.clone(),
                digest: Some(shown()),
                generation: Some(3),
                stale: false,
            };
            let comment = |id, author: &str, body: String| Comment {
                id: CommentId(id),
                author: author.to_owned(),
                body,
                created: "2026-11-26T12:00:00Z".parse().unwrap(),
                updated: "2026-11-26T12:00:00Z".parse().unwrap(),
            };
            let pull_request = PullRequest {
                number: 7,
                open: false,
                merged,
                author: "ada".to_owned(),
                head,
                base,
                base_branch: "main".to_owned(),
                from_fork: false,
                labels: Vec::new(),
            };
            let approval = format!("{} {}", slipway_forges::approvals::COMMAND, shown());
            Self {
                pull_request,
                comments: vec![comment(1, "bot", marker.line()), comment(2, "grace", approval)],
                reviews: Vec::new(),
                backend: Arc::new(MemoryBackend::new()),
            }
        }

        /// The persons whose approvals are stored after the end was seen.
        async fn end(&self) -> Vec<String> {
            let forge = connect(Connection {
                kind: Kind::Gitea,
                address: Address::parse("https://git.example.com", false).unwrap(),
                repository: Repository::parse("o/r").unwrap(),
                token: None,
                user: None,
                patience: std::time::Duration::ZERO,
            })
            .unwrap();
            let approvals =
                |_: &str| ApprovalPolicy { needed: 1, people: vec!["grace".to_owned()], author: false };
            let review = Review {
                forge: &*forge,
                own: "bot",
                host: "git.example.com",
                page: None,
                pull_request: &self.pull_request,
                comments: &self.comments,
                reviews: &self.reviews,
                statuses: &[],
                approvals: &approvals,
                record: Some(self.backend.clone()),
                skips_same: true,
                sent: Sent::default(),
            };
            review.closed().await.unwrap();
            let plan = shown().as_str().parse::<Digest>().unwrap();
            let given =
                approvals::of(&*self.backend, &ClusterName::new("prod").unwrap(), plan).await.unwrap();
            given.into_iter().map(|approval| approval.person).collect()
        }
    }

    #[test]
    fn the_last_status_of_a_review_counts_and_not_an_older_one() {
        let sent = Sent::default();
        let status = |state| report::status(&MarkedPart::Specs, state, "a sentence", None);
        let (older, newer) = (status(StatusState::Failure), status(StatusState::Pending));
        assert_eq!(sent.last(&older.context), None);
        sent.take(&older);
        sent.take(&newer);
        assert_eq!(sent.last(&older.context), Some(newer));
    }

    #[tokio::test]
    async fn only_a_merge_takes_the_last_approvals() {
        assert_eq!(Scene::new(true).end().await, ["grace"]);
        assert!(Scene::new(false).end().await.is_empty(), "it was closed");
    }

    #[tokio::test]
    async fn an_approval_that_was_taken_back_is_removed() {
        let mut scene = Scene::new(true);
        assert_eq!(scene.end().await, ["grace"]);
        scene.reviews.push(slipway_forges::Review {
            author: "grace".to_owned(),
            verdict: Verdict::ChangesRequested,
            revision: Some(scene.pull_request.head.clone()),
            at: Some("2026-11-26T13:00:00Z".parse().unwrap()),
        });
        // Also when the pull request is closed before the next look.
        scene.pull_request.merged = false;
        assert!(scene.end().await.is_empty());
        scene.pull_request.merged = true;
        assert!(scene.end().await.is_empty());
    }
}
