use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    model::{
        Architecture, Drain, HostSelection, Kubelet, MixedInstances, NodeFiles, Role, Size, Spot, Strategy,
        Taint, UserData, Volume, WarmPool,
    },
    value::{Amount, Duration, KubernetesVersion},
};

/// Nodes that are made alike and change together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "NodePool")]
pub struct NodePoolDocument {
    /// `slipway.dev/v1alpha1`.
    #[schemars(extend("const" = super::API_VERSION))]
    pub api_version: String,
    /// `NodePool`.
    #[schemars(extend("const" = "NodePool"))]
    pub kind: String,
    /// What the pool is called.
    pub metadata: NodePoolMetadata,
    /// The desired configuration of the pool.
    #[serde(default)]
    pub spec: NodePoolSpec,
}

/// What a pool is called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodePoolMetadata {
    /// The pool's name, a DNS label; unique in its cluster.
    pub name: String,
    /// Labels by which people and tools select pools. They reach neither the cloud nor Kubernetes.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

/// The desired configuration of a pool.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NodePoolSpec {
    /// The cluster that the pool belongs to. Default: the only cluster that is loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// What the nodes do.
    pub role: Role,
    /// How many nodes there are. Default: one for each listed host, or one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// The Kubernetes release of the nodes. Default: the cluster's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<KubernetesVersion>,
    /// The kind of machine, by the provider's name; absent on hosts that already exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_type: Option<String>,
    /// The processor architecture.
    pub architecture: Architecture,
    /// The operating system's image, by the provider's id or name; absent takes the catalog's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Several kinds of machine in one pool; absent makes all of `machineType`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixed_instances: Option<MixedInstances>,
    /// Machines that the cloud may take back; absent makes none of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spot: Option<Spot>,
    /// The disk that the node boots from.
    pub root_volume: Volume,
    /// Further disks.
    pub volumes: Vec<Volume>,
    /// The subnets that the nodes live in, by name. Default: the cluster's private subnets, in a public topology the
    /// public ones, for a bastion the utility or public ones; of the pool's zones only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnets: Option<Vec<String>>,
    /// The zones that the nodes live in. Default: those of the subnets, or all of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zones: Option<Vec<String>>,
    /// Whether nodes have public addresses. Default: in a public topology, and for a bastion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_ip: Option<bool>,
    /// Existing security groups to add, by the provider's id.
    pub additional_security_groups: Vec<String>,
    /// Labels of the Kubernetes nodes.
    pub node_labels: BTreeMap<String, String>,
    /// Taints of the Kubernetes nodes. Default: none; for control planes that are not schedulable the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taints: Option<Vec<Taint>>,
    /// The kubelet's settings, over the cluster's.
    pub kubelet: Kubelet,
    /// How nodes are replaced, over the cluster's settings.
    pub rollout: RolloutSpec,
    /// Machines that are kept ready, stopped; absent keeps none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_pool: Option<WarmPool>,
    /// The existing hosts that become nodes, on providers that make no machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<HostSelection>,
    /// What else runs at the first boot, in order.
    pub user_data: Vec<UserData>,
    /// Packages to install, beside those that Slipway needs.
    pub packages: Vec<String>,
    /// Kernel parameters, by name, over the cluster's.
    pub sysctls: BTreeMap<String, String>,
    /// Files and units, beside the cluster's; one with the same name takes its place.
    pub node_files: NodeFiles,
    /// Tags of the pool's cloud resources, over the cluster's.
    pub cloud_labels: BTreeMap<String, String>,
    /// The provider's own settings of the pool, such as tenancy or an instance profile; checked by its schema.
    #[schemars(schema_with = "crate::model::opaque")]
    pub provider_config: serde_json::Value,
}

/// How nodes are replaced.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RolloutSpec {
    /// How changes of settings reach nodes: `replace` replaces the nodes, `inPlaceOrReplace` changes running nodes where that is
    /// possible, and `inPlace` refuses a plan that would replace one. Default: `replace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// How many nodes may be added beyond the size; a percentage is rounded up. Default: 1 for workers on machines that
    /// the provider makes, else 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<Amount>,
    /// How many nodes may be missing; a percentage is rounded down. Default: 0 where nodes are added, else 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<Amount>,
    /// How nodes are drained before they are removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<Drain>,
    /// How long a new node may take to become ready. Default: 15m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_timeout: Option<Duration>,
    /// How long to wait after a node became ready before the next one. Default: 15s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settle: Option<Duration>,
}
