//! Backups and audit logs with a shorter retention than before: older ones are deleted.
//!
//! No object is deleted, so no type of a provider shows the loss. The specs of the last and the next apply
//! do.

use slipway_plan::{ChangeAction, Mode, Plan, ResourceChange};
use slipway_resource::provider::ExpandNote;
use slipway_resource::{Path, Segment, Value};
use slipway_spec::model::Cluster;

/// The prefix of the API server's flags for rotated audit logs.
const AUDIT_FLAGS: &str = "audit-log-max";

/// What the names of attributes begin with that say how long something is kept, as `retention_seconds`.
const RETENTION: &str = "retention";

/// A field of the spec that keeps less than before.
struct Shorter {
    field: String,
    text: String,
    /// Whether the last spec says how long it was kept.
    is_known: bool,
}

/// Has each change that shortens a retention confirmed by name, and says in a note what is deleted.
pub(super) fn name(plan: &mut Plan, last: Option<&Cluster>, next: &Cluster) {
    for change in plan.changes.iter_mut().filter(|change| shortens(change)) {
        change.confirm("what was kept for longer than now asked for is deleted");
    }
    for shorter in shorter(last, next) {
        let mut is_brought = false;
        for change in plan.changes.iter_mut().filter(|change| brings(change, &shorter.field)) {
            change.confirm(shorter.text.as_str());
            is_brought = true;
        }
        if is_brought || shorter.is_known {
            plan.notes.push(ExpandNote { field: shorter.field, message: shorter.text });
        }
    }
}

/// A change of a plan that shortens a retention without asking for a confirmation, or a field of its spec that does so without a
/// note, as a sentence.
pub(crate) fn hidden(plan: &Plan, last: Option<&Cluster>, next: &Cluster) -> Option<String> {
    let shorter = shorter(last, next);
    let is_shorter = |change: &ResourceChange| {
        shortens(change) || shorter.iter().any(|shorter| brings(change, &shorter.field))
    };
    let is_hidden = |change: &&ResourceChange| change.confirmation.is_none() && is_shorter(change);
    if let Some(change) = plan.changes.iter().find(is_hidden) {
        let address = &change.address;
        return Some(format!(
            "{address} deletes what was kept for longer, and the plan asks for no confirmation"
        ));
    }
    let is_said = |shorter: &Shorter| {
        plan.notes.iter().any(|note| note.field == shorter.field && note.message == shorter.text)
    };
    let mut known = shorter.iter().filter(|shorter| plan.mode == Mode::Apply && shorter.is_known);
    let unsaid = known.find(|shorter| !is_said(shorter))?;
    Some(format!("its spec keeps less by {}, and no note of the plan says so", unsaid.field))
}

/// The fields that keep less in the next spec than in the last one. Where the last spec does not say how long backups were
/// kept, as when backups were off or the state was rebuilt, the next spec may keep less.
fn shorter(last: Option<&Cluster>, next: &Cluster) -> Vec<Shorter> {
    let mut found = Vec::new();
    for etcd in next.etcd.iter().filter(|etcd| etcd.backups.enabled) {
        let before = last.into_iter().flat_map(|last| &last.etcd).find(|before| before.name == etcd.name);
        let before = before.map(|before| &before.backups).filter(|before| before.enabled);
        let after = etcd.backups.retention;
        let text = match before {
            Some(before) if after >= before.retention => continue,
            Some(before) => format!(
                "backups of etcd are kept for {after} instead of {}: older ones are deleted",
                before.retention
            ),
            None => format!(
                "backups of etcd are kept for {after}, and the state does not say for how long they were kept before: older \
                 ones are deleted"
            ),
        };
        let field = format!("etcd[{}].backups.retention", etcd.name);
        found.push(Shorter { field, text, is_known: before.is_some() });
    }
    let Some(last) = last else { return found };
    let (before, after) = (&last.audit, &next.audit);
    if before.enabled && after.enabled {
        let counts = [
            ("maxAgeDays", "for", " days", before.max_age_days, after.max_age_days),
            ("maxBackups", "in", " files", before.max_backups, after.max_backups),
        ];
        for (field, how, unit, before, after) in counts {
            // 0 keeps all of them.
            let is_shorter = after != 0 && (before == 0 || after < before);
            if is_shorter {
                let before = if before == 0 { "no limit".to_owned() } else { format!("{before}{unit}") };
                found.push(Shorter {
                    field: format!("audit.{field}"),
                    text: format!(
                        "audit logs are kept {how} {after}{unit} instead of {before}: older ones are deleted"
                    ),
                    is_known: true,
                });
            }
        }
    }
    found
}

