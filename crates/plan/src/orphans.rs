//! Orphans: resources that exist or are recorded, and are no longer desired.

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::{Address, Attribute, Mode, ResourceType, Value};

use crate::change::{ChangeAction, ResourceChange};
use crate::decide::sensitive_paths;
use crate::file::Mode as PlanMode;
use crate::observations::{Observations, Standing};
use crate::precondition::Precondition;
use crate::reason::{Reason, ReasonCode};
use crate::state::Record;

/// A resource that is no longer desired.
pub(crate) struct Orphan<'a> {
    pub address: &'a Address,
    pub record: Option<&'a Record>,
    pub provider: &'a str,
    pub kind: &'a ResourceType,
    pub mode: PlanMode,
    /// Whether the spec of the cluster keeps it; none where the spec was not asked.
    pub retained: Option<bool>,
    /// Whether kept resources are deleted too.
    pub delete_retained: bool,
}

/// The change of an orphan; `None` when it needs neither a change nor a record.
pub(crate) fn decide(orphan: &Orphan<'_>, observations: &Observations) -> Option<ResourceChange> {
    let mut change = blank(orphan);
    match observations.standing(orphan.address, orphan.record) {
        Standing::Unreadable(error) => {
            change.action = ChangeAction::Deferred;
            let text = format!("it could not be read: {error}");
            change.reasons.push(Reason::new(ReasonCode::Unreadable, text));
        }
        Standing::Absent => {
            orphan.record?;
            change.action = ChangeAction::Forget;
            change.reasons.push(Reason::new(ReasonCode::Vanished, "it is gone from the cloud already"));
        }
        Standing::Present { object, .. } => {
            change.identity = Some(object.identity.clone());
            change.before = object.attributes.clone();
            let applied = orphan.record.and_then(|record| record.applied.as_ref());
            change.precondition =
                Precondition::unchanged(orphan.kind, &object.attributes, &Vec::from_iter(applied));
            why(orphan, &mut change);
        }
    }
    Some(change)
}

fn why(orphan: &Orphan<'_>, change: &mut ResourceChange) {
    let existing = orphan.record.is_some_and(|record| record.existing);
    let kept = match existing {
        true => Some("it was there before Slipway and is only used"),
        false => kept(orphan).filter(|_| !orphan.delete_retained),
    };
    if let Some(text) = kept {
        change.action = ChangeAction::Forget;
        change.reasons.push(Reason::new(ReasonCode::Retained, text));
        return;
    }
    change.action = ChangeAction::Delete;
    let reason = match (orphan.mode, orphan.record) {
        (PlanMode::Delete, _) => Reason::new(ReasonCode::ClusterDeleted, "the cluster is deleted"),
        (_, Some(_)) => Reason::new(ReasonCode::NotWanted, "the spec does not have it any more"),
        (_, None) => Reason::new(
            ReasonCode::NotWanted,
            "it carries this cluster's ownership, and neither the spec nor the state has it",
        ),
    };
    change.reasons.push(reason);
    if orphan.kind.stateful {
        change.confirmation = Some("deleting it loses its data".to_owned());
    } else if orphan.record.is_some_and(|record| record.protected) {
        change.confirmation = Some("it is protected".to_owned());
    }
}

