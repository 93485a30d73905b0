use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Gate;
use crate::value::{AccessSource, Duration, SecretReference};

/// How the API server is reached, and by whom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ControlPlane {
    /// The address under which nodes and users reach the API servers.
    #[serde(default)]
    pub endpoint: Endpoint,
    /// Whether the kubelet, kube-proxy, the controller manager and the scheduler of every node reach the API servers through a
    /// balancer on their own node, in place of one address for all nodes. Only on machines of `Host` documents. `None` leaves a
    /// cluster as it is; a new one has balancers if it has several control planes and an endpoint that one of them has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_local_balancer: Option<bool>,
    /// What runs the API server, the controller manager and the scheduler. `selfHosted` only on machines of `Host` documents, and not
    /// with `profile: kubeadm`.
    #[serde(default, skip_serializing_if = "Hosting::is_default")]
    pub hosting: Hosting,
    /// How long a new minor version emulates the one before until the upgrade can be finalised. With it, each change of
    /// `kubernetesVersion` to another minor version has a way back. Only on machines of `Host` documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak: Option<Duration>,
    /// What happens if a gate does not hold while the control plane emulates the version before. Only on machines of `Host`
    /// documents. `None` is the same as `stop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_broken_gate: Option<BrokenGate>,
    /// Conditions that must be true before a plan changes the version of the cluster or replaces machines, and until an upgrade is
    /// finalised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
    /// The DNS records of the endpoint.
    #[serde(default)]
    pub dns: Dns,
    /// Further names and addresses in the API server's certificate.
    #[serde(default)]
    pub additional_sans: Vec<String>,
    /// Who may reach the API server: address ranges and prefix lists.
    #[serde(default = "anywhere")]
    pub access: Vec<AccessSource>,
    /// Whether ordinary pods may run on control-plane nodes.
    #[serde(default)]
    pub schedulable: bool,
}

impl Default for ControlPlane {
    fn default() -> Self {
        Self {
            endpoint: Endpoint::default(),
            node_local_balancer: None,
            hosting: Hosting::default(),
            soak: None,
            on_broken_gate: None,
            gates: Vec::new(),
            dns: Dns::default(),
            additional_sans: Vec::new(),
            access: anywhere(),
            schedulable: false,
        }
    }
}

fn anywhere() -> Vec<AccessSource> {
    ["0.0.0.0/0", "::/0"].iter().filter_map(|range| range.parse().ok()).collect()
}

/// What happens if a gate does not hold while a control plane emulates the version before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum BrokenGate {
    /// The upgrade cannot be finalised until it holds.
    Stop,
    /// The next apply takes the upgrade back to the version before. Only `slipway upgrade --to` begins the upgrade again.
    Back,
}

/// What runs the API server, the controller manager and the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Hosting {
    /// The kubelet of each control plane, from manifests on its disk.
    #[default]
    StaticPods,
    /// DaemonSets of the cluster itself. Each control plane keeps manifests on its disk, from which it starts while these do not run.
    SelfHosted,
}

impl Hosting {
    /// Whether it is the default, which is not written.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The control plane's endpoint. In documents a mapping with exactly one key: `endpoint: { elected: {} }`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Endpoint {
    /// An address that is managed outside of Slipway.
    Given(GivenEndpoint),
    /// A load balancer that the provider makes.
    LoadBalancer(LoadBalancer),
    /// An address that the control-plane nodes hand over among themselves.
    VirtualIp(VirtualIp),
    /// No address of its own: one control-plane host is elected before they bootstrap, and the endpoint moves when
    /// that host goes.
    Elected {},
}

impl Default for Endpoint {
    fn default() -> Self {
        Self::LoadBalancer(LoadBalancer::default())
    }
}

/// An endpoint that is managed outside of Slipway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GivenEndpoint {
    /// A DNS name or an address, without scheme and port.
    pub host: String,
    /// The port, 1 to 65535.
    #[serde(default = "api_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: u16,
}

const fn api_port() -> u16 {
    6443
}

