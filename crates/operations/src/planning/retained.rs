//! Resources that a deletion keeps although the state does not have them.

use std::collections::{BTreeMap, BTreeSet};

use slipway_engine::Observed;
use slipway_plan::Snapshot;
use slipway_resource::Address;
use slipway_resource::provider::Catalog;

use crate::error::Error;
use crate::opened::Opened;

impl Opened {
    /// The resources that the spec keeps on deletion, where an object was found that the state does not have.
    /// An earlier deletion has forgotten it, and was killed before its commit or is repeated.
    ///
    /// # Errors
    /// When the spec cannot be expanded.
    pub(super) async fn retained(
        &self,
        observed: &Observed,
        prior: Option<&Snapshot>,
        pinned: BTreeMap<String, Catalog>,
    ) -> Result<BTreeSet<Address>, Error> {
        let is_recorded =
            |address: &Address| prior.is_some_and(|prior| prior.resources.contains_key(address));
        if observed.observations.addresses().all(is_recorded) {
            return Ok(BTreeSet::new());
        }
        let desired = self.expand(pinned).await?.desired;
        Ok(desired.into_iter().filter(|one| one.lifecycle.retain).map(|one| one.address).collect())
    }
}
