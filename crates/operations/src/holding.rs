//! Taking a cluster: to change only its state, or to execute a plan.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use slipway_engine::{State, recover};
use slipway_plan::{Mode, Plan, Snapshot};
use slipway_resource::ClusterUid;
use slipway_state_store::{Acquire, ClusterName, CommitMeta, Generation, Holder, Outcome, SystemClock};

use crate::actor::Actor;
use crate::environment::Environment;
use crate::error::Error;
use crate::observe::Event;
use crate::plannable::Plannable;
use crate::protection::{self, Known};
use crate::state::spec_of;
use crate::unplanned::Allowed;
use crate::version;

/// A cluster that is held to execute a plan, with the state as the hold found it.
pub struct Held {
    pub(crate) holder: Holder,
    pub(crate) state: State,
    /// The recorded protection of the cluster from deletion.
    protection: Known,
    /// Whether steps of an interrupted run were resolved, so that a plan made before is out of date.
    recovered: bool,
}

/// Why a cluster is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taking<'a> {
    /// The operation as the history names it.
    pub operation: &'static str,
    /// How long to wait for another process that holds the cluster.
    pub wait: Option<Duration>,
    /// The unique id of a cluster that has no state yet.
    pub uid: Option<&'a ClusterUid>,
}

impl Held {
    /// Takes a cluster and resolves the steps of an interrupted run.
    pub(crate) async fn take(
        environment: &Environment,
        plannable: &dyn Plannable,
        taking: Taking<'_>,
    ) -> Result<Self, Error> {
        let cluster = plannable.cluster();
        let backend = plannable.backend().ok_or_else(|| Error::NoState { cluster: cluster.to_owned() })?;
        let uid = match taking.uid {
            Some(uid) => slipway_state_store::ClusterUid::new(uid.as_str())?,
            None => slipway_state_store::ClusterUid::random()?,
        };
        let acquire = acquire(environment, taking.operation, taking.wait).create(uid);
        let holder =
            Holder::acquire(backend, &ClusterName::new(cluster)?, acquire, Arc::new(SystemClock)).await?;
        match settle(environment, &holder, plannable, taking.operation).await {
            Ok((state, protection, recovered)) => Ok(Self { holder, state, protection, recovered }),
            Err(error) => give_back(holder, error).await,
        }
    }

    /// The starting point of a plan under the hold; `None` for a cluster without a state.
    pub(crate) fn prior(&self) -> Option<&Snapshot> {
        let is_known = self.state.head.snapshot.is_some() || self.recovered || self.state.is_interrupted();
        is_known.then_some(&self.state.snapshot)
    }

    /// Whether an empty plan has something to commit: the results of an interrupted run, or the end of a requested roll.
    /// Without this, a commit would only make stored plans and approvals out of date.
    pub(crate) fn has_more_than_snapshot(&self) -> bool {
        self.recovered || self.state.is_interrupted() || !self.state.snapshot.rolls.is_empty()
    }

    /// Whether a plan was made for the state as the hold found it.
    pub(crate) fn is_fresh(&self, plan: &Plan) -> bool {
        let (seen, head) = (plan.binding.generation.unwrap_or(0), &self.state.head);
        seen == head.generation.0
            && plan.binding.is_of(State::digest_of(head).as_ref())
            && !self.recovered
            && !self.state.is_interrupted()
    }

    /// Releases a cluster that the plan deletes and that is protected by now.
    pub(crate) async fn unless_protected(
        self,
        mode: Mode,
        cluster: &str,
        unprotect: bool,
    ) -> Result<Self, Error> {
        if mode != Mode::Delete {
            return Ok(self);
        }
        match protection::check(cluster, self.protection, None, unprotect) {
            Ok(()) => Ok(self),
            Err(error) => self.give_back(error).await,
        }
    }

    /// Releases the cluster after a failure.
    pub(crate) async fn give_back<T>(self, error: Error) -> Result<T, Error> {
        give_back(self.holder, error).await
    }
}

/// Releases a cluster after a failure. This failure is returned, not one of the release.
pub(crate) async fn give_back<T>(holder: Holder, error: Error) -> Result<T, Error> {
    let _ = holder.release(None).await;
    Err(error)
}

/// How a cluster is taken.
pub(crate) fn acquire(environment: &Environment, operation: &str, wait: Option<Duration>) -> Acquire {
    let mut acquire = Acquire::new(environment.actor.doing(operation));
    acquire.wait = wait;
    acquire.describe = Some(State::progress);
    acquire.options = environment.lease;
    acquire
}

