//! Backups and audit logs with a shorter retention than before: older ones are deleted.
//!
//! No object is deleted, so no type of a provider shows the loss. The specs of the last and the next apply
//! do.

use slipway_plan::{ChangeAction, Plan, ResourceChange, Snapshot};
use slipway_resource::Value;
use slipway_resource::provider::ExpandNote;
use slipway_spec::model::Cluster;
use slipway_spec::stored;

/// The prefix of the API server's flags for rotated audit logs.
const AUDIT_FLAGS: &str = "audit-log-max";

/// A field of the spec that keeps less than before.
struct Shorter {
    field: String,
    text: String,
}

/// Has each change that shortens a retention confirmed by name, and says in a note what is deleted.
pub(super) fn name(plan: &mut Plan, prior: Option<&Snapshot>, next: &Cluster) {
    for shorter in shorter(prior, next) {
        for change in plan.changes.iter_mut().filter(|change| brings(change, &shorter.field)) {
            change.confirm(shorter.text.as_str());
        }
        plan.notes.push(ExpandNote { field: shorter.field, message: shorter.text });
    }
}

/// A change of a plan that shortens a retention without asking for a confirmation, as a sentence.
pub(crate) fn hidden(plan: &Plan, prior: Option<&Snapshot>, next: &Cluster) -> Option<String> {
    let shorter = shorter(prior, next);
    let is_hidden = |change: &&ResourceChange| {
        change.confirmation.is_none() && shorter.iter().any(|shorter| brings(change, &shorter.field))
    };
    let change = plan.changes.iter().find(is_hidden)?;
    Some(format!(
        "{} deletes what was kept for longer, and the plan asks for no confirmation",
        change.address
    ))
}

/// The fields that keep less in the next spec than in the last one.
fn shorter(prior: Option<&Snapshot>, next: &Cluster) -> Vec<Shorter> {
    let Some(Ok(Some(last))) = prior.map(|prior| stored::read(&prior.spec)) else { return Vec::new() };
    let mut found = Vec::new();
    for etcd in &next.etcd {
        let Some(before) = last.etcd.iter().find(|before| before.name == etcd.name) else { continue };
        let (before, after) = (&before.backups, &etcd.backups);
        if before.enabled && after.enabled && after.retention < before.retention {
            found.push(Shorter {
                field: format!("etcd[{}].backups.retention", etcd.name),
                text: format!(
                    "backups of etcd are kept for {} instead of {}: older ones are deleted",
                    after.retention, before.retention
                ),
            });
        }
    }
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
                });
            }
        }
    }
    found
}

/// Whether a change brings what a field says: by the field that it names, or by the flags of an API server.
fn brings(change: &ResourceChange, field: &str) -> bool {
    if change.action != ChangeAction::Update && !change.action.is_replace() {
        return false;
    }
    if change.reasons.iter().any(|reason| reason.origin.as_deref() == Some(field)) {
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
        let mut last = serde_json::to_value(cluster()).unwrap();
        let backups = |retention: &str| json!({ "enabled": true, "retention": retention });
        last["etcd"] = json!([{ "name": "main", "members": [], "backups": backups("90d") }]);
        last["audit"] = json!({ "enabled": true, "maxAgeDays": 10, "maxBackups": 0 });
        let mut next = last.clone();
        change(&mut next);
        let uid = slipway_resource::ClusterUid::new("u");
        let prior = Snapshot { spec: last, ..Snapshot::empty("demo", uid) };
        let next = serde_json::from_value(next).unwrap();
        shorter(Some(&prior), &next).into_iter().map(|shorter| shorter.field).collect()
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
