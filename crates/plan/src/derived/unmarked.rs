//! Losses by changes of objects that stay or are created, which need a confirmation that the plan file does not ask for.

use std::collections::BTreeSet;

use slipway_resource::schema::{Held, Irreplaceable, Part};
use slipway_resource::{Address, Mode};

use super::ReadChange;
use crate::change::ChangeAction;
use crate::irreplaceable::is_unknown;
use crate::soundness::unmarked;
use crate::state::Snapshot;

/// The machines on which a member of etcd begins without data, as a confirmation by name says. It is the confirmation of all that was on
/// them: the rest comes from the state and from the other members.
pub(super) fn emptied<'a>(subjects: &[ReadChange<'a>]) -> BTreeSet<&'a str> {
    let is_confirmed = |subject: &&ReadChange<'a>| {
        let change = subject.change;
        change.action == ChangeAction::Create
            && change.confirmation.is_some()
            && subject.kind.part(change.address.name()) == Some(Part::EtcdMember)
    };
    subjects.iter().filter(is_confirmed).map(|subject| machine_of(&subject.change.address)).collect()
}

/// The machine that an object is on, which is the first segment of its name.
fn machine_of(address: &Address) -> &str {
    address.name().split('/').next().unwrap_or_default()
}

/// A loss that the plan does not mark, as a sentence. The differences of the change must be compared too. `emptied` are the machines
/// whose loss of data is confirmed as a whole.
pub(super) fn fault(
    subject: &ReadChange<'_>,
    prior: Option<&Snapshot>,
    emptied: &BTreeSet<&str>,
) -> Option<String> {
    if subject.change.confirmation.is_some() {
        return None;
    }
    let is_lost = subject.kind.stateful && !subject.change.surplus.is_empty()
        || loses_key(subject)
        || overwrites(subject)
        || begins_anew(subject, prior) && !emptied.contains(machine_of(&subject.change.address));
    is_lost.then(|| unmarked(subject.change))
}

/// Whether data that was encrypted with a key of the object cannot be read afterwards.
fn loses_key(subject: &ReadChange<'_>) -> bool {
    subject.changes_object()
        && subject.change.changes.iter().any(|changed| {
            !changed.before.is_null()
                && (changed.after.is_null() || !is_unknown(&changed.before))
                && subject.kind.is_key_material(&changed.path)
        })
}

/// Whether the object holds something else afterwards.
fn overwrites(subject: &ReadChange<'_>) -> bool {
    let change = subject.change;
    let rule = subject.kind.irreplaceable.as_ref().filter(|rule| !rule.fingerprint.is_empty());
    let Some(rule) = rule.filter(|_| change.action == ChangeAction::Update) else { return false };
    let held = rule.held(change.identity.as_ref(), &change.before);
    held != Held::Nothing && (held == Held::Unknown || rule.held(None, &change.after) != held)
}

/// Whether an object without data takes the place of one that the state knows, or has forgotten.
fn begins_anew(subject: &ReadChange<'_>, prior: Option<&Snapshot>) -> bool {
    let change = subject.change;
    let Some(rule) = &subject.kind.irreplaceable else { return false };
    if change.action != ChangeAction::Create {
        return false;
    }
    match subject.record {
        Some(record) => !record.existing && !held_nothing(subject, rule),
        None => rule.is_data() && prior.is_some_and(|prior| prior.forgotten.contains_key(&change.address)),
    }
}

/// Whether the object that the state knows held nothing, by the attributes with which it was created.
fn held_nothing(subject: &ReadChange<'_>, rule: &Irreplaceable) -> bool {
    let fingerprint = subject.kind.attributes.get(&rule.fingerprint);
    fingerprint.is_some_and(|fingerprint| fingerprint.mode == Mode::OptionalComputed)
        && subject.last_applied().is_some_and(|applied| rule.held(None, applied) == Held::Nothing)
}
