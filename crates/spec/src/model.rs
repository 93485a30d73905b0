//! The one internal type to which every versioned kind of document converts, with every default explicit.
//!
//! Providers do not receive it: [`Cluster::to_provider`] converts it into the message of the provider contract, field by
//! field. The JSON of a group is spelled like the same group of the newest document version, so that
//! `slipway spec show --full` prints the model itself. A field that is `Option` here has no default: absent means
//! that there is none, or that the provider decides.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::value::KubernetesVersion;

mod addon;
mod audit;
mod authentication;
mod component;
mod control_plane;
mod encryption;
mod etcd;
mod gate;
mod host;
mod kubelet;
mod lifecycle;
mod network;
mod node;
mod pod_security;
mod pool;
mod runtime;
mod ssh;

pub use addon::{Addon, Manifest};
pub use audit::Audit;
pub use authentication::{Authentication, OpenIdConnect, ServiceAccounts};
pub use component::{Component, ComponentName, Resources};
pub use control_plane::{
    AccessLog, Bgp, BgpPeer, BrokenGate, ControlPlane, Dns, DnsKind, Endpoint, GivenEndpoint, Hosting,
    LoadBalancer, Scheme, VirtualIp, VirtualIpHolder, VirtualIpMode, Wireguard,
};
pub use encryption::{AtRest, AtRestProvider, Encryption};
pub use etcd::{EtcdBackups, EtcdCluster, EtcdMember};
pub use gate::{Gate, GateObjects, GateQuery};
pub use host::{AddressRule, Host, HostAddressEntry, HostAddressType, HostAgent, HostSsh};
pub use kubelet::{Eviction, KUBELET_SYSCTLS, Kubelet};
pub use lifecycle::{IgnoredChange, Import, Moved, Removed};
pub use network::{Cni, Egress, IpFamily, Network, ProxyMode, Route, Subnet, SubnetKind, Topology};
pub use node::{FileAsset, Hook, HookTiming, NodeFiles, Taint, TaintEffect};
pub use pod_security::{PodSecurity, PodSecurityLevel};
pub use pool::{
    Architecture, Budgets, Drain, HostAddress, HostSelection, MixedInstances, NodePool, OnBlocked, Role,
    Rollout, Size, Spot, Strategy, UserData, UserDataType, Volume, WarmPool,
};
pub use runtime::{
    Assets, ContainerRuntime, EgressProxy, ProgramFile, ProgramName, Programs, RegistryMirror,
};
pub use ssh::Ssh;

/// A cluster as it is wanted, complete: nothing in it is left to a default that is applied later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cluster {
    /// The cluster's name, a DNS name; unique in a state store, and never its identity.
    pub name: String,
    /// Labels by which people and tools select clusters. They reach neither the cloud nor Kubernetes.
    pub labels: BTreeMap<String, String>,
    /// Which set of defaults was applied.
    pub profile: Profile,
    /// The provider that the cluster lives on.
    pub provider: ProviderSelection,
    /// The Kubernetes release of the control plane.
    pub kubernetes_version: KubernetesVersion,
    /// The earlier release that the control plane emulates, in the first stage of a reversible upgrade. Kubelets, kube-proxy and etcd
    /// are not newer. No document has this field: an upgrade sets it, and the state keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulated_version: Option<KubernetesVersion>,
    /// The release from which a broken gate has taken an upgrade back. Files that still have it do not begin the upgrade again. No
    /// document has this field: the state keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turned_back_from: Option<KubernetesVersion>,
    /// The provider's region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The failure domains that the cluster spreads over, in order.
    pub zones: Vec<String>,
    /// The networks of nodes, pods and services.
    pub network: Network,
    /// How the API server is reached, and by whom.
    pub control_plane: ControlPlane,
    /// The etcd clusters, `main` first.
    pub etcd: Vec<EtcdCluster>,
    /// Settings of the Kubernetes components, by component.
    pub components: BTreeMap<ComponentName, Component>,
    /// The kubelet's settings on every node; a pool's own settings were merged over them into the pool.
    pub kubelet: Kubelet,
    /// The container runtime's settings on every node.
    pub container_runtime: ContainerRuntime,
    /// What is installed in the cluster, in the order of its names.
    pub addons: Vec<Addon>,
    /// Who users are.
    pub authentication: Authentication,
    /// The issuer of service-account tokens.
    pub service_accounts: ServiceAccounts,
    /// Encryption of what the API server stores.
    pub encryption: Encryption,
    /// The API server's audit log.
    pub audit: Audit,
    /// The Pod Security Standards of namespaces without labels of their own; absent leaves the choice to Kubernetes, which
    /// enforces none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_security: Option<PodSecurity>,
    /// Who may log in to nodes.
    pub ssh: Ssh,
    /// Files and units on every node.
    pub node_files: NodeFiles,
    /// Kernel parameters on every node, by name.
    pub sysctls: BTreeMap<String, String>,
    /// Where images and files are fetched from.
    pub assets: Assets,
    /// The proxy through which nodes reach the outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub egress_proxy: Option<EgressProxy>,
    /// Tags on every cloud resource of the cluster.
    pub cloud_labels: BTreeMap<String, String>,
    /// While set, `delete` refuses.
    pub deletion_protection: bool,
    /// Attributes that another tool manages, in the order of the documents.
    pub ignore_changes: Vec<IgnoredChange>,
    /// Resources that go by a new name, in the order of the documents.
    pub moved: Vec<Moved>,
    /// Resources that leave the state and whose objects are kept, in the order of the documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<Removed>,
    /// Existing objects that the cluster takes over, in the order of the documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub import: Vec<Import>,
    /// The pools of nodes, in the order of their names.
    pub pools: Vec<NodePool>,
    /// The hosts of the inventories that pools select from, in the order of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Host>,
}

