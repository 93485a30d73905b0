//! Defaults that depend on other fields. Defaults that do not are at the fields themselves, so that `explain`
//! and the JSON schemas show them.

mod etcd;
mod hardened;
mod network;
mod pool;
mod subnets;

pub(super) use etcd::{clusters as etcd_clusters, members as etcd_members, volume as etcd_volume};
pub(super) use hardened::{pod_security, sysctls};
pub(super) use network::{dns_address, node_range, pod_ranges, service_ranges};
pub(super) use pool::{placement, public_ip, rollout, size, taints};
pub(super) use subnets::{cut as cut_subnets, egress};

use super::AuditSpec;
use crate::model::{Addon, AtRest, AtRestProvider, Audit, Cni, Encryption, Endpoint, LoadBalancer, Profile};

/// The add-ons that a profile brings.
pub(super) fn addons(profile: Profile) -> Vec<Addon> {
    let names: &[&str] = match profile {
        Profile::Slipway | Profile::Hardened => &["coredns", "metrics-server"],
        Profile::Kubeadm => &["coredns"],
    };
    names
        .iter()
        .map(|name| Addon {
            name: (*name).to_owned(),
            enabled: true,
            version: None,
            replicas: None,
            minimum_available: None,
            config: serde_json::Value::Null,
            manifest: None,
        })
        .collect()
}

/// The encryption of what the API server stores.
pub(super) fn encryption(profile: Profile) -> Encryption {
    let at_rest = AtRest {
        provider: AtRestProvider::Secretbox,
        key: None,
        kms_endpoint: None,
        resources: vec!["secrets".to_owned()],
    };
    match profile {
        Profile::Slipway | Profile::Hardened => Encryption { at_rest: Some(at_rest) },
        Profile::Kubeadm => Encryption { at_rest: None },
    }
}

/// The audit log. A document that sets some of its fields leaves the others to the profile `hardened`, and in other
/// profiles to a log that is off.
pub(super) fn audit(written: Option<AuditSpec>, profile: Profile) -> Audit {
    let usual = match profile {
        Profile::Hardened => hardened::audit(),
        Profile::Slipway => Audit { enabled: written.is_none(), ..Audit::default() },
        Profile::Kubeadm => Audit::default(),
    };
    let written = written.unwrap_or_default();
    Audit {
        enabled: written.enabled.unwrap_or(usual.enabled),
        policy: written.policy,
        max_age_days: written.max_age_days.unwrap_or(usual.max_age_days),
        max_backups: written.max_backups.unwrap_or(usual.max_backups),
        max_size_mebibytes: written.max_size_mebibytes.unwrap_or(usual.max_size_mebibytes),
    }
}

/// The pod network.
pub(super) fn cni(profile: Profile) -> Cni {
    match profile {
        Profile::Slipway | Profile::Hardened => Cni::default(),
        Profile::Kubeadm => Cni { name: "none".to_owned(), config: serde_json::Value::Null },
    }
}

/// The endpoint of the control plane: a cluster with zones has load balancers, one of listed hosts has none.
pub(super) fn endpoint(zones: &[String]) -> Endpoint {
    if zones.is_empty() { Endpoint::Elected {} } else { Endpoint::LoadBalancer(LoadBalancer::default()) }
}
