//! ElementalCluster and its template.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use slipway_controller::kube::CustomResource;

use super::common::{AddressType, Initialization};

/// The infrastructure of a cluster: the endpoint of its control plane.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "ElementalCluster",
    namespaced,
    status = "ElementalClusterStatus",
    category = "cluster-api",
    doc = "ElementalCluster is the infrastructure of a cluster on hosts of the inventory.",
    printcolumn = r#"{"name": "Cluster", "type": "string", "jsonPath": ".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']"}"#,
    printcolumn = r#"{"name": "Endpoint", "type": "string", "jsonPath": ".spec.controlPlaneEndpoint.host"}"#,
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Ready')].status"}"#,
    printcolumn = r#"{"name": "Reason", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Ready')].reason"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    crates(
        kube_core = "::slipway_controller::kube::core",
        k8s_openapi = "::slipway_controller::k8s_openapi"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct ElementalClusterSpec {
    /// Endpoint of the control plane. If its host is blank, a host of the control plane is elected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<Endpoint>,
    /// Rules for the election of the endpoint. They have an effect only while the endpoint is elected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint_election: Option<EndpointElection>,
    /// Runs kube-vip on the machines of the control plane. `controlPlaneEndpoint` must have its virtual address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kube_vip: Option<KubeVip>,
}

/// Settings of kube-vip, which gives the endpoint to one machine of the control plane, by ARP or neighbour discovery.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVip {
    /// Image. The default is that of Slipway's own clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub image: Option<String>,
    /// Network interface that gets the address. The default is that of the default route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub interface: Option<String>,
}

/// An endpoint of an API server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "!has(self.host) || self.host == '' || (has(self.port) && self.port > 0)", "message": "port is required with host"}]))]
pub struct Endpoint {
    /// IP address or DNS name.
    #[serde(default)]
    #[schemars(length(max = 512))]
    pub host: String,
    /// TCP port. With a blank host, the port of the elected endpoint; 0 means 6443.
    #[serde(default)]
    #[schemars(range(min = 0, max = 65535))]
    pub port: i32,
}

/// Rules for the election of the endpoint.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndpointElection {
    /// Candidates. The default is the selector of the control plane's ElementalMachineTemplate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::common::label_selector")]
    pub host_selector: Option<LabelSelector>,
    /// Types of addresses, the preferred one first. The default is InternalIP, ExternalIP, InternalDNS, ExternalDNS,
    /// Hostname.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 5))]
    pub address_types: Vec<AddressType>,
    /// Network in CIDR notation that the address must be in. Names are no candidates then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub cidr: Option<String>,
    /// Network interface that the address must belong to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub interface: Option<String>,
    /// IP family that the address must have. Names are no candidates then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip_family: Option<IpFamily>,
}

/// A family of IP addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum IpFamily {
    /// IP version 4.
    IPv4,
    /// IP version 6.
    IPv6,
}

/// Status of an ElementalCluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct ElementalClusterStatus {
    /// Whether the infrastructure is provisioned, in version v1beta1 of the contract.
    #[serde(default)]
    pub ready: bool,
    /// The same, in version v1beta2 of the contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization: Option<Initialization>,
    /// Conditions of the object.
    #[serde(default)]
    #[schemars(schema_with = "super::common::conditions")]
    pub conditions: Vec<Condition>,
}

/// A template of ElementalClusters, for a ClusterClass.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "ElementalClusterTemplate",
    namespaced,
    category = "cluster-api",
    doc = "ElementalClusterTemplate is a template of ElementalClusters, for a ClusterClass.",
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    crates(
        kube_core = "::slipway_controller::kube::core",
        k8s_openapi = "::slipway_controller::k8s_openapi"
    )
)]
pub struct ElementalClusterTemplateSpec {
    /// The template.
    pub template: ClusterTemplate,
}

/// The objects that are made from a template.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub struct ClusterTemplate {
    /// Labels and annotations of the objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::common::template_metadata")]
    pub metadata: Option<serde_json::Value>,
    /// Specification of the objects.
    #[serde(default)]
    pub spec: ElementalClusterSpec,
}