/// Whether a change lowers a retention that the object has, whatever the specs say.
fn shortens(change: &ResourceChange) -> bool {
    let is_retention = |path: &Path| match path.segments().last() {
        Some(Segment::Key(name)) => name.starts_with(RETENTION),
        _ => false,
    };
    let is_lower = |before: &Value, after: &Value| match (before, after) {
        (Value::Integer(before), Value::Integer(after)) => after < before,
        _ => false,
    };
    change.action == ChangeAction::Update
        && change
            .changes
            .iter()
            .any(|change| is_retention(&change.path) && is_lower(&change.before, &change.after))
}

/// Whether a change brings what a field says: by the field that it names, or by the flags of an API server.
fn brings(change: &ResourceChange, field: &str) -> bool {
    if change.action != ChangeAction::Update && !change.action.is_replace() {
        return false;
    }
    let names = |origin: &str| {
        field.strip_prefix(origin).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if change.reasons.iter().filter_map(|reason| reason.origin.as_deref()).any(names) {
        return true;
    }
    field.starts_with("audit.")
        && change.changes.iter().any(|change| mentions(&change.before) || mentions(&change.after))
}

fn mentions(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(AUDIT_FLAGS),
        Value::List(items) => items.iter().any(mentions),
        Value::Map(entries) => {
            entries.iter().any(|(name, value)| name.contains(AUDIT_FLAGS) || mentions(value))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SPEC: &str = "
apiVersion: slipway.dev/v1alpha1
kind: Cluster
metadata: {name: demo}
spec: {provider: {name: sim}, region: sim-1, kubernetesVersion: 1.35.2, zones: [sim-1a]}
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: {name: control-plane}
spec: {role: controlPlane, machineType: sim.medium}
";

    fn cluster() -> Cluster {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("spec.yaml");
        std::fs::write(&file, SPEC).unwrap();
        let policy = slipway_trust::Policy::new(slipway_trust::Settings::default(), slipway_trust::Mode::Own);
        crate::Specs::read(&policy, &[file]).unwrap().clusters.remove(0).cluster
    }

    fn fields(change: impl Fn(&mut serde_json::Value)) -> Vec<String> {
        let (last, mut next) = specs();
        change(&mut next);
        between(last, next)
    }

    fn specs() -> (serde_json::Value, serde_json::Value) {
        let mut last = serde_json::to_value(cluster()).unwrap();
        let backups = |retention: &str| json!({ "enabled": true, "retention": retention });
        last["etcd"] = json!([{ "name": "main", "members": [], "backups": backups("90d") }]);
        last["audit"] = json!({ "enabled": true, "maxAgeDays": 10, "maxBackups": 0 });
        (last.clone(), last)
    }

    fn between(last: serde_json::Value, next: serde_json::Value) -> Vec<String> {
        let last: Option<Cluster> = slipway_spec::stored::read(&last).unwrap();
        let next = serde_json::from_value(next).unwrap();
        shorter(last.as_ref(), &next).into_iter().map(|shorter| shorter.field).collect()
    }

    #[test]
    fn what_may_keep_less_is_named() {
        let field = ["etcd[main].backups.retention"];
        let (mut last, next) = specs();
        last["etcd"][0]["backups"]["enabled"] = false.into();
        assert_eq!(between(last, next.clone()), field, "backups were off");
        assert_eq!(between(serde_json::Value::Null, next.clone()), field, "the state was rebuilt");
        let mut off = next.clone();
        off["etcd"][0]["backups"]["enabled"] = false.into();
        assert!(between(next, off).is_empty(), "backups are off now, and kept");
    }

    #[test]
    fn what_keeps_less_is_named() {
        assert!(fields(|_| ()).is_empty());
        assert!(fields(|next| next["etcd"][0]["backups"]["retention"] = "91d".into()).is_empty());
        assert!(fields(|next| next["audit"]["maxAgeDays"] = 0.into()).is_empty(), "0 keeps all");
        assert_eq!(
            fields(|next| next["etcd"][0]["backups"]["retention"] = "7d".into()),
            ["etcd[main].backups.retention"]
        );
        assert_eq!(fields(|next| next["audit"]["maxAgeDays"] = 9.into()), ["audit.maxAgeDays"]);
        assert_eq!(fields(|next| next["audit"]["maxBackups"] = 3.into()), ["audit.maxBackups"]);
    }
}
