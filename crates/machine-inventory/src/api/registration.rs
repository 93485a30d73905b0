//! ElementalRegistration.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use slipway_controller::kube::CustomResource;

use super::common::ObjectReference;

/// A way to register hosts: a token, and the labels of the hosts.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "ElementalRegistration",
    namespaced,
    status = "ElementalRegistrationStatus",
    category = "cluster-api",
    doc = "ElementalRegistration lets hosts register: it has their token and their labels.",
    printcolumn = r#"{"name": "URI", "type": "string", "jsonPath": ".spec.config.elemental.registration.uri"}"#,
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Ready')].status"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    crates(
        kube_core = "::slipway_controller::kube::core",
        k8s_openapi = "::slipway_controller::k8s_openapi"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct ElementalRegistrationSpec {
    /// Labels of the hosts that register.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub host_labels: BTreeMap<String, String>,
    /// Annotations of the hosts that register.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub host_annotations: BTreeMap<String, String>,
    /// Secret with the key that signs registration tokens, in the field `privKey`. The controller creates a secret with
    /// the name of the registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_key_ref: Option<ObjectReference>,
    /// Configuration of the agents.
    #[serde(default)]
    pub config: Config,
}

/// Configuration of the agents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Config {
    /// Configuration of Elemental.
    #[serde(default)]
    pub elemental: ElementalConfig,
}

/// Configuration of Elemental.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ElementalConfig {
    /// Access to the registration API.
    #[serde(default)]
    pub registration: Registration,
}

/// Access to the registration API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Registration {
    /// Address of the registration. A blank address is set by the controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub uri: Option<String>,
    /// Certificate of the authority of the API, in PEM. A blank one is set by the controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_cert: Option<String>,
    /// Time for which a new token is valid, such as `24h`. Blank or `0s` means for ever; a negative time makes a token
    /// that has expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub token_duration: Option<String>,
    /// Token with which hosts register. A blank token is replaced by a new one; any other stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub token: Option<String>,
}

/// Status of an ElementalRegistration.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct ElementalRegistrationStatus {
    /// Conditions of the object.
    #[serde(default)]
    #[schemars(schema_with = "super::common::conditions")]
    pub conditions: Vec<Condition>,
}
