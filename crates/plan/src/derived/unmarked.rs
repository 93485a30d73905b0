//! Losses by changes of objects that stay or are created, which need a confirmation that the plan file does not ask for.

use slipway_resource::Mode;
use slipway_resource::schema::{Held, Irreplaceable};

use super::Subject;
use crate::change::ChangeAction;
use crate::irreplaceable::is_unknown;
use crate::soundness::unmarked;
use crate::state::Snapshot;

/// A loss that the plan does not mark, as a sentence. The differences of the change must be compared too.
pub(super) fn fault(subject: &Subject<'_>, prior: Option<&Snapshot>) -> Option<String> {
    if subject.change.confirmation.is_some() {
        return None;
    }
    let is_lost = subject.kind.stateful && !subject.change.surplus.is_empty()
        || loses_key(subject)
        || overwrites(subject)
        || begins_anew(subject, prior);
    is_lost.then(|| unmarked(subject.change))
}

/// Whether data that was encrypted with a key of the object cannot be read afterwards.
fn loses_key(subject: &Subject<'_>) -> bool {
    subject.changes_object()
        && subject.change.changes.iter().any(|changed| {
            !changed.before.is_null()
                && (changed.after.is_null() || !is_unknown(&changed.before))
                && subject.kind.is_key_material(&changed.path)
        })
}

/// Whether the object holds something else afterwards.
fn overwrites(subject: &Subject<'_>) -> bool {
    let change = subject.change;
    let rule = subject.kind.irreplaceable.as_ref().filter(|rule| !rule.fingerprint.is_empty());
    let Some(rule) = rule.filter(|_| change.action == ChangeAction::Update) else { return false };
    let held = rule.held(change.identity.as_ref(), &change.before);
    held != Held::Nothing && (held == Held::Unknown || rule.held(None, &change.after) != held)
}

/// Whether an object without data takes the place of one that the state knows, or has forgotten.
fn begins_anew(subject: &Subject<'_>, prior: Option<&Snapshot>) -> bool {
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
fn held_nothing(subject: &Subject<'_>, rule: &Irreplaceable) -> bool {
    let fingerprint = subject.kind.attributes.get(&rule.fingerprint);
    fingerprint.is_some_and(|fingerprint| fingerprint.mode == Mode::OptionalComputed)
        && subject.last_applied().is_some_and(|applied| rule.held(None, applied) == Held::Nothing)
}
