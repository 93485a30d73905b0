//! ElementalHost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use slipway_controller::kube::CustomResource;

use super::common::{AddressType, ObjectReference};

/// A host of the inventory. Its agent registers it.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "ElementalHost",
    namespaced,
    status = "ElementalHostStatus",
    category = "cluster-api",
    doc = "ElementalHost is a host of the inventory, which its agent registers.",
    printcolumn = r#"{"name": "Cluster", "type": "string", "jsonPath": ".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']"}"#,
    printcolumn = r#"{"name": "Machine", "type": "string", "jsonPath": ".spec.machineRef.name"}"#,
    printcolumn = r#"{"name": "Phase", "type": "string", "jsonPath": ".status.phase"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    crates(
        kube_core = "::slipway_controller::kube::core",
        k8s_openapi = "::slipway_controller::k8s_openapi"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct ElementalHostSpec {
    /// The secret with the bootstrap data of the machine that has claimed the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap_secret: Option<ObjectReference>,
    /// The ElementalMachine that has claimed the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_ref: Option<ObjectReference>,
    /// Public key of the host, Ed25519 in PEM (`SubjectPublicKeyInfo`, RFC 8410).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub pub_key: Option<String>,
    /// The ElementalCluster whose endpoint is an address of this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint_reservation: Option<EndpointReservation>,
    /// Endpoint that the bootstrap data was made for, `host:port`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<String>,
    /// Virtual address that the host shares with the other machines of its control plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_address: Option<VirtualAddress>,
}

/// The virtual address of a control plane, and the kube-vip that has it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct VirtualAddress {
    /// IP address or DNS name.
    #[schemars(length(min = 1, max = 512))]
    pub address: String,
    /// TCP port of the API server.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// Image of kube-vip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Network interface that gets the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
}

/// The cluster whose endpoint is an address of a host.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct EndpointReservation {
    /// Name of the ElementalCluster.
    pub name: String,
    /// UID of the ElementalCluster.
    pub uid: String,
}

/// Status of an ElementalHost. Its agent reports it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct ElementalHostStatus {
    /// What the agent does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Addresses of the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<HostAddress>,
    /// Conditions of the object.
    #[serde(default)]
    #[schemars(schema_with = "super::common::conditions")]
    pub conditions: Vec<Condition>,
}

/// What the agent of a host does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum Phase {
    /// The agent registers the host.
    Registering,
    /// The agent waits for work.
    Running,
    /// The agent runs the bootstrap data.
    Bootstrapping,
    /// The agent resets the host.
    Resetting,
}

/// An address of a host.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostAddress {
    /// Type of the address.
    #[serde(rename = "type")]
    pub kind: AddressType,
    /// The address.
    #[schemars(length(min = 1, max = 256))]
    pub address: String,
    /// Network interface of the address; absent for names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub interface: Option<String>,
}
