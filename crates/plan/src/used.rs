//! Objects that the spec uses and that the cluster does not own: a network, a zone or an address that exists already.

use std::borrow::Cow;
use std::collections::BTreeMap;

use slipway_resource::provider::ExpandNote;
use slipway_resource::{Address, Desired};

use crate::error::Error;
use crate::observations::Observations;
use crate::state::Record;

/// Refuses a spec that names one of the cluster's own objects as an existing one: it would be given up, together with
/// what hangs on it.
///
/// # Errors
/// [`Error::OwnAsExisting`] for the first such object.
pub(crate) fn refuse_own(
    desired: &[Desired],
    records: &BTreeMap<Address, Record>,
    observations: &Observations,
) -> Result<(), Error> {
    for Desired { address, lifecycle, .. } in desired {
        let Some(named) = &lifecycle.existing else { continue };
        let mut alike = records.iter().filter(|(own, _)| own.kind() == address.kind());
        let recorded = alike.find(|(_, record)| !record.existing && record.identity == *named);
        let own = recorded.map(|(own, _)| own).or_else(|| observations.owner_of(address.kind(), named));
        if let Some(own) = own {
            return Err(Error::OwnAsExisting {
                address: address.clone(),
                identity: named.to_string(),
                own: own.clone(),
            });
        }
    }
    Ok(())
}

/// Adapts records and observations to the existing objects that the spec names today; returns a note for each object that is
/// not used any more.
///
/// An object that was only used is never taken over, changed or deleted, whatever the spec names instead. An object of the
/// cluster whose place an existing object takes is deleted.
pub(crate) fn settle(
    desired: &[Desired],
    records: &mut Cow<'_, BTreeMap<Address, Record>>,
    observations: &mut Observations,
) -> Vec<ExpandNote> {
    let mut notes = Vec::new();
    for Desired { address, lifecycle, .. } in desired {
        let Some(record) = records.get(address) else { continue };
        let is_settled = match &lifecycle.existing {
            Some(named) => *named == record.identity,
            None => !record.existing,
        };
        if is_settled {
            continue;
        }
        let old = record.identity.clone();
        // An object with the cluster's ownership is the cluster's, whatever the state says.
        let was_used = record.existing && !observations.is_owned(address, &old);
        if was_used {
            let message =
                format!("{old} is not used any more; it was not made by Slipway and is left as it is");
            notes.push(ExpandNote { field: address.to_string(), message });
            observations.take(address, &old);
        }
        let records = records.to_mut();
        match (&lifecycle.existing, records.get_mut(address)) {
            (Some(named), Some(record)) => {
                record.identity = named.clone();
                // The plan records it anew.
                record.existing = false;
                record.deposed.extend((!was_used).then_some(old));
            }
            (None, Some(record)) if !was_used => record.existing = false,
            _ => drop(records.remove(address)),
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use slipway_resource::provider::Discovery;
    use slipway_resource::{Identity, Observation, Observed, Value};

    use super::*;
    use crate::examples;

    fn address() -> Address {
        Address::new("network", "main")
    }

    fn record(identity: &str, existing: bool) -> Record {
        Record { applied: Some(Value::Null), existing, ..examples::record(identity) }
    }

    fn observed(identity: &str) -> Observed {
        Observed {
            address: address(),
            identity: Identity::new(identity),
            token: None,
            owner: None,
            observation: Observation::Present(Value::Null),
        }
    }

    fn found(identities: &[&str]) -> Observations {
        let mut observations = Observations::default();
        for identity in identities {
            observations.add_read(observed(identity));
        }
        observations
    }

    /// What is left of a record and of two objects, when the spec names this existing object.
    fn settled(record: Record, named: Option<&str>) -> (Option<Record>, Observations, usize) {
        let mut desired = Desired::new(address(), Value::Null);
        desired.lifecycle.existing = named.map(Identity::new);
        let known = BTreeMap::from([(address(), record)]);
        let mut records = Cow::Borrowed(&known);
        let mut observations = found(&["net-1", "net-2"]);
        let notes = settle(&[desired], &mut records, &mut observations);
        (records.get(&address()).cloned(), observations, notes.len())
    }

    #[test]
    fn an_object_that_was_only_used_is_forgotten_and_not_taken_over() {
        for named in [None, Some("net-2")] {
            let (record, observations, notes) = settled(record("net-1", true), named);
            assert_eq!(record.as_ref().map(|record| record.identity.as_str()), named);
            assert!(record.is_none_or(|record| record.deposed.is_empty()));
            assert_eq!(notes, 1);
            let left: Vec<&str> =
                observations.objects(&address()).iter().map(|found| found.identity.as_str()).collect();
            assert_eq!(left, ["net-2"]);
        }
    }

    #[test]
    fn an_own_object_makes_way_for_the_one_that_is_named() {
        let (after, observations, notes) = settled(record("net-1", false), Some("net-2"));
        let after = after.unwrap();
        assert_eq!((after.identity.as_str(), notes), ("net-2", 0));
        assert_eq!(after.deposed, [Identity::new("net-1")]);
        assert_eq!(observations.objects(&address()).len(), 2);
    }

    #[test]
    fn an_own_object_is_not_named_as_an_existing_one() {
        let mut desired = Desired::new(Address::new("network", "other"), Value::Null);
        desired.lifecycle.existing = Some(Identity::new("net-1"));
        let refused = |existing, observations: &Observations| {
            let records = BTreeMap::from([(address(), record("net-1", existing))]);
            refuse_own(std::slice::from_ref(&desired), &records, observations).is_err()
        };
        assert!(refused(false, &Observations::default()));
        assert!(!refused(true, &found(&["net-1"])));
        let mut owned = Observations::default();
        owned.add_discovery(Discovery { observed: vec![observed("net-1")], ..Discovery::default() });
        assert!(refused(true, &owned));
    }

    #[test]
    fn nothing_changes_while_the_same_object_is_used() {
        for existing in [true, false] {
            let before = record("net-1", existing);
            assert_eq!(settled(before.clone(), Some("net-1")).0, Some(before));
        }
    }
}
