//! Changes of resources in Terraform's form.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value as Json, json};
use slipway_resource::{Path, Segment};

use super::super::reason::because;
use super::super::screen::sensitive_paths;
use super::Sequence;
use super::values::side;
use crate::change::{ChangeAction, ResourceChange};
use crate::file::Plan;
use crate::reason::ReasonCode;

/// The entries of `resource_changes`: the change, and the deletion of each older or doubled object of the same address, which
/// has the identity of the object in `deposed`.
pub(super) fn resource_changes(change: &ResourceChange) -> impl Iterator<Item = Json> {
    let deposed = change.surplus.iter().map(|identity| {
        let mut entry = named(change);
        entry.insert("deposed".to_owned(), identity.to_string().into());
        entry.insert("change".to_owned(), deletion());
        Json::from(entry)
    });
    std::iter::once(resource_change(change)).chain(deposed)
}

/// The change of an object that is deleted and whose attributes the plan does not have.
fn deletion() -> Json {
    json!({
        "actions": actions(ChangeAction::Delete),
        "before": {},
        "after": null,
        "after_unknown": {},
        "before_sensitive": false,
        "after_sensitive": false,
    })
}

/// An entry of `resource_changes` or `resource_drift`.
pub(super) fn resource_change(change: &ResourceChange) -> Json {
    let mut entry = named(change);
    if let Some(previous) = &change.previous_address {
        entry.insert("previous_address".to_owned(), previous.to_string().into());
    }
    entry.insert("change".to_owned(), body(change));
    if let Some(reason) = action_reason(change) {
        entry.insert("action_reason".to_owned(), reason.into());
    }
    entry.into()
}

/// An entry of `deferred_changes`.
pub(super) fn deferred_change(change: &ResourceChange) -> Json {
    let reason = if change.reasons.iter().any(|reason| reason.code == ReasonCode::BehindUnreadable) {
        "deferred_prereq"
    } else {
        "unknown"
    };
    json!({ "reason": reason, "resource_change": resource_change(change) })
}

/// An entry of the `deferred` list, with the reason in words.
pub(super) fn deferred(change: &ResourceChange) -> Json {
    let reasons: Vec<String> = change.reasons.iter().map(because).collect();
    json!({ "address": change.address, "reasons": reasons })
}

fn named(change: &ResourceChange) -> Map<String, Json> {
    let mut entry = Map::new();
    for (key, value) in [
        ("address", change.address.to_string()),
        ("mode", "managed".to_owned()),
        ("type", change.address.kind().to_owned()),
        ("name", change.address.name().to_owned()),
        ("provider_name", change.provider.clone()),
    ] {
        entry.insert(key.to_owned(), value.into());
    }
    entry
}

fn body(change: &ResourceChange) -> Json {
    let sensitive = sensitive_paths(change);
    let before = side(&change.before, &sensitive);
    let after = side(&change.after, &sensitive);
    let unknown = if change.after.is_null() { json!({}) } else { after.unknown };
    let mut body = json!({
        "actions": actions(change.action),
        "before": before.values,
        "after": after.values,
        "after_unknown": unknown,
        "before_sensitive": before.sensitive,
        "after_sensitive": after.sensitive,
    });
    let replace_paths: Vec<Json> = change
        .changes
        .iter()
        .filter(|attribute| attribute.replaces)
        .map(|attribute| path(&attribute.path))
        .collect();
    if change.action.is_replace() && !replace_paths.is_empty() {
        body["replace_paths"] = replace_paths.into();
    }
    if let (ChangeAction::Adopt, Some(identity)) = (change.action, &change.identity) {
        body["importing"] = json!({ "id": identity });
    }
    body
}

/// The actions that the form knows; an object without a record is a `no-op` with `importing`.
fn actions(action: ChangeAction) -> &'static [&'static str] {
    match action {
        ChangeAction::NoOp | ChangeAction::Adopt | ChangeAction::Record | ChangeAction::Deferred => {
            &["no-op"]
        }
        ChangeAction::Create => &["create"],
        ChangeAction::Update => &["update"],
        ChangeAction::ReplaceDeleteFirst => &["delete", "create"],
        ChangeAction::ReplaceCreateFirst => &["create", "delete"],
        ChangeAction::Delete => &["delete"],
        ChangeAction::Forget => &["forget"],
    }
}

/// The form's own name of the reason, if it has one; all reasons are in `reasons`.
fn action_reason(change: &ResourceChange) -> Option<&'static str> {
    let has = |code| change.reasons.iter().any(|reason| reason.code == code);
    if change.action.is_replace() {
        return if change.changes.iter().any(|attribute| attribute.replaces) {
            Some("replace_because_cannot_update")
        } else if has(ReasonCode::Requested) {
            Some("replace_by_request")
        } else {
            has(ReasonCode::ReferenceReplaced).then_some("replace_by_triggers")
        };
    }
    let goes = matches!(change.action, ChangeAction::Delete | ChangeAction::Forget);
    (goes && has(ReasonCode::NotWanted)).then_some("delete_because_no_resource_config")
}

fn path(path: &Path) -> Json {
    path.segments()
        .iter()
        .map(|segment| match segment {
            Segment::Key(key) => Json::from(key.as_str()),
            Segment::Index(index) => Json::from(*index),
        })
        .collect()
}

/// The planned values of the changed resources; unchanged ones are not listed.
pub(super) struct PlannedValues<'p>(pub(super) &'p Plan);

impl Serialize for PlannedValues<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("root_module", &RootModule(self.0))?;
        map.end()
    }
}

struct RootModule<'p>(&'p Plan);

impl Serialize for RootModule<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let will_be = || {
            self.0
                .changes
                .iter()
                .filter(|change| !change.after.is_null() && change.action != ChangeAction::Deferred)
                .map(planned)
        };
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("resources", &Sequence(will_be))?;
        map.end()
    }
}

fn planned(change: &ResourceChange) -> Json {
    let after = side(&change.after, &sensitive_paths(change));
    let mut entry = named(change);
    entry.insert("schema_version".to_owned(), change.schema_version.into());
    entry.insert("values".to_owned(), after.values);
    entry.insert("sensitive_values".to_owned(), after.sensitive);
    entry.into()
}
