//! The API: `EtcdStorage` of the group `etcd.xmudrii.com`, version `v1alpha1`.
//!
//! An `EtcdStorage` is the share of an aggregated API server in an etcd. Group, kind and the fields that etcdproxy-controller
//! has keep their names, so its manifests can be applied unchanged.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use slipway_controller::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use slipway_controller::kube::{CustomResource, CustomResourceExt as _};

mod validity;

pub use validity::{InvalidValidity, Validity};

/// The desired share of an API server.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "etcd.xmudrii.com",
    version = "v1alpha1",
    kind = "EtcdStorage",
    plural = "etcdstorages",
    status = "EtcdStorageStatus",
    doc = "The share of an aggregated API server in an etcd: a proxy that serves its own keys only.",
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name": "Reason", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name": "Endpoint", "type": "string", "jsonPath": ".status.endpoint"}"#,
    printcolumn = r#"{"name": "Expires", "type": "date", "jsonPath": ".status.certificatesExpire", "priority": 1}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    crates(
        kube = "slipway_controller::kube",
        kube_core = "slipway_controller::kube::core",
        k8s_openapi = "slipway_controller::k8s_openapi"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct EtcdStorageSpec {
    /// ConfigMaps that get the authorities of the proxy's certificate, as `serving-ca.crt`. They must exist.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["namespace", "name"], "maxItems" = 32))]
    pub ca_cert_config_map: Vec<Destination>,
    /// Secrets that get a client certificate for the proxy, as `tls.crt` and `tls.key`. They must exist.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["namespace", "name"], "maxItems" = 32))]
    pub client_cert_secret: Vec<Destination>,
    /// How long the signing certificates are valid, such as `730h`. Recommended: longer than 10m.
    pub signing_certificate_validity: Validity,
    /// How long the certificate of the proxy is valid.
    pub serving_certificate_validity: Validity,
    /// How long the client certificates of the API server are valid.
    pub client_certificate_validity: Validity,
    /// Number of proxies.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 100))]
    pub replicas: i32,
    /// The limits of the API server in the etcd. Without them it may use all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
    /// Take over keys below `/NAME/` that another program wrote, such as the proxies of etcdproxy-controller.
    #[serde(default)]
    pub adopt: bool,
    /// What happens to the keys of the API server when this object is deleted.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
}

fn three() -> i32 {
    3
}

/// An object of the API server's namespace that the controller writes to.
#[derive(Clone, Debug, Deserialize, Eq, Hash, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
pub struct Destination {
    /// Name of the object.
    #[schemars(
        regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"),
        length(max = 253)
    )]
    pub name: String,
    /// Namespace of the object.
    #[schemars(regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"), length(max = 63))]
    pub namespace: String,
}

impl std::fmt::Display for Destination {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// The limits of an API server. Each is unlimited if absent.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Quota {
    /// Most keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub keys: Option<i64>,
    /// Most bytes of keys and their newest values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub bytes: Option<i64>,
    /// Most requests in a second, for each proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub requests_per_second: Option<i32>,
}

/// What happens to the keys of an API server when its `EtcdStorage` is deleted.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum DeletionPolicy {
    /// They stay in the core etcd. An `EtcdStorage` of the same name finds them again.
    #[default]
    Retain,
    /// They are deleted after the last proxy has ended.
    Delete,
}

/// The state that the controller has observed.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EtcdStorageStatus {
    /// The generation of the spec that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// URL of the proxies for `--etcd-servers` of the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// What happens to the keys in the core etcd when this object is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_on_deletion: Option<String>,
    /// When the first certificate in use ends, if none is renewed until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub certificates_expire: Option<String>,
    /// The certificates of the proxy, and the authorities.
    #[serde(default)]
    pub certificates: Vec<CertificateStatus>,
    /// The objects of the API server.
    #[serde(default)]
    pub destinations: Vec<DestinationStatus>,
    /// Conditions: `Ready`, `Deployed`, `CertificatesReady`, `CoreEtcdConfigured`, `ProxyAvailable`.
    #[serde(default)]
    #[schemars(schema_with = "conditions")]
    pub conditions: Vec<Condition>,
}

/// A certificate of the controller's namespace.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateStatus {
    /// `client-ca`, `serving-ca` or `serving`.
    pub name: String,
    /// When it ends.
    #[schemars(extend("format" = "date-time"))]
    pub not_after: String,
    /// Of an authority: its successor, which is trusted and does not sign yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<SuccessorStatus>,
}

/// The successor of an authority.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SuccessorStatus {
    /// When it ends.
    #[schemars(extend("format" = "date-time"))]
    pub not_after: String,
    /// When it begins to sign. Processes that read authorities only when they start must be restarted before. Absent until
    /// every destination has the successor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub signs_from: Option<String>,
}

/// An object of an API server.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DestinationStatus {
    /// `ConfigMap` or `Secret`.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Whether it has the desired content.
    pub written: bool,
    /// Why it was not written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When its client certificate ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub not_after: Option<String>,
}

/// The schema of a list of conditions, by the conventions of the Kubernetes API.
fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "description": "Conditions: Ready, Deployed, CertificatesReady, CoreEtcdConfigured, ProxyAvailable.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": {"type": "string", "maxLength": 316},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
                "lastTransitionTime": {"type": "string", "format": "date-time"},
                "reason": {"type": "string", "minLength": 1, "maxLength": 1024},
                "message": {"type": "string", "maxLength": 32768},
            },
        },
    })
}

/// The rules of a name: that of the Service is `etcd-NAME`, and that of a Service has 63 characters at most.
fn name_rules() -> Json {
    json!([{
        "rule": "self.metadata.name.size() <= 58 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
        "message": "the name must have at most 58 lower-case letters, digits and '-', and begin and end with a letter or digit",
    }])
}

/// The CustomResourceDefinition, as it is applied.
#[must_use]
pub fn definition() -> Json {
    let definition: CustomResourceDefinition = EtcdStorage::crd();
    let mut definition = serde_json::to_value(definition).unwrap_or_default();
    let schema = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["x-kubernetes-validations"] = name_rules();
    definition
}
