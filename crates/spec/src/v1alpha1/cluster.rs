use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NetworkSpec, RolloutSpec};
use crate::{
    model::{
        Addon, Assets, Authentication, BrokenGate, Component, ComponentName, ContainerRuntime, Dns,
        EgressProxy, Encryption, Endpoint, EtcdBackups, Gate, Hosting, IgnoredChange, Import, Kubelet, Moved,
        NodeFiles, PodSecurity, Profile, ProviderSelection, Removed, Ssh, Volume,
    },
    value::{AccessSource, Duration, KubernetesVersion, Quantity},
};

/// The desired configuration of a Kubernetes cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "Cluster")]
pub struct ClusterDocument {
    /// `slipway.dev/v1alpha1`.
    #[schemars(extend("const" = super::API_VERSION))]
    pub api_version: String,
    /// `Cluster`.
    #[schemars(extend("const" = "Cluster"))]
    pub kind: String,
    /// What the cluster is called.
    pub metadata: ClusterMetadata,
    /// The desired configuration of the cluster.
    pub spec: ClusterSpec,
}

/// What a cluster is called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterMetadata {
    /// The cluster's name, a DNS name; unique in a state store, and never its identity.
    pub name: String,
    /// Labels by which people and tools select clusters. They reach neither the cloud nor Kubernetes.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

/// The desired configuration of a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterSpec {
    /// The set of defaults to begin with.
    #[serde(default)]
    pub profile: Profile,
    /// The provider that the cluster lives on.
    pub provider: ProviderSelection,
    /// The Kubernetes release, with all three numbers. There is no default, so that an upgrade is always your decision.
    pub kubernetes_version: KubernetesVersion,
    /// The provider's region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The failure domains to spread over, in order. Default: the zones of the subnets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<Vec<String>>,
    /// The networks of nodes, pods and services.
    #[serde(default)]
    pub network: NetworkSpec,
    /// How the API server is reached, and by whom.
    #[serde(default)]
    pub control_plane: ControlPlaneSpec,
    /// The etcd clusters. Default: `main` and `events`, with a member for each control-plane node; in the profile
    /// `kubeadm` only `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd: Option<Vec<EtcdClusterSpec>>,
    /// Settings of the Kubernetes components, by component.
    #[serde(default)]
    #[schemars(schema_with = "components")]
    pub components: BTreeMap<ComponentName, Component>,
    /// The kubelet's settings on every node.
    #[serde(default)]
    pub kubelet: Kubelet,
    /// The container runtime's settings on every node.
    #[serde(default)]
    pub container_runtime: ContainerRuntime,
    /// What is installed in the cluster, beside the profile's own: `coredns`, and in the profiles `slipway` and
    /// `hardened` also `metrics-server`.
    #[serde(default)]
    pub addons: Vec<Addon>,
    /// Who users are.
    #[serde(default)]
    pub authentication: Authentication,
    /// The issuer of service-account tokens.
    #[serde(default)]
    pub service_accounts: ServiceAccountsSpec,
    /// Encryption of what the API server stores. Default: `secretbox` with a generated key; in the profile `kubeadm`
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<Encryption>,
    /// The API server's audit log. Default: on; in the profile `kubeadm` off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditSpec>,
    /// The Pod Security Standards of namespaces without labels of their own. Default: in the profile `hardened`
    /// `baseline`, with warnings for `restricted`; else none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_security: Option<PodSecurity>,
    /// Who may log in to nodes.
    #[serde(default)]
    pub ssh: Ssh,
    /// Files and units on every node.
    #[serde(default)]
    pub node_files: NodeFiles,
    /// Kernel parameters on every node, by name.
    #[serde(default)]
    pub sysctls: BTreeMap<String, String>,
    /// Where images and files are fetched from.
    #[serde(default)]
    pub assets: Assets,
    /// The proxy through which nodes reach the outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub egress_proxy: Option<EgressProxy>,
    /// Tags on every cloud resource of the cluster.
    #[serde(default)]
    pub cloud_labels: BTreeMap<String, String>,
    /// While set, `delete` refuses.
    #[serde(default)]
    pub deletion_protection: bool,
    /// Attributes that another tool manages: differences in them are shown, and never planned.
    #[serde(default)]
    pub ignore_changes: Vec<IgnoredChange>,
    /// Resources that have a new name. Their records move to it. The new name alone changes no object.
    #[serde(default)]
    pub moved: Vec<Moved>,
    /// Resources that leave the state when the spec does not contain them any more. Their objects are kept.
    #[serde(default)]
    pub removed: Vec<Removed>,
    /// Existing objects that become the objects of resources of the spec, instead of new ones.
    #[serde(default)]
    pub import: Vec<Import>,
    /// How nodes are replaced in every pool that does not say otherwise.
    #[serde(default)]
    pub rollout: RolloutSpec,
}

