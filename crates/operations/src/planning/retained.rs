//! Resources that a deletion keeps by the spec, whatever the state says.

use std::collections::{BTreeMap, BTreeSet};

use slipway_engine::{Observed, State};
use slipway_plan::Snapshot;
use slipway_resource::Address;
use slipway_resource::provider::Catalog;

use crate::error::Error;
use crate::opened::Opened;

impl Opened {
    /// The resources that the spec keeps on deletion; `None` where the spec can say nothing that the state does not say.
    ///
    /// The recorded spec of a complete run says the same as the state. It is asked where a run did not complete, and where an
    /// object was found that the state does not have: an earlier deletion has forgotten it, and was killed before its commit or
    /// is repeated. A spec that the caller names may be newer than the state, and is always asked.
    ///
    /// # Errors
    /// When the spec cannot be expanded.
    pub(super) async fn retained(
        &self,
        observed: &Observed,
        prior: Option<&Snapshot>,
        pinned: BTreeMap<String, Catalog>,
    ) -> Result<Option<BTreeSet<Address>>, Error> {
        let is_recorded =
            |address: &Address| prior.is_some_and(|prior| prior.resources.contains_key(address));
        let is_complete = !self.state.as_ref().is_some_and(State::is_interrupted);
        if self.spec.recorded && is_complete && observed.observations.addresses().all(is_recorded) {
            return Ok(None);
        }
        let desired = self.expand(pinned).await?.desired;
        let kept = desired.into_iter().filter(|one| one.lifecycle.retain).map(|one| one.address);
        Ok(Some(kept.collect()))
    }
}
