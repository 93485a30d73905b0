//! ElementalMachine and its template.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use slipway_controller::kube::CustomResource;

use super::common::{Initialization, MachineAddress, ObjectReference};

/// The infrastructure of a machine: one host of the inventory.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "ElementalMachine",
    namespaced,
    status = "ElementalMachineStatus",
    category = "cluster-api",
    doc = "ElementalMachine is the infrastructure of a machine: one host of the inventory.",
    printcolumn = r#"{"name": "Cluster", "type": "string", "jsonPath": ".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']"}"#,
    printcolumn = r#"{"name": "Host", "type": "string", "jsonPath": ".spec.hostRef.name"}"#,
    printcolumn = r#"{"name": "ProviderID", "type": "string", "jsonPath": ".spec.providerID"}"#,
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Ready')].status"}"#,
    printcolumn = r#"{"name": "Reason", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Ready')].reason"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    crates(
        kube_core = "::slipway_controller::kube::core",
        k8s_openapi = "::slipway_controller::k8s_openapi"
    )
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "!has(oldSelf.providerID) || has(self.providerID) && self.providerID == oldSelf.providerID",
     "message": "providerID is immutable"}]))]
pub struct ElementalMachineSpec {
    /// Provider id of the Node, `elemental://<namespace>/<host>`. The controller sets it.
    #[serde(rename = "providerID", default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub provider_id: Option<String>,
    /// Hosts that the machine may claim. Without a selector, it may claim every host of its namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::common::label_selector")]
    pub selector: Option<LabelSelector>,
    /// The host of the machine. The controller sets it before it claims the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_ref: Option<ObjectReference>,
}

/// Status of an ElementalMachine.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ElementalMachineStatus {
    /// Whether the machine is provisioned, in version v1beta1 of the contract.
    #[serde(default)]
    pub ready: bool,
    /// The same, in version v1beta2 of the contract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialization: Option<Initialization>,
    /// Addresses of the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<MachineAddress>,
    /// Failure domain of the host: its label `topology.kubernetes.io/zone`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// Reason of a failure that ends only with the machine, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// Description of that failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,
    /// Conditions of the object.
    #[serde(default)]
    #[schemars(schema_with = "super::common::conditions")]
    pub conditions: Vec<Condition>,
}

/// A template of ElementalMachines.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "ElementalMachineTemplate",
    namespaced,
    category = "cluster-api",
    doc = "ElementalMachineTemplate is a template of ElementalMachines.",
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    crates(
        kube_core = "::slipway_controller::kube::core",
        k8s_openapi = "::slipway_controller::k8s_openapi"
    )
)]
pub struct ElementalMachineTemplateSpec {
    /// The template.
    pub template: MachineTemplate,
}

/// The objects that are made from a template.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub struct MachineTemplate {
    /// Labels and annotations of the objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::common::template_metadata")]
    pub metadata: Option<serde_json::Value>,
    /// Specification of the objects.
    #[serde(default)]
    pub spec: ElementalMachineSpec,
}
