//! Renames: an object that keeps existing under another address.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::{Address, Desired, Value};

use crate::error::Error;
use crate::observations::Observations;
use crate::planner::Inputs;
use crate::providers::Providers;
use crate::state::{Record, by_identity};

/// Moves records and objects from old addresses to new ones. Returns the old address by the new one.
///
/// A rename is declared by the spec, was made in the state, or follows from exclusive attributes: a new
/// resource that has those of a deleted one can only be the same object.
pub(crate) fn apply(
    desired: &[Desired],
    records: &mut Cow<'_, BTreeMap<Address, Record>>,
    observations: &mut Observations,
    providers: &Providers,
) -> BTreeMap<Address, Address> {
    let wanted: BTreeSet<&Address> = desired.iter().map(|desired| &desired.address).collect();
    let exists = |address: &Address, records: &BTreeMap<Address, Record>, observations: &Observations| {
        records.contains_key(address) || !observations.objects(address).is_empty()
    };
    let mut moved = follow_records(records, observations);
    for resource in desired {
        let to = &resource.address;
        if exists(to, records, observations) {
            continue;
        }
        let declared = resource
            .lifecycle
            .moved_from
            .iter()
            .find(|from| !wanted.contains(from) && exists(from, records, observations))
            .cloned();
        // The state has the object at an address that the spec does not have; the ownership has this one still.
        let given_back = || {
            let mut given = moved.iter().filter(|(now, tagged)| *tagged == to && !wanted.contains(now));
            given.next().map(|(now, _)| now.clone())
        };
        let from = declared
            .or_else(given_back)
            .or_else(|| same_exclusive(resource, &wanted, records, observations, providers));
        let Some(from) = from else { continue };
        moved.remove(&from);
        let records = records.to_mut();
        if let Some(record) = records.remove(&from) {
            records.insert(to.clone(), record);
        }
        observations.rename(&from, to);
        for record in records.values_mut() {
            for needed in record.depends_on.iter_mut().filter(|needed| **needed == from) {
                *needed = to.clone();
            }
        }
        moved.insert(to.clone(), from);
    }
    moved
}

/// Refuses a rename that the spec declares while both addresses have an object, or are in the spec. Such a
/// rename would be ignored, and the object of the old address deleted.
///
/// # Errors
/// [`Error::BothExist`].
pub(crate) fn check(inputs: &Inputs<'_>) -> Result<(), Error> {
    let declared = inputs.spec.get("moved").and_then(serde_json::Value::as_array).into_iter().flatten();
    for (index, moved) in declared.enumerate() {
        let address = |end: &str| moved.get(end)?.as_str()?.parse::<Address>().ok();
        let (Some(from), Some(to)) = (address("from"), address("to")) else { continue };
        let is_desired = |address: &Address| {
            inputs.desired.binary_search_by(|desired| desired.address.cmp(address)).is_ok()
        };
        let object = |address: &Address| Some(inputs.observations.objects(address).first()?.identity.clone());
        let (from_has, to_has) = (object(&from), object(&to));
        if from_has.is_some() && from_has == to_has {
            // An existing object, which the spec names at its new address.
            continue;
        }
        if !is_desired(&to) || !is_desired(&from) && (from_has.is_none() || to_has.is_none()) {
            continue;
        }
        let place = (inputs.locate)(&format!("moved[{index}]")).map(|place| place.shown);
        return Err(Error::BothExist { from, from_has, to, to_has, place });
    }
    Ok(())
}

/// Moves objects to the addresses of their records. After a record was moved to another address, its object
/// still has the old address in its ownership. An object that the cluster only uses may have several
/// addresses. Returns the old address by the new one.
pub(crate) fn follow_records(
    records: &BTreeMap<Address, Record>,
    observations: &mut Observations,
) -> BTreeMap<Address, Address> {
    let by_identity = by_identity(records.iter().filter(|(_, record)| !record.existing));
    let mut moves = Vec::new();
    for from in observations.addresses() {
        for found in observations.objects(from) {
            match by_identity.get(&(from.kind(), &found.identity)) {
                Some(to) if *to != from => moves.push((from.clone(), found.identity.clone(), (*to).clone())),
                _ => {}
            }
        }
    }
    let mut moved = BTreeMap::new();
    for (from, identity, to) in moves {
        observations.hand_over(&from, &identity, &to);
        moved.insert(to, from);
    }
    moved
}

/// A resource of the same type that is deleted and has the same exclusive attributes.
fn same_exclusive(
    resource: &Desired,
    wanted: &BTreeSet<&Address>,
    records: &BTreeMap<Address, Record>,
    observations: &Observations,
    providers: &Providers,
) -> Option<Address> {
    let (_, _, kind) = providers.of_type(resource.address.kind())?;
    if kind.exclusive.is_empty() || resource.lifecycle.existing.is_some() {
        return None;
    }
    let asked: Vec<&Value> =
        kind.exclusive.iter().map(|name| resource.attributes.get(name)).collect::<Option<_>>()?;
    if !asked.iter().all(|value| value.is_known() && !value.is_null()) {
        return None;
    }
    records
        .iter()
        .filter(|(address, record)| {
            address.kind() == resource.address.kind()
                && !wanted.contains(address)
                && !record.existing
                && !record.retain
        })
        .find(|(address, record)| {
            observations.objects(address).iter().any(|found| found.identity == record.identity)
                && record.applied.as_ref().is_some_and(|applied| {
                    kind.exclusive.iter().zip(&asked).all(|(name, asked)| applied.get(name) == Some(*asked))
                })
        })
        .map(|(address, _)| address.clone())
}