/// A load balancer in front of the API servers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LoadBalancer {
    /// Whether it has public addresses.
    pub scheme: Scheme,
    /// Whether it sends requests to API servers in other zones too.
    pub cross_zone: bool,
    /// The certificate that it presents to users instead of the API server's, by the provider's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// The TLS policy of the listener with that certificate, by the provider's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_policy: Option<String>,
    /// The subnets it lives in; empty lets the provider choose one per zone by the scheme.
    pub subnets: Vec<String>,
    /// Existing security groups to add, by the provider's id.
    pub additional_security_groups: Vec<String>,
    /// How long it keeps an idle connection; absent keeps the provider's time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<crate::value::Duration>,
    /// Where it logs requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_log: Option<AccessLog>,
}

/// Whether something is reachable from the outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Scheme {
    /// Public addresses.
    #[default]
    Public,
    /// Addresses of the nodes' network only.
    Internal,
}

/// Where a load balancer logs requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AccessLog {
    /// The bucket.
    pub bucket: String,
    /// The prefix inside the bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
}

/// A virtual address that the control-plane nodes hand over among themselves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VirtualIp {
    /// The address. No other machine may use it.
    #[schemars(schema_with = "crate::model::address_schema")]
    pub address: IpAddr,
    /// The program that hands it over among the control-plane nodes.
    #[serde(default, skip_serializing_if = "VirtualIpHolder::is_default")]
    pub holder: VirtualIpHolder,
    /// How the network learns which node holds it.
    #[serde(default)]
    pub mode: VirtualIpMode,
    /// The interface that carries it; absent takes the one with the default route, or with `holder: slipway` the one with the
    /// address of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The port, 1 to 65535.
    #[serde(default = "api_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: u16,
    /// The routers that receive the route of the address. The mode `bgp` needs them; no other mode has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bgp: Option<Bgp>,
    /// The tunnels; needed by the mode `wireguard` and by no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wireguard: Option<Wireguard>,
    /// The image of kube-vip; absent takes a known one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// Announcing a virtual address to routers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bgp {
    /// The autonomous system of the nodes.
    #[serde(default = "private_system")]
    pub autonomous_system: u32,
    /// The routers.
    pub peers: Vec<BgpPeer>,
}

/// A router.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BgpPeer {
    /// Its address.
    #[schemars(schema_with = "crate::model::address_schema")]
    pub address: IpAddr,
    /// Its autonomous system.
    #[serde(default = "private_system")]
    pub autonomous_system: u32,
    /// Whether it is more than one hop away.
    #[serde(default)]
    pub multihop: bool,
}

/// The first of the systems for private use, and kube-vip's default.
fn private_system() -> u32 {
    65_000
}

/// Tunnels to WireGuard servers that forward to the node that holds a virtual address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Wireguard {
    /// The tunnels as kube-vip reads them from its Secret, a YAML mapping by interface; private keys are in it.
    pub tunnels: SecretReference,
}

/// The program that hands a virtual address over among the control-plane nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum VirtualIpHolder {
    /// kube-vip.
    #[default]
    KubeVip,
    /// A service of Slipway on each control plane. Only on machines of `Host` documents, and only with the mode `arp`.
    Slipway,
}

impl VirtualIpHolder {
    /// Whether it is the default, which is not written.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How the network learns which node holds a virtual address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum VirtualIpMode {
    /// Gratuitous ARP or neighbour advertisements on one layer-2 network.
    #[default]
    Arp,
    /// BGP announcements to the routers.
    Bgp,
    /// A WireGuard tunnel.
    Wireguard,
}

/// The DNS records of the endpoint.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Dns {
    /// Whether records are made, and where they are seen.
    pub kind: DnsKind,
    /// The zone, by name or by the provider's id; needed unless the kind is `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
}

/// Whether DNS records are made, and where they are seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DnsKind {
    /// No records: the endpoint's own address or name is used.
    #[default]
    None,
    /// Records in a public zone.
    Public,
    /// Records in a zone that only the nodes' network sees.
    Private,
}
