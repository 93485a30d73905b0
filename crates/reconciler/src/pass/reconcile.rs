//! Planning a cluster, and deciding about the plan.
//!
//! Specs are read and plans are made on threads, where they keep no lease from being renewed.

use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use slipway_engine::{OTHER_RUN, STALE, State};
use slipway_operations::{
    ClusterSpec, Environment, Error, Opened, Planned, Request, Saved, Specs, plans, protection, state,
    stop_at_findings, weakened,
};
use slipway_state_store::{ClusterName, Digest, Error as StoreError, Head, read_head};

use super::apply::is_silent;
use super::limit::Planning;
use super::{End, Pass};
use crate::configuration::{Apply, Source};
use crate::entry::Place;
use crate::facts::Facts;
use crate::heads::Mark;
use crate::job::count_approvals;
use crate::policy::{Question, Verdict};
use crate::source::digest_in;
use crate::status::{Held, LastPlan, Problem, Reason, Status};
use crate::units;

/// A plan with what the policy decides by.
struct Considered {
    planned: Planned,
    digest: Digest,
    facts: Facts,
    /// The version of Kubernetes that was applied last.
    version: Option<String>,
}

impl Considered {
    fn of(opened: &Opened, planned: Planned) -> Result<Self, Error> {
        let mut facts = Facts::of(&planned.plan);
        let applied =
            opened.state.as_ref().map(|state| state::spec_of(&state.snapshot)).transpose()?.flatten();
        if let Some(applied) = &applied {
            facts.give_up(weakened(Some(applied), &opened.spec.cluster));
        }
        let version = applied.map(|cluster| cluster.kubernetes_version.to_string());
        Ok(Self { digest: plans::digest(&planned.plan)?, planned, facts, version })
    }
}

impl Pass {
    /// Plans the cluster, and applies the plan if the policy allows it.
    ///
    /// # Errors
    /// When the state store cannot be used.
    pub(super) async fn reconcile(&self, place: &Place, status: &mut Status) -> Result<End, StoreError> {
        let name = ClusterName::new(self.cluster.as_str())?;
        let head = read_head(&*self.shared.backend, &name).await?.map(|(head, _)| head);
        *self.mark.borrow_mut() = Some(Mark::of(head.as_ref()));
        if let Some(end) = head.as_ref().and_then(deletion) {
            return Ok(end);
        }
        let Some(source) = self.shared.configuration.sources.get(place.source) else {
            return Ok(End::waits(Reason::SpecVanished, "the source is not configured"));
        };
        let environment = self.shared.environment(source, &self.cluster);
        let end = Box::pin(self.with(&environment, (source, place), status)).await;
        environment.processes.end().await;
        match end {
            Ok(end) => Ok(end),
            Err(error) => Ok(match held_by(&error) {
                Some(message) => End::Held(message),
                None => {
                    let problem = units::in_source(Problem::of(&error), place.folder.path());
                    End::Fails(Reason::Failed, problem)
                }
            }),
        }
    }

    async fn with(
        &self,
        environment: &Environment,
        (source, place): (&Source, &Place),
        status: &mut Status,
    ) -> Result<End, Error> {
        let mut planning = match self.begin_planning(source).await {
            Ok(planning) => planning,
            Err(end) => return Ok(end),
        };
        let specs = match self.specs(&planning, environment, (source, place)).await {
            Err(end) => return Ok(end),
            Ok(Ok(Some(specs))) => specs,
            Ok(Ok(None)) => return Ok(End::Outdated),
            Ok(Err(error)) => {
                let problem = units::in_source(Problem::of(&error), place.folder.path());
                return Ok(End::Fails(Reason::SpecInvalid, problem));
            }
        };
        let Some(spec) = specs.clusters.into_iter().find(|spec| spec.cluster.name == self.cluster) else {
            return Ok(End::waits(Reason::SpecVanished, "the spec was removed while it was read"));
        };
        let mut opened = match self.open(&planning, environment, &spec).await {
            Ok(opened) => opened?,
            Err(end) => return Ok(end),
        };
        self.look_at_holder(&opened, status);
        if opened.state.as_ref().is_some_and(is_busy) {
            // A run has a thread of its own, and planning may begin anew after it.
            drop(planning);
            let taken_up = Box::pin(self.take_up(environment, &opened, status)).await?;
            let is_brought = match taken_up {
                // The run was that of an earlier plan: what the spec says now is planned.
                Some(End::InSync) => true,
                Some(end) => return Ok(end),
                None => false,
            };
            planning = match self.begin_planning(source).await {
                Ok(planning) => planning,
                Err(end) => return Ok(end),
            };
            if is_brought {
                status.applying = None;
                opened = match self.open(&planning, environment, &spec).await {
                    Ok(opened) => opened?,
                    Err(end) => return Ok(end),
                };
            }
        }
        let begun = Instant::now();
        let on_thread = opened.clone();
        let plan = move || async move {
            let planned = on_thread.plan(&Request::apply()).await?;
            Considered::of(&on_thread, planned)
        };
        let considered = match self.in_time(&planning, plan).await {
            Ok(considered) => considered.inspect_err(|_| self.count_plan("failed"))?,
            Err(end) => return Ok(end),
        };
        self.shared.metrics.plan_seconds.observe(begun.elapsed().as_secs_f64());
        Box::pin(self.decide_about(environment, (opened, considered), planning, status)).await
    }

