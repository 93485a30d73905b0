//! The differences between two states of a cluster, as the changes of a plan.

use slipway_resource::diff;
use slipway_resource::{Address, ResourceType};

use crate::change::{ChangeAction, ResourceChange};
use crate::decide::sensitive_paths;
use crate::fields::{self, SpecChange};
use crate::file::{Binding, Mode, Plan};
use crate::reason::{Reason, ReasonCode};
use crate::state::{Record, Snapshot};

/// The differences between two states.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The resources that differ, as a plan without steps that would lead from the first to the second.
    pub plan: Plan,
    /// The fields of the spec that differ.
    pub spec: Vec<SpecChange>,
}

impl Comparison {
    /// Whether there is no difference.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.plan.changes.is_empty() && self.spec.is_empty()
    }
}

/// Compares two states of a cluster, by applied attributes and by identity.
pub fn compare<'t>(
    before: &Snapshot,
    after: &Snapshot,
    type_of: impl Fn(&str) -> Option<&'t ResourceType>,
) -> Comparison {
    let mut addresses: Vec<&Address> = before.resources.keys().chain(after.resources.keys()).collect();
    addresses.sort();
    addresses.dedup();
    let (mut changes, mut unchanged) = (Vec::new(), 0);
    for address in addresses {
        let kind = type_of(address.kind());
        match change(address, before.resources.get(address), after.resources.get(address), kind) {
            Some(change) => changes.push(change),
            None => unchanged += 1,
        }
    }
    let spec = fields::changed(&before.spec, &after.spec);
    Comparison { plan: plan(after, changes, unchanged), spec }
}

fn change(
    address: &Address,
    before: Option<&Record>,
    after: Option<&Record>,
    kind: Option<&ResourceType>,
) -> Option<ResourceChange> {
    let record = after.or(before)?;
    let applied =
        |record: Option<&Record>| record.and_then(|record| record.applied.clone()).unwrap_or_default();
    let (was, is) = (applied(before), applied(after));
    let mut change = ResourceChange {
        identity: Some(record.identity.clone()),
        sensitive: kind.map(|kind| sensitive_paths(&kind.attributes)).unwrap_or_default(),
        ..ResourceChange::bare(address, &record.provider, record.schema_version)
    };
    let say = |text: String| Reason::new(ReasonCode::FieldChanged, text);
    match (before, after) {
        (None, _) => change.action = ChangeAction::Create,
        (_, None) => change.action = ChangeAction::Delete,
        (Some(first), Some(second)) => {
            if let Some(kind) = kind {
                change.changes = diff::diff(kind, &was, &is, Some(&was));
                // A default that the spec does not set is the same in both.
                change.changes.retain(|changed| was.at(&changed.path) != is.at(&changed.path));
                change.changes.iter_mut().for_each(|changed| changed.replaces = false);
            }
            if first.identity != second.identity {
                change.action = ChangeAction::ReplaceCreateFirst;
                change.reasons.push(say(format!("it was {} and is {}", first.identity, second.identity)));
            } else if !change.changes.is_empty() || (kind.is_none() && was != is) {
                change.action = ChangeAction::Update;
            } else if first.applied.is_some() != second.applied.is_some() {
                change.action = ChangeAction::Record;
                let known = if second.applied.is_some() { "is known again" } else { "is not known any more" };
                change.reasons.push(say(format!("what was applied last {known}")));
            } else {
                let rest = |record: &Record| (record.retain, record.protected, record.existing);
                if rest(first) == rest(second) {
                    return None;
                }
                change.action = ChangeAction::Record;
                change.reasons.push(say("what the state keeps about it differs".to_owned()));
            }
        }
    }
    change.before = was;
    change.after = is;
    Some(change)
}

fn plan(after: &Snapshot, changes: Vec<ResourceChange>, unchanged: u64) -> Plan {
    let binding = Binding {
        uid: Some(after.uid.clone()),
        generation: None,
        snapshot: None,
        continues: None,
        spec_digest: slipway_resource::Digest::of_bytes(b""),
        catalogs: Default::default(),
        providers: Default::default(),
    };
    Plan { changes, unchanged, ..Plan::without_changes(&after.cluster, Mode::Apply, binding) }
}

#[cfg(test)]
mod tests {
    use slipway_resource::{ClusterUid, Value};

    use super::*;
    use crate::examples;

    fn record(identity: &str, name: &str) -> Record {
        Record {
            provider: "sim".into(),
            applied: Some(Value::map([("name", name)])),
            ..examples::record(identity)
        }
    }

    fn snapshot(records: &[(&str, Record)]) -> Snapshot {
        let mut snapshot = Snapshot::empty("c", ClusterUid::new("u"));
        for (name, record) in records {
            snapshot.resources.insert(Address::new("thing", *name), record.clone());
        }
        snapshot
    }

    #[test]
    fn made_gone_changed_and_another_object() {
        let before = snapshot(&[
            ("a", record("1", "a")),
            ("b", record("2", "b")),
            ("c", record("3", "c")),
            ("d", record("4", "d")),
        ]);
        let after = snapshot(&[
            ("b", record("2", "x")),
            ("c", record("9", "c")),
            ("d", record("4", "d")),
            ("e", record("5", "e")),
        ]);
        let comparison = compare(&before, &after, |_| None);
        let actions: Vec<ChangeAction> = comparison.plan.changes.iter().map(|change| change.action).collect();
        use ChangeAction::{Create, Delete, ReplaceCreateFirst, Update};
        assert_eq!(actions, [Delete, Update, ReplaceCreateFirst, Create]);
        assert_eq!(comparison.plan.unchanged, 1);
        assert!(compare(&before, &before, |_| None).is_empty());
    }
}
