//! Taking a cluster for a change of its state alone: no provider is asked, no step is run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use slipway_engine::State;
use slipway_plan::Snapshot;
use slipway_state_store::{Acquire, ClusterName, CommitMeta, Generation, Holder, Outcome, SystemClock};

use crate::actor::Actor;
use crate::error::CommandError;
use crate::program::Context;

/// A cluster that is held for a change of its state.
pub(crate) struct Holding {
    pub holder: Holder,
    pub state: State,
    actor: Actor,
    operation: &'static str,
}

impl Holding {
    /// Takes a cluster that exists.
    ///
    /// A run that was interrupted is taken up by an apply, which asks the provider what became of it; before that,
    /// nobody knows what the state is.
    pub async fn take(
        context: &Context,
        cluster: &str,
        operation: &'static str,
        wait: Option<Duration>,
    ) -> Result<Self, CommandError> {
        let actor = Actor::current(context);
        let mut acquire = Acquire::new(actor.doing(operation));
        acquire.wait = wait;
        acquire.describe = Some(State::progress);
        let name = ClusterName::new(cluster)?;
        let holder = Holder::acquire(context.backend()?, &name, acquire, Arc::new(SystemClock)).await?;
        let read = match holder.read().await {
            Ok(view) => State::of_view(cluster, view).map_err(CommandError::from),
            Err(error) => Err(error.into()),
        };
        let state = match read {
            Ok(state) if state.is_interrupted() => Err(interrupted(cluster)),
            read => read,
        };
        match state {
            Ok(state) => Ok(Self { holder, state, actor, operation }),
            Err(error) => {
                // Why it cannot be used is more worth telling than why it could not be let go.
                let _ = holder.release(None).await;
                Err(error)
            }
        }
    }

    /// Stores a changed state and lets the cluster go.
    pub async fn commit(self, snapshot: &Snapshot, detail: String) -> Result<Generation, CommandError> {
        commit(self.holder, &self.actor, self.operation, snapshot, detail).await
    }

    /// Lets the cluster go after a failure, which is told.
    pub async fn give_back<T>(self, error: CommandError) -> Result<T, CommandError> {
        let _ = self.holder.release(None).await;
        Err(error)
    }
}

/// Stores a state that no run has made and lets the cluster go.
pub(crate) async fn commit(
    holder: Holder,
    actor: &Actor,
    operation: &str,
    snapshot: &Snapshot,
    detail: String,
) -> Result<Generation, CommandError> {
    let bytes = match snapshot.to_bytes() {
        Ok(bytes) => bytes,
        Err(error) => {
            let _ = holder.release(None).await;
            return Err(CommandError::internal("the state cannot be written as JSON", &error));
        }
    };
    let meta = meta(actor, operation, detail, slipway_engine::about(&snapshot.spec));
    Ok(holder.release(Some((bytes, meta))).await?.generation)
}

/// Who changes the state, and what they do.
pub(crate) fn meta(
    actor: &Actor,
    operation: &str,
    detail: String,
    about: BTreeMap<String, String>,
) -> CommitMeta {
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

/// What goes on record for a generation whose head is lost.
pub(crate) fn lost_head(actor: &Actor, about: BTreeMap<String, String>) -> CommitMeta {
    let detail = "the head of this generation was lost; who made it is not known".to_owned();
    meta(actor, "restore head", detail, about)
}

fn interrupted(cluster: &str) -> CommandError {
    CommandError::new("CLI0030", format!("a run of {cluster} was interrupted; its state is not settled"))
        .hint("`slipway apply -f …` takes the run up and finds out what became of it; then try again")
}