    /// Opens the cluster, on a thread.
    async fn open(
        &self,
        planning: &Planning,
        environment: &Environment,
        spec: &ClusterSpec,
    ) -> Result<Result<Arc<Opened>, Error>, End> {
        let (environment, spec) = (environment.clone(), spec.clone());
        let open = move || async move {
            let options = Request::apply().options;
            Opened::open_to_apply(&environment, spec, &options).await.map(Arc::new)
        };
        self.in_time(planning, open).await
    }

    /// Reads the specs of the cluster's path, on a thread. `None` if the files are not those of the revision any more: the files of a
    /// folder are used where they are, and may change at any moment.
    async fn specs(
        &self,
        planning: &Planning,
        environment: &Environment,
        (source, place): (&Source, &Place),
    ) -> Result<Result<Option<Specs>, Error>, End> {
        let (policy, folder, path) = (environment.policy.clone(), place.folder.clone(), place.path.clone());
        let bases = source.bases.clone();
        let expected = source.folder.is_some().then(|| place.digest.clone());
        let read = move || async move {
            let specs = units::read(&policy, folder.path(), &path, &bases);
            let is_of_revision = expected.is_none_or(|expected| {
                let found = digest_in(folder.path(), &path, &bases);
                found.is_ok_and(|found| found == Some(expected))
            });
            if is_of_revision { specs.map(Some) } else { Ok(None) }
        };
        self.in_time(planning, read).await
    }

    async fn decide_about(
        &self,
        environment: &Environment,
        (opened, considered): (Arc<Opened>, Considered),
        planning: Planning,
        status: &mut Status,
    ) -> Result<End, Error> {
        let Considered { planned, digest, facts, version } = considered;
        status.version = version;
        let plan = &planned.plan;
        let now = Timestamp::now();
        let is_trusted = !environment.policy.is_untrusted();
        let place = if is_trusted {
            format!("{}{}/{}", plans::STORE, self.cluster, digest.to_hex())
        } else {
            String::new()
        };
        status.checked = Some(now);
        let needed = self.policy.needed_approvals(&facts);
        let approvals = match needed {
            0 => 0,
            _ => count_approvals(&self.shared, &self.cluster, &digest.to_string(), &self.policy).await?,
        };
        let last = LastPlan {
            digest: digest.to_string(),
            generation: plan.binding.generation.unwrap_or(0),
            when: now,
            facts,
            place: String::new(),
            approvals,
            needed,
        };
        // The time of the same plan is that of its first making.
        match &mut status.plan {
            Some(before) if before.digest == last.digest => *before = LastPlan { when: before.when, ..last },
            plan => *plan = Some(last),
        }
        let Some(last) = status.plan.clone() else { return Ok(End::Stopped) };
        if protection::is_nothing(plan) {
            self.count_plan("empty");
            return Ok(End::InSync);
        }
        self.count_plan("changes");
        if plan.has_deferred() {
            let message = format!("{} resources could not be read", last.facts.deferred);
            return Ok(End::Fails(Reason::Failed, Problem { code: None, message, hints: Vec::new() }));
        }
        stop_at_findings(plan)?;
        let question = Question {
            policy: &self.policy,
            facts: &last.facts,
            place: &place,
            pause: self.pause.as_ref(),
            approvals: last.approvals,
            now,
        };
        let verdict = self.verdict(question, status).await?;
        if is_trusted && (needed > 0 || verdict != Verdict::Apply) {
            // Persons can show, approve and apply it.
            let (environment, opened) = (environment.clone(), opened.clone());
            let store = move || async move {
                let bytes = Saved::to_bytes(&opened, &planned).await?;
                plans::store(&environment, &planned.plan, bytes).await
            };
            planning.run(store).await?;
            if let Some(last) = &mut status.plan {
                last.place = place;
            }
        }
        match verdict {
            Verdict::Wait(waiting) => Ok(End::Waits(waiting)),
            Verdict::Apply => {
                // No run is open: an earlier one that this controller began has ended.
                (status.applying, status.applying_revision) = (None, None);
                drop(planning);
                let end = Box::pin(self.apply(environment, Some(&opened), status, &last.digest)).await?;
                if matches!(end, End::InSync) {
                    status.version = Some(opened.spec.cluster.kubernetes_version.to_string());
                }
                Ok(end)
            }
        }
    }

    /// Writes down whether the holder of the cluster lives, as its renewals show.
    fn look_at_holder(&self, opened: &Opened, status: &mut Status) {
        let holder = opened.state.as_ref().and_then(|state| state.head.holder.as_ref());
        let sign = holder.map(|holder| format!("{} {}", holder.id.as_str(), holder.lease.renewals));
        let is_same = sign.is_some() && status.held.as_ref().map(|held| &held.sign) == sign.as_ref();
        if !is_same {
            status.held = sign.map(|sign| Held { sign, since: Timestamp::now() });
        }
    }

