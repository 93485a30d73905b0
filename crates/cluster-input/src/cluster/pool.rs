use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Kubelet, NodeFiles, Taint};
use crate::value::KubernetesVersion;

mod host;
mod machine;
mod rollout;
mod size;
mod volume;

pub use host::{HostAddress, HostSelection};
pub use machine::{Architecture, MixedInstances, Spot, UserData, UserDataType};
pub use rollout::{Budgets, Drain, OnBlocked, Rollout, Strategy};
pub use size::{Size, WarmPool};
pub use volume::Volume;

/// Nodes that are made alike and change together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePool {
    /// The pool's name, a DNS label; unique in its cluster.
    pub name: String,
    /// Labels by which people and tools select pools. They reach neither the cloud nor Kubernetes.
    pub labels: BTreeMap<String, String>,
    /// What the nodes do.
    pub role: Role,
    /// How many nodes there are.
    pub size: Size,
    /// The Kubernetes release of the nodes.
    pub kubernetes_version: KubernetesVersion,
    /// The kind of machine, by the provider's name; absent on hosts that already exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_type: Option<String>,
    /// The processor architecture.
    pub architecture: Architecture,
    /// The operating system's image, by the provider's id or name; absent takes the catalog's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Several kinds of machine in one pool; absent makes all of `machineType`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mixed_instances: Option<MixedInstances>,
    /// Machines that the cloud may take back; absent makes none of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spot: Option<Spot>,
    /// The disk that the node boots from.
    pub root_volume: Volume,
    /// Further disks, in the order of the spec.
    pub volumes: Vec<Volume>,
    /// The subnets that the nodes live in, by name, in order; empty on providers without subnets.
    pub subnets: Vec<String>,
    /// The zones that the nodes live in, in order: those of the subnets.
    pub zones: Vec<String>,
    /// Whether nodes have public addresses.
    pub public_ip: bool,
    /// Existing security groups to add, by the provider's id.
    pub additional_security_groups: Vec<String>,
    /// Labels of the Kubernetes nodes.
    pub node_labels: BTreeMap<String, String>,
    /// Taints of the Kubernetes nodes.
    pub taints: Vec<Taint>,
    /// The kubelet's settings: the cluster's with the pool's own over them.
    pub kubelet: Kubelet,
    /// How nodes are replaced.
    pub rollout: Rollout,
    /// Machines that are kept ready, stopped; absent keeps none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_pool: Option<WarmPool>,
    /// The existing hosts that become nodes, on providers that make no machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<HostSelection>,
    /// What else runs at the first boot, in the order of the spec.
    pub user_data: Vec<UserData>,
    /// Packages to install, beside those that Slipway needs.
    pub packages: Vec<String>,
    /// Kernel parameters, by name: the cluster's with the pool's own over them.
    pub sysctls: BTreeMap<String, String>,
    /// Files and units: the cluster's, then the pool's own.
    pub node_files: NodeFiles,
    /// Tags of the pool's cloud resources: the cluster's with the pool's own over them.
    pub cloud_labels: BTreeMap<String, String>,
    /// The provider's own settings of the pool, such as tenancy or an instance profile; checked by its schema.
    #[schemars(schema_with = "crate::schema::opaque")]
    pub provider_config: serde_json::Value,
}

/// What the nodes of a pool do.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// Run the API server, the controllers, and etcd.
    ControlPlane,
    /// Run pods.
    #[default]
    Worker,
    /// Run further API servers, without etcd.
    ApiServer,
    /// Let operators in; not a node of the cluster.
    Bastion,
}

impl Role {
    /// The name in the JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ControlPlane => "controlPlane",
            Self::Worker => "worker",
            Self::ApiServer => "apiServer",
            Self::Bastion => "bastion",
        }
    }

    /// Whether its machines join the cluster as Kubernetes nodes.
    #[must_use]
    pub const fn is_node(self) -> bool {
        !matches!(self, Self::Bastion)
    }
}
