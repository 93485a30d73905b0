use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::value::{Duration, Quantity};

/// The kubelet's configuration: the settings that clusters often change, and the rest as it is.
///
/// Names and meanings are those of `KubeletConfiguration` (`kubelet.config.k8s.io/v1beta1`). Absent fields keep the
/// kubelet's own default, or in a pool what the cluster says.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Kubelet {
    /// The most pods on one node.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = slipway_limits::count::PODS))]
    pub max_pods: Option<u32>,
    /// Resources kept for Kubernetes' own processes, by resource name.
    pub kube_reserved: BTreeMap<String, Quantity>,
    /// Resources kept for the system's processes, by resource name.
    pub system_reserved: BTreeMap<String, Quantity>,
    /// When pods are evicted, by signal, as in `memory.available`.
    pub eviction_hard: Eviction,
    /// When pods are evicted after a grace period, by signal.
    pub eviction_soft: Eviction,
    /// The grace period of each soft signal.
    pub eviction_soft_grace_period: BTreeMap<String, Duration>,
    /// `none` or `static`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_manager_policy: Option<String>,
    /// `none`, `best-effort`, `restricted` or `single-numa-node`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology_manager_policy: Option<String>,
    /// The disk usage in percent at which unused images are always removed.
    #[serde(rename = "imageGCHighThresholdPercent", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub image_gc_high_threshold_percent: Option<u8>,
    /// The disk usage in percent at which unused images are never removed.
    #[serde(rename = "imageGCLowThresholdPercent", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub image_gc_low_threshold_percent: Option<u8>,
    /// How long the node waits for its pods when it shuts down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shutdown_grace_period: Option<Duration>,
    /// Whether the kubelet pulls one image at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serialize_image_pulls: Option<bool>,
    /// Whether the kubelet renews its serving certificate through the API.
    #[serde(rename = "serverTLSBootstrap", skip_serializing_if = "Option::is_none")]
    pub server_tls_bootstrap: Option<bool>,
    /// Whether the kubelet fails when swap is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_swap_on: Option<bool>,
    /// Sysctls that pods may set beside the safe ones, as patterns.
    pub allowed_unsafe_sysctls: Vec<String>,
    /// Feature gates, by name.
    pub feature_gates: BTreeMap<String, bool>,
    /// Further fields of `KubeletConfiguration`, as they are.
    #[serde(skip_serializing_if = "serde_json::Value::is_null")]
    #[schemars(schema_with = "crate::model::opaque")]
    pub extra_config: serde_json::Value,
}

/// Kernel parameters that a kubelet with `protectKernelDefaults` requires, and refuses to start without.
pub const KUBELET_SYSCTLS: [(&str, &str); 6] = [
    ("kernel.keys.root_maxbytes", "25000000"),
    ("kernel.keys.root_maxkeys", "1000000"),
    ("kernel.panic", "10"),
    ("kernel.panic_on_oops", "1"),
    ("vm.overcommit_memory", "1"),
    ("vm.panic_on_oom", "0"),
];

/// Thresholds of eviction, by signal: a quantity or a percentage of the capacity.
pub type Eviction = BTreeMap<String, String>;

impl Kubelet {
    /// This configuration with `over`'s fields in place of its own; maps are merged by key, `extraConfig` by its
    /// outermost keys, lists are replaced unless `over`'s is empty.
    #[must_use]
    pub fn merged_with(&self, over: &Self) -> Self {
        Self {
            max_pods: over.max_pods.or(self.max_pods),
            kube_reserved: merge(&self.kube_reserved, &over.kube_reserved),
            system_reserved: merge(&self.system_reserved, &over.system_reserved),
            eviction_hard: merge(&self.eviction_hard, &over.eviction_hard),
            eviction_soft: merge(&self.eviction_soft, &over.eviction_soft),
            eviction_soft_grace_period: merge(
                &self.eviction_soft_grace_period,
                &over.eviction_soft_grace_period,
            ),
            cpu_manager_policy: over.cpu_manager_policy.clone().or_else(|| self.cpu_manager_policy.clone()),
            topology_manager_policy: over
                .topology_manager_policy
                .clone()
                .or_else(|| self.topology_manager_policy.clone()),
            image_gc_high_threshold_percent: over
                .image_gc_high_threshold_percent
                .or(self.image_gc_high_threshold_percent),
            image_gc_low_threshold_percent: over
                .image_gc_low_threshold_percent
                .or(self.image_gc_low_threshold_percent),
            shutdown_grace_period: over.shutdown_grace_period.or(self.shutdown_grace_period),
            serialize_image_pulls: over.serialize_image_pulls.or(self.serialize_image_pulls),
            server_tls_bootstrap: over.server_tls_bootstrap.or(self.server_tls_bootstrap),
            fail_swap_on: over.fail_swap_on.or(self.fail_swap_on),
            allowed_unsafe_sysctls: if over.allowed_unsafe_sysctls.is_empty() {
                self.allowed_unsafe_sysctls.clone()
            } else {
                over.allowed_unsafe_sysctls.clone()
            },
            feature_gates: merge(&self.feature_gates, &over.feature_gates),
            extra_config: merge_values(&self.extra_config, &over.extra_config),
        }
    }
}

fn merge<V: Clone>(base: &BTreeMap<String, V>, over: &BTreeMap<String, V>) -> BTreeMap<String, V> {
    base.iter().chain(over).map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn merge_values(base: &serde_json::Value, over: &serde_json::Value) -> serde_json::Value {
    match (base, over) {
        (serde_json::Value::Object(base), serde_json::Value::Object(over)) => {
            let mut merged = base.clone();
            merged.extend(over.clone());
            serde_json::Value::Object(merged)
        }
        (base, serde_json::Value::Null) => base.clone(),
        (_, over) => over.clone(),
    }
}
