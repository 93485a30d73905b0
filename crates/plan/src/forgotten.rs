//! Objects that were forgotten on request, and carry the cluster's ownership still.

use std::collections::BTreeMap;

use slipway_resource::Address;
use slipway_resource::provider::ExpandNote;

use crate::observations::Observations;
use crate::state::{Record, Snapshot};

/// Takes what was forgotten out of what was found, so that nothing is decided about it; returns a remark on each.
///
/// One whose address is wanted stays: it is taken over again rather than made a second time.
pub(crate) fn leave_alone(
    prior: Option<&Snapshot>,
    records: &BTreeMap<Address, Record>,
    is_wanted: impl Fn(&Address) -> bool,
    observations: &mut Observations,
) -> Vec<ExpandNote> {
    let mut notes = Vec::new();
    for (address, identities) in prior.into_iter().flat_map(|prior| &prior.forgotten) {
        if is_wanted(address) || records.contains_key(address) {
            continue;
        }
        for identity in identities {
            if observations.take(address, identity).is_some() {
                let message = format!("{identity} was forgotten by `slipway state rm` and is left alone");
                notes.push(ExpandNote { field: address.to_string(), message });
            }
        }
    }
    notes
}