/// The schema of `components`: one property per component, so that editors and messages know them.
fn components(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let component = generator.subschema_for::<Component>();
    let properties: serde_json::Map<String, serde_json::Value> = ComponentName::ALL
        .into_iter()
        .map(|name| (name.as_str().to_owned(), component.clone().to_value()))
        .collect();
    schemars::json_schema!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// How the API server is reached, and by whom.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ControlPlaneSpec {
    /// The address under which nodes and users reach the API servers. Default: a public load balancer where the
    /// cluster has zones, else an elected host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// Whether the kubelet, kube-proxy, the controller manager and the scheduler of every node reach the API servers through a
    /// balancer on their own node, in place of one address for all nodes. Only on machines of `Host` documents. Default: an
    /// existing cluster stays as it is; a new one has balancers if its profile is `slipway`, its endpoint is elected or held by
    /// Slipway, and it has several control planes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_local_balancer: Option<bool>,
    /// What runs the API server, the controller manager and the scheduler. `selfHosted` only on machines of `Host` documents, and not
    /// with `profile: kubeadm`.
    #[serde(skip_serializing_if = "Hosting::is_default")]
    #[schemars(extend("default" = "staticPods"))]
    pub hosting: Hosting,
    /// How long a new minor version emulates the one before until the upgrade can be finalised. With it, each change of
    /// `kubernetesVersion` to another minor version has a way back. Only on machines of `Host` documents. Default: none,
    /// and such a change has no way back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soak: Option<Duration>,
    /// What happens if a gate does not hold while the control plane emulates the version before. Only on machines of `Host`
    /// documents. Default: `stop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_broken_gate: Option<BrokenGate>,
    /// Conditions that must be true before a plan changes the version of the cluster or replaces machines, and until an upgrade is
    /// finalised.
    pub gates: Vec<Gate>,
    /// The DNS records of the endpoint.
    pub dns: Dns,
    /// Further names and addresses in the API server's certificate.
    pub additional_sans: Vec<String>,
    /// Who may reach the API server: address ranges and prefix lists. Default: everybody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Vec<AccessSource>>,
    /// Whether ordinary pods may run on control-plane nodes.
    pub schedulable: bool,
}

/// One etcd cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EtcdClusterSpec {
    /// `main` for everything, `events` for events.
    pub name: String,
    /// The members, an odd number. Default: one for each control-plane node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<Vec<EtcdMemberSpec>>,
    /// The etcd release; absent takes the one that belongs to the Kubernetes release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Backups of the data. Default: every 15 minutes, kept for 90 days; in the profile `kubeadm` none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backups: Option<EtcdBackups>,
    /// The CPU that a member asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_request: Option<Quantity>,
    /// The memory that a member asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_request: Option<Quantity>,
}

/// One member of an etcd cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EtcdMemberSpec {
    /// The member's name; unique in its etcd cluster.
    pub name: String,
    /// The control-plane pool on whose nodes it runs.
    pub pool: String,
    /// The subnet it stays in, because its volume cannot leave a zone. Default: the pool's subnets in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnet: Option<String>,
    /// The volume that holds its data. Default: 20 GiB where the cluster has zones, else the host's own disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
}

/// The API server's audit log.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AuditSpec {
    /// Whether requests are logged. Default: `false`; in the profile `hardened` `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// The audit policy (`audit.k8s.io/v1` Policy). Default: the metadata of every request; in the profile `hardened`
    /// also the bodies of requests that change permissions or enter a container.
    #[serde(skip_serializing_if = "serde_json::Value::is_null")]
    #[schemars(schema_with = "crate::model::opaque")]
    pub policy: serde_json::Value,
    /// The days that a rotated log is kept. Default: 10; in the profile `hardened` 30.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = slipway_limits::count::LOG_DAYS))]
    pub max_age_days: Option<u32>,
    /// The number of rotated logs that are kept. Default: 5; in the profile `hardened` 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = slipway_limits::count::LOG_FILES))]
    pub max_backups: Option<u32>,
    /// The size in MiB at which a log is rotated. Default: 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = slipway_limits::count::LOG_MEBIBYTES))]
    pub max_size_mebibytes: Option<u32>,
}

/// The issuer of service-account tokens.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ServiceAccountsSpec {
    /// The issuer's URL, as it appears in tokens. Default: `https://kubernetes.default.svc.<cluster domain>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The bucket or URL where the issuer's keys are published, so that a cloud can trust tokens of the cluster;
    /// absent publishes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovery_store: Option<String>,
    /// Audiences of tokens beside the issuer.
    pub additional_audiences: Vec<String>,
}
