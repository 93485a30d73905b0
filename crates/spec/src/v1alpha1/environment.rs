use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A variant of specs in other files: its bases, with values of variables and with patches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "Environment")]
pub struct EnvironmentDocument {
    /// `slipway.dev/v1alpha1`.
    #[schemars(extend("const" = super::API_VERSION))]
    pub api_version: String,
    /// `Environment`.
    #[schemars(extend("const" = "Environment"))]
    pub kind: String,
    /// The name of the environment.
    pub metadata: EnvironmentMetadata,
    /// The bases, variables and patches of the environment.
    pub spec: EnvironmentSpec,
}

/// The name of an environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnvironmentMetadata {
    /// The name for messages. It is not the name of a cluster.
    pub name: String,
}

/// The bases, variables and patches of an environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnvironmentSpec {
    /// Spec files and folders, relative to this file. A base may contain environments, which are rendered first. Files of bases
    /// are no specs of their own in a command that reads the environment.
    pub bases: Vec<String>,
    /// Variables that documents of the bases and the patches refer to, as `{ fromVariable: NAME }` in the place of a value.
    #[serde(default)]
    pub variables: Vec<VariableDeclaration>,
    /// Values by variable: those that this environment declares, and those of environments among its bases.
    #[serde(default)]
    #[schemars(schema_with = "values")]
    pub values: BTreeMap<String, serde_json::Value>,
    /// Changes of the documents of the bases, applied in this order.
    #[serde(default)]
    pub patches: Vec<EnvironmentPatch>,
}

/// A variable of an environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VariableDeclaration {
    /// The name: letters, digits, `-` and `_`.
    pub name: String,
    /// The type of its values.
    #[serde(rename = "type")]
    pub kind: VariableType,
    /// The value where no environment sets one. Without a default, a value is required.
    #[serde(default)]
    #[schemars(schema_with = "crate::model::opaque")]
    pub default: serde_json::Value,
    /// The values that are allowed; for a list, its items. Default: all values of the type.
    #[serde(default)]
    #[schemars(schema_with = "any_values")]
    pub allowed: Vec<serde_json::Value>,
    /// A description for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// Types of variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum VariableType {
    /// A text.
    String,
    /// A whole number.
    Integer,
    /// `true` or `false`.
    Boolean,
    /// A list of texts, whole numbers and booleans.
    List,
}

/// A change of one document. It has either `merge` or `json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnvironmentPatch {
    /// The document, as the bases name it.
    pub target: PatchTarget,
    /// A strategic merge patch: mappings are merged, lists whose items all have a `name` are merged by `name`, and other values
    /// are replaced. `null` deletes a field, and `$patch: delete` an item of a list or the document.
    #[serde(default)]
    #[schemars(schema_with = "crate::model::opaque")]
    pub merge: serde_json::Value,
    /// Operations of a JSON patch (RFC 6902).
    #[serde(default)]
    pub json: Vec<PatchOperation>,
}

/// A document that a patch changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PatchTarget {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// An operation of a JSON patch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PatchOperation {
    /// The operation.
    pub op: OperationKind,
    /// The JSON pointer of the value, as in `/spec/zones/0`.
    pub path: String,
    /// The JSON pointer of the value that `move` and `copy` take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The value of `add`, `replace` and `test`.
    #[serde(default)]
    #[schemars(schema_with = "crate::model::opaque")]
    pub value: serde_json::Value,
}

/// Operations of JSON patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OperationKind {
    /// Sets a field, or inserts an item into a list. The index `-` is the end of the list.
    Add,
    /// Deletes a field or an item.
    Remove,
    /// Sets a field or an item that exists.
    Replace,
    /// Moves a value to another place.
    Move,
    /// Copies a value to another place.
    Copy,
    /// Fails unless the value is this one.
    Test,
}

/// The schema of a mapping of any values.
fn values(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "object", "additionalProperties": {} })
}

/// The schema of a list of any values.
fn any_values(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "array", "items": {} })
}