/// Why the object stays in the cloud: the state, the spec or both keep it. `None` where neither does.
fn kept(orphan: &Orphan<'_>) -> Option<&'static str> {
    match (orphan.record.map(|record| record.retain), orphan.retained) {
        (Some(true), Some(false)) => Some("the state says to keep it, although the spec does not"),
        (Some(false), Some(true)) => Some("the spec says to keep it, although the state does not"),
        (Some(true), _) | (None, Some(true)) => Some("the spec says to keep it"),
        (Some(false) | None, _) => None,
    }
}

fn blank(orphan: &Orphan<'_>) -> ResourceChange {
    ResourceChange {
        identity: orphan.record.map(|record| record.identity.clone()),
        sensitive: sensitive_paths(&orphan.kind.attributes),
        ..ResourceChange::bare(orphan.address, orphan.provider, orphan.kind.version)
    }
}

/// The dependencies of each object: the recorded ones, and the identities in its attributes. With a record,
/// only the attributes that hold other objects are used: after a record was moved, or a neighbour was
/// forgotten and adopted again, the record does not name all held objects. Used for the order of deletion
/// only.
pub(crate) fn standing_on<'a>(
    addresses: impl Iterator<Item = &'a Address>,
    records: &BTreeMap<Address, Record>,
    observations: &Observations,
    type_of: &dyn Fn(&str) -> Option<&'a ResourceType>,
) -> BTreeMap<Address, BTreeSet<Address>> {
    let mut by_identity: BTreeMap<&str, &Address> = BTreeMap::new();
    for address in observations.addresses() {
        for found in observations.objects(address) {
            by_identity.insert(found.identity.as_str(), address);
        }
    }
    let mut result = BTreeMap::new();
    for address in addresses {
        let mut needs = BTreeSet::new();
        let applied = records.get(address).filter(|record| record.applied.is_some());
        needs.extend(applied.into_iter().flat_map(|record| record.depends_on.iter().cloned()));
        let tells = |attribute: &Attribute| match applied {
            Some(_) => attribute.holds,
            None => attribute.mode != Mode::Computed,
        };
        // The record has the former addresses of resources that were renamed since it was written.
        let recorded = applied.into_iter().flat_map(|record| &record.depends_on);
        let renamed: BTreeSet<&str> =
            recorded.filter(|needed| !records.contains_key(*needed)).map(Address::kind).collect();
        if let Some(kind) = type_of(address.kind()) {
            for found in observations.objects(address) {
                for (name, attribute) in &kind.attributes {
                    let Some(value) = found.attributes.get(name) else { continue };
                    if tells(attribute) {
                        mentions(value, &by_identity, &mut needs);
                    } else if !renamed.is_empty() && attribute.mode != Mode::Computed {
                        let mut named = BTreeSet::new();
                        mentions(value, &by_identity, &mut named);
                        needs.extend(named.into_iter().filter(|other| renamed.contains(other.kind())));
                    }
                }
            }
        }
        needs.remove(address);
        result.insert(address.clone(), needs);
    }
    result
}