/// Reads the state under the hold, and resolves the steps that an interrupted run left open.
async fn settle(
    environment: &Environment,
    holder: &Holder,
    plannable: &dyn Plannable,
    operation: &str,
) -> Result<(State, Known, bool), Error> {
    let cluster = plannable.cluster();
    let view = holder.read().await?;
    let complete = view.snapshot.as_ref().map(|bytes| State::snapshot_of(cluster, bytes)).transpose()?;
    let mut state = State::of_view(cluster, view)?;
    let protection = Known::of(complete.as_ref(), &state);
    // A recovery does not wait for the results of another spec, or for resources that are to be deleted.
    let superseded =
        operation == "delete" || plannable.spec()?.is_some_and(|spec| spec != state.snapshot.spec);
    let providers = plannable.recovering().await?;
    let resolved = recover(holder, &mut state, &providers, superseded).await?;
    let recovered = !resolved.is_empty();
    for step in resolved {
        environment.observer.event(Event::Recovered(step));
    }
    plannable.taken(&mut state);
    Ok((state, protection, recovered))
}

/// A cluster that is held to change only its state: no provider is called, no step is run.
pub struct Holding {
    /// The hold.
    pub holder: Holder,
    /// The state as the hold found it.
    pub state: State,
    actor: Actor,
    operation: &'static str,
}

impl Holding {
    /// Takes a cluster that exists, for a change that no policy holds back.
    ///
    /// An interrupted run is resolved by an apply, which asks the provider about the open steps. Before that, the state is not
    /// known.
    ///
    /// # Errors
    /// When another process holds the cluster, it does not exist, or a run of it was interrupted; when the approvals of the
    /// change are for another generation.
    pub async fn take(
        environment: &Environment,
        change: &Allowed,
        wait: Option<Duration>,
    ) -> Result<Self, Error> {
        let holding = Self::take_any(environment, change, wait).await?;
        if holding.state.is_interrupted() {
            let begun = spec_of(&holding.state.snapshot).ok().flatten();
            let upgrade = begun
                .filter(|begun| version::unfinished(&holding.state.head, begun).is_some())
                .map(|begun| begun.kubernetes_version);
            let cluster = change.cluster().to_owned();
            return holding.give_back(Error::Interrupted { cluster, upgrade }).await;
        }
        Ok(holding)
    }

    /// The same, also of a cluster whose last run was interrupted. Its open steps stay open, so its state must not be replaced.
    ///
    /// # Errors
    /// When another process holds the cluster, or it does not exist.
    pub(crate) async fn take_interrupted(environment: &Environment, change: &Allowed) -> Result<Self, Error> {
        Self::take_any(environment, change, None).await
    }

    async fn take_any(
        environment: &Environment,
        change: &Allowed,
        wait: Option<Duration>,
    ) -> Result<Self, Error> {
        let (cluster, operation) = (change.cluster(), change.operation());
        let acquire = acquire(environment, operation, wait);
        let backend = environment.store(cluster)?.backend.clone();
        let name = ClusterName::new(cluster)?;
        let holder = Holder::acquire(backend, &name, acquire, Arc::new(SystemClock)).await?;
        let read = match (change.check(holder.head().generation), holder.read().await) {
            (Err(error), _) => Err(error),
            (Ok(()), Ok(view)) => State::of_view(cluster, view).map_err(Error::from),
            (Ok(()), Err(error)) => Err(error.into()),
        };
        match read {
            Ok(state) => Ok(Self { holder, state, actor: environment.actor.clone(), operation }),
            Err(error) => give_back(holder, error).await,
        }
    }

    /// Stores a changed state and releases the cluster.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub async fn commit(self, snapshot: &Snapshot, detail: String) -> Result<Generation, Error> {
        commit(self.holder, &self.actor, self.operation, snapshot, detail).await
    }

    /// Releases the cluster after a failure, which is returned.
    ///
    /// # Errors
    /// Always.
    pub async fn give_back<T, E>(self, error: E) -> Result<T, E> {
        let _ = self.holder.release(None).await;
        Err(error)
    }
}

/// Stores a state that no run has created and releases the cluster.
///
/// # Errors
/// When the state cannot be written.
pub async fn commit(
    holder: Holder,
    actor: &Actor,
    operation: &str,
    snapshot: &Snapshot,
    detail: String,
) -> Result<Generation, Error> {
    let bytes = match snapshot.to_bytes() {
        Ok(bytes) => bytes,
        Err(error) => {
            return give_back(holder, Error::internal("the state cannot be written as JSON", error)).await;
        }
    };
    let meta = meta(actor, operation, detail, slipway_engine::about(&snapshot.spec));
    Ok(holder.release(Some((bytes, meta))).await?.generation)
}

/// The actor and the operation that change the state.
#[must_use]
pub fn meta(actor: &Actor, operation: &str, detail: String, about: BTreeMap<String, String>) -> CommitMeta {
    CommitMeta {
        operation: operation.to_owned(),
        plan_digest: None,
        who: actor.who.clone(),
        when: jiff::Timestamp::now(),
        outcome: Outcome::Complete,
        detail: Some(detail),
        about,
    }
}

/// The history's entry for a generation whose head was lost.
#[must_use]
pub fn lost_head(actor: &Actor, about: BTreeMap<String, String>) -> CommitMeta {
    let detail = "the head of this generation was lost; who made it is not known".to_owned();
    meta(actor, slipway_state_store::history::RESTORED, detail, about)
}
