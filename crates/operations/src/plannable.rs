//! The subject of a plan: a cluster of specs, or the inside of one node.

use std::sync::Arc;

use async_trait::async_trait;
use slipway_engine::{SecretSource, State};
use slipway_plan::{Plan, Providers, Snapshot};
use slipway_resource::ClusterUid;
use slipway_secrets::SecretStore;
use slipway_state_store::{Backend, Journal};
use tokio::time::Instant;

use crate::error::Error;
use crate::observe::Event;
use crate::request::Request;

/// A plan that can be carried out.
#[derive(Clone)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// When its observations were made; `None` for a plan from a file.
    pub observed_at: Option<Instant>,
    /// The unique id of the cluster, where it has one.
    pub uid: Option<ClusterUid>,
    /// Where the texts of its secrets come from.
    pub texts: Arc<dyn SecretSource>,
}

/// A subject with a state, providers and a way to plan for it.
///
/// The code that executes plans knows nothing else about their subject. Each stage of an operation has its
/// own providers. They are made with the facts that are known by then, such as the hold on the state or the
/// address of a cluster's API.
#[async_trait(?Send)]
pub trait Plannable {
    /// The name under which the state knows it.
    fn cluster(&self) -> &str;

    /// Where its state is; none for a plan without one.
    fn backend(&self) -> Option<Arc<dyn Backend>>;

    /// The state as it was read, without a hold.
    fn state(&self) -> Option<&State>;

    /// The desired state, in the form in which the state keeps it; `None` without a spec.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    fn spec(&self) -> Result<Option<serde_json::Value>, Error> {
        Ok(None)
    }

    /// The spec that the state keeps when a plan is carried out: the spec of the plan, with absolute paths of
    /// files.
    ///
    /// # Errors
    /// When it cannot be read from the plan, or cannot be written as JSON.
    fn kept_spec(&self, plan: &Plan) -> Result<serde_json::Value, Error> {
        Ok(plan.spec.clone())
    }

    /// Its own secrets in the state store; `None` for a subject without such secrets.
    ///
    /// # Errors
    /// When its name cannot be used in a state store.
    fn secret_store(&self, _uid: &ClusterUid) -> Result<Option<SecretStore>, Error> {
        Ok(None)
    }

    /// A last look at the state that was taken, before anything is planned or carried out on it.
    fn taken(&self, _state: &mut State) {}

    /// Makes a plan against a given state. Writes nothing.
    ///
    /// # Errors
    /// When no plan can be made.
    async fn plan_from(&self, request: &Request, prior: Option<&Snapshot>) -> Result<Planned, Error>;

    /// The providers that tell what became of the steps of an interrupted run.
    ///
    /// # Errors
    /// When one cannot be opened.
    async fn recovering(&self) -> Result<Providers, Error>;

    /// Does what has to be done before the first step of a plan, under the hold. Returns an event that says what was done.
    ///
    /// # Errors
    /// When it cannot be done: the plan is not carried out.
    async fn before_run(&self, _plan: &Plan, _state: &State) -> Result<Option<Event>, Error> {
        Ok(None)
    }

    /// The providers that carry a plan out, under the hold that the journal belongs to.
    ///
    /// # Errors
    /// When one cannot be opened.
    async fn acting(&self, plan: &Plan, journal: &Journal, state: &State) -> Result<Providers, Error>;
}