fn mentions(value: &Value, by_identity: &BTreeMap<&str, &Address>, found: &mut BTreeSet<Address>) {
    match value {
        Value::String(text) => {
            if let Some(address) = by_identity.get(text.as_str()) {
                found.insert((*address).clone());
            }
        }
        Value::List(items) => items.iter().for_each(|item| mentions(item, by_identity, found)),
        Value::Map(entries) => entries.values().for_each(|value| mentions(value, by_identity, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use slipway_resource::schema::{OwnershipKind, attributes};
    use slipway_resource::{Identity, Observation, Observed, Type};

    use super::*;
    use crate::examples;

    #[test]
    fn what_an_object_holds_counts_though_its_record_does_not_know_it() {
        let holding = Attribute { holds: true, ..Attribute::optional(Type::list(Type::String)) };
        let own = [("volume_ids", holding), ("note", Attribute::optional(Type::String))];
        let kind =
            ResourceType { attributes: attributes(own), ..ResourceType::new("", OwnershipKind::Tags, "") };
        let (pool, volume, other) =
            (Address::new("pool", "a"), Address::new("volume", "a"), Address::new("volume", "b"));
        let mut observations = Observations::default();
        let held = Value::map([("volume_ids", Value::list(["disk-1"])), ("note", "disk-2".into())]);
        for (address, identity, attributes) in
            [(&pool, "pool-1", held), (&volume, "disk-1", Value::Null), (&other, "disk-2", Value::Null)]
        {
            observations.add_read(Observed {
                address: address.clone(),
                identity: Identity::new(identity),
                token: None,
                owner: None,
                observation: Observation::Present(attributes),
            });
        }
        let record = Record { identity: Identity::new("pool-1"), ..record(false) };
        let records = BTreeMap::from([(pool.clone(), record)]);
        let standing = standing_on([&pool].into_iter(), &records, &observations, &|_| Some(&kind));
        assert_eq!(standing[&pool], BTreeSet::from([volume]), "and not what another attribute names");
    }

    #[test]
    fn what_was_renamed_since_a_record_was_written_is_found_by_its_identity() {
        let own = ["subnet_id", "note"].map(|name| (name, Attribute::optional(Type::String)));
        let kind =
            ResourceType { attributes: attributes(own), ..ResourceType::new("", OwnershipKind::Tags, "") };
        let [gateway, subnet, zone] =
            [("gateway", "a"), ("subnet", "b"), ("zone", "a")].map(|(kind, name)| Address::new(kind, name));
        let mut observations = Observations::default();
        let uses = Value::map([("subnet_id", "net-1"), ("note", "zone-1")]);
        for (address, identity, attributes) in
            [(&gateway, "gw-1", uses), (&subnet, "net-1", Value::Null), (&zone, "zone-1", Value::Null)]
        {
            observations.add_read(Observed {
                address: address.clone(),
                identity: Identity::new(identity),
                token: None,
                owner: None,
                observation: Observation::Present(attributes),
            });
        }
        let needs = |before: Address| {
            let record = Record { depends_on: vec![before.clone()], ..record(false) };
            let recorded = [gateway.clone(), subnet.clone()].map(|address| (address, record.clone()));
            let standing =
                standing_on([&gateway].into_iter(), &BTreeMap::from(recorded), &observations, &|_| {
                    Some(&kind)
                });
            let mut found = standing[&gateway].clone();
            found.remove(&before);
            found
        };
        assert_eq!(needs(Address::new("subnet", "a")), BTreeSet::from([subnet.clone()]), "it was renamed");
        assert_eq!(needs(subnet.clone()), BTreeSet::new(), "the record names it already");
    }

    fn record(retain: bool) -> Record {
        Record { applied: Some(Value::Null), retain, ..examples::record("store-1") }
    }

    #[test]
    fn an_object_is_kept_if_either_the_state_or_the_spec_keeps_it() {
        let kind = ResourceType::new("", OwnershipKind::Tags, "");
        let address = Address::new("store", "a");
        let mut observations = Observations::default();
        observations.add_read(Observed {
            address: address.clone(),
            identity: Identity::new("store-1"),
            token: None,
            owner: None,
            observation: Observation::Present(Value::Null),
        });
        let decided = |state: Option<bool>, retained: Option<bool>, delete_retained: bool| {
            let record = state.map(record);
            let orphan = Orphan {
                address: &address,
                record: record.as_ref(),
                provider: "any",
                kind: &kind,
                mode: PlanMode::Delete,
                retained,
                delete_retained,
            };
            let change = decide(&orphan, &observations).unwrap();
            (change.action, change.reasons[0].message.clone())
        };
        for (state, spec) in [(Some(true), None), (Some(true), Some(true)), (None, Some(true))] {
            assert_eq!(
                decided(state, spec, false),
                (ChangeAction::Forget, "the spec says to keep it".to_owned()),
                "{state:?} {spec:?}"
            );
        }
        for (state, spec, named) in [
            (Some(true), Some(false), "the state says to keep it"),
            (Some(false), Some(true), "the spec says"),
        ] {
            let (action, text) = decided(state, spec, false);
            assert!(action == ChangeAction::Forget && text.starts_with(named), "{state:?} {spec:?}: {text}");
            assert_eq!(decided(state, spec, true).0, ChangeAction::Delete, "backups are to be deleted too");
        }
        for (state, spec) in
            [(Some(false), None), (Some(false), Some(false)), (None, None), (None, Some(false))]
        {
            assert_eq!(decided(state, spec, false).0, ChangeAction::Delete, "{state:?} {spec:?}");
        }
    }
}
