//! Objects that were forgotten on request, and carry the cluster's ownership still.

use std::collections::BTreeMap;

use slipway_resource::provider::ExpandNote;
use slipway_resource::{Address, Identity};

use crate::observations::Observations;
use crate::state::{Record, Snapshot};

/// Removes forgotten objects from the observations, so that no decision is made about them. Returns a remark
/// on each.
///
/// A forgotten object whose address is desired stays: it is adopted again instead of being created a second
/// time, unless the spec names another object to be used there.
pub(crate) fn leave_alone(
    prior: Option<&Snapshot>,
    records: &BTreeMap<Address, Record>,
    is_wanted: impl Fn(&Address, &Identity) -> bool,
    observations: &mut Observations,
) -> Vec<ExpandNote> {
    let mut notes = Vec::new();
    for (address, identities) in prior.into_iter().flat_map(|prior| &prior.forgotten) {
        if records.get(address).is_some_and(|record| !record.existing) {
            continue;
        }
        for identity in identities.iter().filter(|identity| !is_wanted(address, identity)) {
            if observations.take(address, identity).is_some() {
                let message = format!("{identity} was forgotten by `slipway state rm` and is left alone");
                notes.push(ExpandNote { field: address.to_string(), message });
            }
        }
    }
    notes
}
