//! Existing objects that the spec gives to resources by their ids.

use std::collections::BTreeMap;

use slipway_resource::schema::OwnershipKind;
use slipway_resource::{Address, Identity, ResourceType};

use crate::error::Error;
use crate::observations::Found;
use crate::planner::Inputs;
use crate::reason::{Reason, ReasonCode};
use crate::state::Record;

/// Refuses an import that would have no effect, or another one than to record the object.
///
/// # Errors
/// [`Error::Import`] for the first such entry.
pub(crate) fn check(inputs: &Inputs<'_>, records: &BTreeMap<Address, Record>) -> Result<(), Error> {
    for (address, identity) in &inputs.options.imports {
        if let Some(why) = obstacle(inputs, records, address, identity) {
            return Err(Error::Import { address: address.clone(), identity: identity.clone(), why });
        }
    }
    Ok(())
}

/// Why an object cannot be that of an address, as the end of a sentence.
fn obstacle(
    inputs: &Inputs<'_>,
    records: &BTreeMap<Address, Record>,
    address: &Address,
    identity: &Identity,
) -> Option<String> {
    let position = inputs.desired.binary_search_by(|desired| desired.address.cmp(address));
    let Some(desired) = position.ok().and_then(|position| inputs.desired.get(position)) else {
        return Some("the spec does not have this address".to_owned());
    };
    if let Some(existing) = &desired.lifecycle.existing {
        return Some(format!("the spec uses {existing} there, which stays an object of others"));
    }
    if let Some(record) = records.get(address) {
        return (record.identity != *identity).then(|| format!("the state has {} there", record.identity));
    }
    let is_it = |(other, record): &(&Address, &Record)| {
        other.kind() == address.kind() && record.identity == *identity && !record.existing
    };
    if let Some((other, _)) = records.iter().find(is_it) {
        return Some(format!("it is {other} in the state"));
    }
    if let Some(owner) = inputs.observations.owner_of(address.kind(), identity)
        && owner != address
    {
        return Some(format!("it has the ownership tags of {owner}"));
    }
    if inputs.observations.why_unreadable(address).is_some() {
        // The resource is deferred, with the reason.
        return None;
    }
    let objects = inputs.observations.objects(address);
    if let Some(other) = objects.iter().find(|found| found.identity != *identity) {
        return Some(format!("{} has the ownership tags of this address", other.identity));
    }
    objects.is_empty().then(|| "there is no such object".to_owned())
}

/// Whether an object comes to the cluster by an entry of `import`.
pub(crate) fn is_imported(
    imports: &BTreeMap<Address, Identity>,
    address: &Address,
    (record, object): (Option<&Record>, Option<&Found>),
) -> bool {
    let given = imports.get(address);
    record.is_none() && given.is_some() && object.map(|object| &object.identity) == given
}

/// Whether an imported object gets the ownership tags of the cluster.
pub(crate) fn is_tagged(kind: &ResourceType, object: Option<&Found>) -> bool {
    kind.ownership == OwnershipKind::Tags && object.is_some_and(|object| !object.owned)
}

/// The reason of the change by which an object comes to the cluster.
pub(crate) fn reason() -> Reason {
    Reason::new(ReasonCode::Unrecorded, "`import` of the spec gives this object to the cluster")
}
