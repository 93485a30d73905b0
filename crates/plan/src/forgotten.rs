//! Objects that were forgotten on request, and carry the cluster's ownership still.
//!
//! An object is known by its type and identity. Its ownership can name another address than the one at which it was
//! forgotten, because a record can get another address before its object is tagged again.

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::provider::ExpandNote;
use slipway_resource::{Address, Identity};

use crate::observations::Observations;
use crate::state::{Record, Snapshot};

/// Removes forgotten objects from the observations, so that no decision is made about them. Returns a remark
/// on each.
///
/// A forgotten object whose address is desired stays: it is adopted again instead of being created a second
/// time, unless the spec names another object to be used there, or the state has another one there. That is true of the
/// address at which it was forgotten and of the address in its ownership. In the first case `moved` gets the address of
/// its ownership by the new one.
pub(crate) fn leave_alone(
    prior: Option<&Snapshot>,
    records: &BTreeMap<Address, Record>,
    is_wanted: impl Fn(&Address, &Identity) -> bool,
    observations: &mut Observations,
    moved: &mut BTreeMap<Address, Address>,
) -> Vec<ExpandNote> {
    let mut notes = Vec::new();
    let forgotten = || prior.into_iter().flat_map(|prior| &prior.forgotten);
    let objects: BTreeSet<(&str, &Identity)> = forgotten()
        .flat_map(|(address, identities)| identities.iter().map(move |identity| (address.kind(), identity)))
        .collect();
    if objects.is_empty() {
        return notes;
    }
    let recorded = recorded(records);
    let adopts = |address: &Address, identity: &Identity| {
        is_wanted(address, identity) && records.get(address).is_none_or(|record| record.existing)
    };
    let owners = observations.owners(&objects);
    for (address, identities) in forgotten() {
        for identity in identities {
            if recorded.contains(&(address.kind(), identity)) {
                continue;
            }
            let owner = owners.get(&(address.kind().to_owned(), identity.clone()));
            let elsewhere = owner.filter(|owner| *owner != address);
            if let Some(owner) = elsewhere.filter(|owner| !adopts(owner, identity)) {
                if adopts(address, identity) && observations.objects(address).is_empty() {
                    observations.hand_over(owner, identity, address);
                    moved.insert(address.clone(), owner.clone());
                } else if observations.take(owner, identity).is_some() {
                    notes.push(left_alone(owner, identity));
                }
            }
            if !adopts(address, identity) && observations.take(address, identity).is_some() {
                notes.push(left_alone(address, identity));
            }
        }
    }
    notes
}

fn left_alone(address: &Address, identity: &Identity) -> ExpandNote {
    let message = format!("{identity} was forgotten by `slipway state rm` or `removed`, and is left alone");
    ExpandNote { field: address.to_string(), message }
}

/// The objects of the records, by type and identity, with older objects of their addresses. An object that is only used is not
/// the cluster's.
fn recorded(records: &BTreeMap<Address, Record>) -> BTreeSet<(&str, &Identity)> {
    let own = records.iter().filter(|(_, record)| !record.existing);
    own.flat_map(|(address, record)| {
        let identities = std::iter::once(&record.identity).chain(&record.deposed);
        identities.map(move |identity| (address.kind(), identity))
    })
    .collect()
}

#[cfg(test)]
mod tests;
