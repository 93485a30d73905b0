//! Changes outside Slipway that the spec asks for by now: nothing is left to do, and the state does not know it.

use slipway_resource::diff;
use slipway_resource::{Path, Value};

use crate::decide::KnownResource;
use crate::reason::{Reason, ReasonCode};

/// Why an object that is as desired is recorded again: an attribute that was changed outside Slipway has the value that the spec
/// asks for now. Without a record of it, a report of drift would show the attribute for ever, and a later change of it would not
/// be reported as drift.
///
/// The values are those that were read, `observed`: an object that its provider compares in another form, as one of a cluster
/// that was adopted, may differ from its record in form only. For the same reason, attributes whose form only the provider knows
/// are left out: the id of etcd's data is desired as `etcd`, and is in no record of an adopted control plane.
pub(crate) fn reason(
    known: &KnownResource<'_>,
    observed: &Value,
    normalised: &Value,
    applied: &Value,
) -> Option<Reason> {
    if known.desired.lifecycle.existing.is_some() {
        return None;
    }
    let outside = diff::diff(known.kind, observed, applied, Some(applied));
    if outside.is_empty() {
        return None;
    }
    let null = Value::Null;
    let differs_from_desired = diff::diff(known.kind, observed, normalised, Some(applied));
    let is_as_desired = |path: &Path| {
        !differs_from_desired
            .iter()
            .any(|change| change.path.starts_with(path) || path.starts_with(&change.path))
    };
    let is_left_alone = |path: &Path| {
        let ignored = known.desired.lifecycle.ignore_changes.iter().chain(&known.ignored);
        ignored
            .chain(known.as_found.keys())
            .any(|ignored| path.starts_with(ignored) || ignored.starts_with(path))
    };
    let paths: Vec<Path> = outside
        .into_iter()
        .filter(|change| !change.sensitive && change.after.is_known())
        .map(|change| change.path)
        .filter(|path| !is_left_alone(path) && is_as_desired(path))
        .filter(|path| !known.kind.is_set_by_provider(path, known.resolved) && !known.kind.has_own_form(path))
        .filter(|path| applied.at(path).unwrap_or(&null) != known.resolved.at(path).unwrap_or(&null))
        .collect();
    let first = paths.first()?;
    let names: Vec<String> = paths.iter().map(ToString::to_string).collect();
    let verb = if paths.len() == 1 { "was" } else { "were" };
    let text = format!("{} {verb} changed outside Slipway, to what the spec asks for", names.join(", "));
    Some(Reason::new(ReasonCode::FieldDrifted, text).at(first))
}
