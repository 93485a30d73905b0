use serde::{Deserialize, Serialize};

use super::GoDuration;

/// How long a phase waits for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Timeouts {
    /// For a component of the control plane to be healthy; 4 minutes unless given.
    pub control_plane_component_health_check: GoDuration,
    /// For the kubelet to be healthy; 4 minutes unless given.
    pub kubelet_health_check: GoDuration,
    /// For a call of the API to succeed, repeated; 1 minute unless given.
    pub kubernetes_api_call: GoDuration,
    /// For a call of etcd to succeed, repeated; 2 minutes unless given.
    pub etcd_api_call: GoDuration,
    /// For the kubelet to have its certificate; 5 minutes unless given.
    pub tls_bootstrap: GoDuration,
    /// For the cluster to be found and trusted; 5 minutes unless given.
    pub discovery: GoDuration,
    /// For a changed static pod to run; 5 minutes unless given.
    pub upgrade_manifests: GoDuration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            control_plane_component_health_check: GoDuration::from_mins(4),
            kubelet_health_check: GoDuration::from_mins(4),
            kubernetes_api_call: GoDuration::from_mins(1),
            etcd_api_call: GoDuration::from_mins(2),
            tls_bootstrap: GoDuration::from_mins(5),
            discovery: GoDuration::from_mins(5),
            upgrade_manifests: GoDuration::from_mins(5),
        }
    }
}