/// The set of defaults that a cluster begins with.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Profile {
    /// Slipway's defaults: hardened components, add-ons that most clusters need, etcd backups.
    #[default]
    Slipway,
    /// Only the defaults that kubeadm has too, for clusters that kubeadm made or will manage.
    Kubeadm,
    /// Slipway's defaults, and settings that pass the CIS Kubernetes Benchmark. Only for machines that exist already.
    Hardened,
}

impl Profile {
    /// Whether the profile has defaults of Slipway's own, and not only those of kubeadm.
    #[must_use]
    pub const fn has_own_defaults(self) -> bool {
        !matches!(self, Self::Kubeadm)
    }
}

/// The provider that a cluster lives on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderSelection {
    /// The provider's name, as in `slipway-provider-<name>`.
    pub name: String,
    /// The provider's own settings, such as an account or a profile; checked by the provider's schema.
    #[serde(default)]
    #[schemars(schema_with = "crate::model::opaque")]
    pub config: serde_json::Value,
}

/// The schema of settings that another schema checks: any value.
pub(crate) fn opaque(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "x-slipway-opaque": true })
}

/// The schema of one IP address.
pub(crate) fn address_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "string", "format": crate::value::Format::Ip.name() })
}

impl Cluster {
    /// The message that providers receive: [`slipway_cluster_input::ClusterInput`] as JSON.
    ///
    /// # Errors
    /// A value that JSON cannot express, which the model does not have.
    pub fn to_provider(&self) -> Result<serde_json::Value, serde_json::Error> {
        slipway_cluster_input::ClusterInput::from(self).to_json()
    }

    /// The pool with this name.
    #[must_use]
    pub fn pool(&self, name: &str) -> Option<&NodePool> {
        self.pools.iter().find(|pool| pool.name == name)
    }

    /// The pools with this role, in the order of their names.
    pub fn pools_with(&self, role: Role) -> impl Iterator<Item = &NodePool> {
        self.pools.iter().filter(move |pool| pool.role == role)
    }

    /// The hosts of the inventories, and those that pools list by address.
    #[must_use]
    pub fn all_hosts(&self) -> Vec<Host> {
        let mut hosts = self.hosts.clone();
        let listed =
            self.pools.iter().flat_map(|pool| &pool.hosts).flat_map(|selection| &selection.addresses);
        for host in listed {
            if hosts.iter().all(|known| known.name != host.name) {
                hosts.push(host.to_host());
            }
        }
        hosts
    }

    /// The subnet with this name.
    #[must_use]
    pub fn subnet(&self, name: &str) -> Option<&Subnet> {
        self.network.subnets.iter().find(|subnet| subnet.name == name)
    }

    /// The settings of a component; empty when the documents say nothing about it.
    #[must_use]
    pub fn component(&self, name: ComponentName) -> Component {
        self.components.get(&name).cloned().unwrap_or_default()
    }
}
