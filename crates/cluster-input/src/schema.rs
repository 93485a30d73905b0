//! The JSON schema of the message.

use serde_json::{Map, Value as Json};

use crate::cluster::ClusterInput;
use crate::value::Format;

/// The mark of a field that a reader must know.
pub(crate) const MUST_UNDERSTAND: &str = "x-slipway-must-understand";

/// The name of the schema's file in `crates/cluster-input/schema/`.
#[must_use]
pub const fn file_name() -> &'static str {
    "cluster-input.v1alpha1.schema.json"
}

/// The published schema, with keys in alphabetical order and a line break at the end.
///
/// # Errors
/// A schema that JSON cannot express, which these types do not have.
pub fn json_schema() -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&sorted(of_types()))?;
    text.push('\n');
    Ok(text)
}

/// The schema of the types of this version.
pub(crate) fn of_types() -> Json {
    schemars::SchemaGenerator::default().into_root_schema_for::<ClusterInput>().to_value()
}

/// The value with its keys in order, whatever order the JSON library keeps.
fn sorted(value: Json) -> Json {
    match value {
        Json::Object(fields) => {
            let mut entries: Vec<(String, Json)> =
                fields.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|one, other| one.0.cmp(&other.0));
            Json::Object(Map::from_iter(entries))
        }
        Json::Array(items) => items.into_iter().map(sorted).collect(),
        scalar => scalar,
    }
}

/// The schema of settings that another schema checks: any value.
pub(crate) fn opaque(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "x-slipway-opaque": true })
}

/// The schema of one IP address.
pub(crate) fn address(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "string", "format": Format::Ip.name() })
}
