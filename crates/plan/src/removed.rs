//! Resources that leave the state by an entry of `removed` in the spec. Their objects are kept.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::provider::ExpandNote;
use slipway_resource::{Address, Identity, pattern};

use crate::change::ChangeAction;
use crate::error::Error;
use crate::file::{Mode, Plan};
use crate::observations::Observations;
use crate::planner::Inputs;
use crate::reason::ReasonCode;
use crate::state::Record;

/// The patterns of addresses in the entries of `removed`, by the spec of a plan.
fn patterns(spec: &serde_json::Value) -> impl Iterator<Item = &str> {
    let entries = spec.get("removed").and_then(serde_json::Value::as_array).into_iter().flatten();
    entries.filter_map(|entry| entry.get("from")?.as_str())
}

/// Whether an entry names one address. A deletion does not know what the spec has, and a pattern matches that, too.
fn is_exact(pattern: &str) -> bool {
    !pattern.contains(['*', '?'])
}

/// The notes of a deletion on entries with patterns: they keep nothing.
pub(crate) fn notes_of_deletion(spec: &serde_json::Value) -> Vec<ExpandNote> {
    let entries = patterns(spec).enumerate().filter(|(_, pattern)| !is_exact(pattern));
    let note = |(index, pattern): (usize, &str)| ExpandNote {
        field: format!("removed[{index}].from"),
        message: format!("{pattern} keeps nothing in a deletion: to keep an object, name it by its address"),
    };
    entries.map(note).collect()
}

/// Refuses an entry that names a resource of the spec. A pattern may match resources of the spec: they stay.
///
/// # Errors
/// [`Error::RemovedAndDesired`].
pub(crate) fn check(inputs: &Inputs<'_>) -> Result<(), Error> {
    for (index, named) in patterns(&inputs.spec).enumerate() {
        let Ok(address) = named.parse::<Address>() else { continue };
        if inputs.desired.binary_search_by(|desired| desired.address.cmp(&address)).is_ok() {
            let place = (inputs.locate)(&format!("removed[{index}]")).map(|place| place.shown);
            return Err(Error::RemovedAndDesired { address, place });
        }
    }
    Ok(())
}

/// The addresses that leave the state: those with a record or an object that an entry names and the spec does not have. Their
/// records say that their objects are kept. In a deletion, entries with patterns name nothing.
pub(crate) fn keep(
    (spec, mode): (&serde_json::Value, Mode),
    is_desired: impl Fn(&Address) -> bool,
    records: &mut Cow<'_, BTreeMap<Address, Record>>,
    observations: &Observations,
) -> BTreeSet<Address> {
    let counts = |pattern: &&str| mode != Mode::Delete || is_exact(pattern);
    let patterns: Vec<&str> = patterns(spec).filter(counts).collect();
    if patterns.is_empty() {
        return BTreeSet::new();
    }
    let is_named = |address: &&Address| {
        let text = address.to_string();
        patterns.iter().any(|pattern| pattern::matches(pattern, &text)) && !is_desired(address)
    };
    let removed: BTreeSet<Address> =
        records.keys().chain(observations.addresses()).filter(is_named).cloned().collect();
    let recorded: Vec<&Address> = removed.iter().filter(|address| records.contains_key(*address)).collect();
    if !recorded.is_empty() {
        let records = records.to_mut();
        for address in recorded {
            if let Some(record) = records.get_mut(address) {
                record.retain = true;
            }
        }
    }
    removed
}

/// The objects that a plan takes out of the state by entries of `removed`: later plans leave them alone, also when the entry is
/// gone.
pub fn objects(plan: &Plan) -> impl Iterator<Item = (&Address, &Identity)> {
    let patterns: Vec<&str> = patterns(&plan.spec).collect();
    plan.changes.iter().chain(&plan.kept).filter_map(move |change| {
        let text = change.address.to_string();
        let is_removed = change.action == ChangeAction::Forget
            && change.reasons.iter().any(|reason| reason.code == ReasonCode::Retained)
            && patterns.iter().any(|pattern| pattern::matches(pattern, &text));
        change.identity.as_ref().filter(|_| is_removed).map(|identity| (&change.address, identity))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use slipway_resource::Value;

    use super::*;
    use crate::examples;

    #[test]
    fn named_resources_that_the_spec_does_not_have_are_kept() {
        let address = |name: &str| Address::new("subnet", name);
        let known: BTreeMap<Address, Record> = ["a", "b", "old-1", "old-2"]
            .map(|name| (address(name), Record { applied: Some(Value::Null), ..examples::record(name) }))
            .into();
        let spec = json!({ "removed": [{ "from": "subnet.a" }, { "from": "subnet.old-*" }] });
        let mut records = Cow::Borrowed(&known);
        let is_desired = |desired: &Address| *desired == address("old-2");
        let removed = keep((&spec, Mode::Apply), is_desired, &mut records, &Observations::default());
        assert_eq!(removed, BTreeSet::from([address("a"), address("old-1")]));
        for (address, record) in &*records {
            assert_eq!(record.retain, removed.contains(address), "{address}");
        }
        let mut records = Cow::Borrowed(&known);
        let nothing = json!({});
        assert!(keep((&nothing, Mode::Apply), |_| false, &mut records, &Observations::default()).is_empty());
        assert!(matches!(records, Cow::Borrowed(_)), "nothing is copied");
        let kept = keep((&spec, Mode::Delete), |_| false, &mut records, &Observations::default());
        assert_eq!(kept, BTreeSet::from([address("a")]), "a pattern matches what the spec has, too");
        assert_eq!(notes_of_deletion(&spec).len(), 1);
    }
}
