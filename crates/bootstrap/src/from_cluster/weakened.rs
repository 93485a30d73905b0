//! Settings of a spec that take the place of stricter ones of the profile `hardened`: a plan names each of them.

use slipway_cluster_input::{ClusterInput, ComponentName, Kubelet, PodSecurityLevel, Profile};
use slipway_resource::provider::ExpandNote;

use crate::hardened;

/// The components without profiling.
const UNPROFILED: [ComponentName; 3] =
    [ComponentName::ApiServer, ComponentName::ControllerManager, ComponentName::Scheduler];

/// Retention of the audit log that the benchmark asks for (1.2.17 to 1.2.19).
const AUDIT: [(&str, u32); 3] = [("maxAgeDays", 30), ("maxBackups", 10), ("maxSizeMebibytes", 100)];

/// A note for each setting; none in another profile.
pub(super) fn notes(cluster: &ClusterInput) -> Vec<ExpandNote> {
    let mut notes = Vec::new();
    if cluster.profile != Profile::Hardened {
        return notes;
    }
    for component in ComponentName::ALL {
        flags(cluster, component, &mut notes);
    }
    kubelet("kubelet", &cluster.kubelet, &mut notes);
    for pool in cluster.pools.iter().filter(|pool| pool.kubelet != cluster.kubelet) {
        kubelet(&format!("pools[{}].kubelet", pool.name), &pool.kubelet, &mut notes);
    }
    audit(cluster, &mut notes);
    if cluster.encryption.at_rest.is_none() {
        notes.push(note("encryption.atRest", "Secrets are stored in etcd in clear text"));
    }
    let enforced = cluster.pod_security.as_ref().map(|settings| settings.enforce);
    if enforced.is_none_or(|level| level == PodSecurityLevel::Privileged) {
        notes.push(note("podSecurity.enforce", "pods may have every privilege in namespaces without labels"));
    }
    notes
}

fn note(field: &str, effect: &str) -> ExpandNote {
    ExpandNote { field: field.to_owned(), message: format!("weaker than the profile `hardened`: {effect}") }
}

fn differs(field: &str, value: &str, own: &str) -> ExpandNote {
    note(field, &format!("`{value}` takes the place of `{own}`"))
}

fn flags(cluster: &ClusterInput, component: ComponentName, notes: &mut Vec<ExpandNote>) {
    let written = cluster.component(component).extra_args;
    let mut own = hardened::flags(component);
    if UNPROFILED.contains(&component) {
        own.push(("profiling", "false".to_owned()));
    }
    for (flag, own) in own {
        let Some(value) = written.get(flag) else { continue };
        let has_all = match flag {
            "enable-admission-plugins" => {
                own.split(',').all(|one| value.split(',').any(|other| other == one))
            }
            _ => *value == own,
        };
        if !has_all {
            notes.push(differs(&format!("components.{}.extraArgs.{flag}", component.as_str()), value, &own));
        }
    }
    let admission = "admission-control-config-file";
    if component == ComponentName::ApiServer && written.contains_key(admission) {
        let field = format!("components.apiServer.extraArgs.{admission}");
        notes.push(note(&field, "your file takes the place of `podSecurity` and of the limits on events"));
    }
}

fn kubelet(path: &str, settings: &Kubelet, notes: &mut Vec<ExpandNote>) {
    for (name, own) in hardened::kubelet() {
        if let Some(value) = settings.extra_config.get(name).filter(|value| **value != own) {
            notes.push(differs(&format!("{path}.extraConfig.{name}"), &value.to_string(), &own.to_string()));
        }
    }
    if settings.server_tls_bootstrap == Some(false) {
        notes.push(differs(&format!("{path}.serverTLSBootstrap"), "false", "true"));
    }
}

fn audit(cluster: &ClusterInput, notes: &mut Vec<ExpandNote>) {
    let audit = &cluster.audit;
    if !audit.enabled {
        notes.push(note("audit.enabled", "requests are not logged"));
        return;
    }
    let values = [audit.max_age_days, audit.max_backups, audit.max_size_mebibytes];
    for ((name, own), value) in AUDIT.into_iter().zip(values) {
        if value < own {
            notes.push(differs(&format!("audit.{name}"), &value.to_string(), &own.to_string()));
        }
    }
}
