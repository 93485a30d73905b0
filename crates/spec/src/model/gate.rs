use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A condition of the cluster that must be true before a plan changes its version or replaces machines, and until an upgrade is
/// finalised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Gate {
    /// Its name, which plans show as `Gate--NAME`.
    pub name: String,
    /// The condition in CEL, the Common Expression Language, at most 4 KiB. It has the variables `objects`, a list, and
    /// `samples`, a list with `labels` and `value`.
    pub expression: String,
    /// The objects of the cluster that are `objects` in the expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<GateObjects>,
    /// The query whose result is `samples` in the expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prometheus: Option<GateQuery>,
    /// Why the gate does not count now. The plan shows the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waived: Option<String>,
}

/// Objects of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GateObjects {
    /// The version of their API with its group, as `v1` or `apps/v1`.
    pub api_version: String,
    /// Their kind, as `Deployment`. A Secret cannot be read.
    pub kind: String,
    /// Their namespace. Absent: all namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Their labels, as `kubectl --selector` takes them. Absent: all objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<String>,
}

/// A query of a Prometheus in the cluster, which the API server forwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GateQuery {
    /// The namespace of its Service.
    pub namespace: String,
    /// The name of its Service.
    pub service: String,
    /// The port of its Service, 1 to 65535.
    #[serde(default = "usual_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: u16,
    /// The query in PromQL. Its result is a vector or a scalar.
    pub query: String,
}

const fn usual_port() -> u16 {
    9090
}
