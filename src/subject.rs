//! What is planned for and carried out: a cluster of specs, or the inside of one node.

use std::sync::Arc;

use async_trait::async_trait;
use slipway_engine::{SecretSource, State};
use slipway_plan::{Providers, Snapshot};
use slipway_resource::ClusterUid;
use slipway_secrets::SecretStore;
use slipway_state_store::{Backend, Journal};

use crate::error::CommandError;
use crate::planning::{Planned, Prepared, Request, to_json};
use crate::secrets;

/// Something that has a state, providers and a way to plan for it.
///
/// Whoever carries plans out knows nothing else of what they are for.
#[async_trait(?Send)]
pub(crate) trait Subject {
    /// The name under which the state knows it.
    fn cluster(&self) -> &str;

    /// Who does what is planned.
    fn providers(&self) -> &Providers;

    /// Where its state is; none for a plan without one.
    fn backend(&self) -> Option<Arc<dyn Backend>>;

    /// Where the texts of secrets come from.
    fn texts(&self) -> &dyn SecretSource;

    /// Its own secrets in the state store; none for what keeps none there.
    fn secret_store(&self, uid: &ClusterUid) -> Result<Option<SecretStore>, CommandError>;

    /// What is wanted, in the form in which the state keeps it; none where that is not told by a spec.
    fn spec(&self) -> Result<Option<serde_json::Value>, CommandError> {
        Ok(None)
    }

    /// The state as it was read, without a hold.
    fn state(&self) -> Option<&State>;

    /// A last look at the state that was taken, before anything is carried out on it.
    fn taken(&self, _state: &mut State) {}

    /// From now on steps are carried out, under the hold that the journal belongs to.
    fn begins(&self, _journal: &Journal, _state: &State) {}

    /// Makes a plan against a given state. Writes nothing.
    async fn plan_from(&self, request: &Request, prior: Option<&Snapshot>) -> Result<Planned, CommandError>;
}

#[async_trait(?Send)]
impl Subject for Prepared {
    fn cluster(&self) -> &str {
        &self.wanted.cluster.name
    }

    fn providers(&self) -> &Providers {
        &self.providers
    }

    fn backend(&self) -> Option<Arc<dyn Backend>> {
        self.backend.clone()
    }

    fn texts(&self) -> &dyn SecretSource {
        &self.texts
    }

    fn secret_store(&self, uid: &ClusterUid) -> Result<Option<SecretStore>, CommandError> {
        let Some(backend) = &self.backend else { return Ok(None) };
        secrets::store(&self.keyring, backend.clone(), self.cluster(), uid).map(Some)
    }

    fn spec(&self) -> Result<Option<serde_json::Value>, CommandError> {
        to_json(&self.wanted.cluster).map(Some)
    }

    fn state(&self) -> Option<&State> {
        self.state.as_ref()
    }

    fn begins(&self, journal: &Journal, state: &State) {
        self.vault.hold(journal.clone());
        let records = state.snapshot.resources.iter();
        self.vault.know(records.map(|(address, record)| (address.clone(), record.identity.clone())));
        self.access.begins(&state.snapshot.uid);
    }

    async fn plan_from(&self, request: &Request, prior: Option<&Snapshot>) -> Result<Planned, CommandError> {
        Prepared::plan_from(self, request, prior).await
    }
}