    /// Whether the run that holds the cluster, or that did not end, is one of another actor than this controller.
    fn is_of_another(&self, head: &Head) -> bool {
        let holder = head.holder.as_ref().map(|holder| &holder.who);
        let who = holder.or(head.unfinished.as_ref().map(|run| &run.who));
        who.is_some_and(|who| !self.shared.who().is_named(who))
    }

    /// Goes on with a run that another process holds, or that was interrupted. `None` if the cluster is to be planned as usual.
    async fn take_up(
        &self,
        environment: &Environment,
        opened: &Arc<Opened>,
        status: &mut Status,
    ) -> Result<Option<End>, Error> {
        let holder = opened.state.as_ref().and_then(|state| state.head.holder.as_ref());
        let held = holder.map(|holder| format!("{} holds the cluster (`{}`)", holder.who, holder.operation));
        if let Some(pause) = &self.pause {
            return Ok(Some(End::waits(Reason::Paused, pause.to_string())));
        }
        let state = opened.state.as_ref().map(|state| &state.head);
        if state.is_some_and(|head| self.is_of_another(head)) {
            // The process before ended between writing what it applies and taking the cluster.
            (status.applying, status.applying_revision) = (None, None);
        }
        let is_known = state.is_some_and(|head| head.holder.is_some() || head.unfinished.is_some());
        match (self.policy.apply, status.applying.clone()) {
            // Its holder was removed. It may be a deletion, or another run that does not bring what the spec says.
            (Apply::Always | Apply::Safe, None) if !is_known => Ok(Some(interrupted(None))),
            // The run was begun by the policy, with its approvals, and in its window.
            (Apply::Approved, Some(digest)) => {
                match Box::pin(self.apply(environment, None, status, &digest)).await {
                    // Another process has changed the state since.
                    Err(error) if matches!(error.code(), Some(STALE)) => {
                        status.applying = None;
                        Ok(None)
                    }
                    Err(error) if matches!(error.code(), Some(OTHER_RUN)) => Ok(Some(interrupted(held))),
                    ended => ended.map(Some),
                }
            }
            // It goes on with what the spec says now.
            (Apply::Always | Apply::Safe, digest) => match self.held_by_order(status).await? {
                Some(waiting) => Ok(Some(End::Waits(waiting))),
                // A living holder is not waited for.
                None if digest.is_none() && held.is_some() && !is_silent(status, Timestamp::now()) => {
                    Ok(Some(interrupted(held)))
                }
                None => Box::pin(self.apply(environment, Some(opened), status, &digest.unwrap_or_default()))
                    .await
                    .map(Some),
            },
            (Apply::Approved | Apply::Never, _) => Ok(Some(interrupted(held))),
        }
    }
}

/// The end where a person has deleted the cluster, or has begun to and the deletion has not ended: what is gone is not created
/// again.
pub(super) fn deletion(head: &Head) -> Option<End> {
    if head.deleted {
        let who = head.last_commit.as_ref().map_or("somebody", |commit| commit.who.as_str());
        let message = format!(
            "{who} has deleted the cluster, and a controller does not create it again; remove its spec from the source, or run `slipway apply` once"
        );
        return Some(End::Fails(Reason::Deleted, Problem { code: None, message, hints: Vec::new() }));
    }
    let holder = head.holder.as_ref().map(|holder| (&holder.who, &holder.operation));
    let ended = head.unfinished.as_ref().map(|run| (&run.who, &run.operation));
    let (who, _) = holder.into_iter().chain(ended).find(|(_, operation)| *operation == "delete")?;
    let message =
        format!("{who} has begun to delete the cluster, and a controller does not create again what is gone");
    let hints =
        vec!["run `slipway delete` again to go on; to keep the cluster, run `slipway apply` once".to_owned()];
    Some(End::Fails(Reason::Deleted, Problem { code: None, message, hints }))
}

fn interrupted(held: Option<String>) -> End {
    match held {
        Some(message) => End::Held(message),
        None => {
            let message = "a run of another process was interrupted; a person can run its command again, which `slipway state history` names";
            End::Fails(
                Reason::Interrupted,
                Problem { code: None, message: message.to_owned(), hints: Vec::new() },
            )
        }
    }
}

fn is_busy(state: &State) -> bool {
    state.head.holder.is_some() || state.is_interrupted()
}

/// The holder of a cluster that could not be taken, in a sentence.
pub(super) fn held_by(error: &Error) -> Option<String> {
    let store = match error {
        Error::Store(error) => error,
        Error::Engine(slipway_engine::Error::Store { source, .. }) => source,
        _ => return None,
    };
    // The time of the hold is left out: the message stays the same while it is held.
    match store {
        StoreError::Held { holder, .. } => {
            Some(format!("{} holds the cluster (`{}`)", holder.who, holder.operation))
        }
        _ => None,
    }
}
