//! JSON schemas of the documents, for editors. They are checked in under `specs/schema/`; `cargo xtask schemas` writes them.

use serde_json::{Map, Value as Json, json};

use crate::v1alpha1::{ClusterDocument, EnvironmentDocument, HostDocument, NodePoolDocument};

/// The schema files with their content: names below `specs/schema/`, text that ends in a line break. The same on
/// every run, with keys in alphabetical order.
///
/// # Errors
/// A schema that JSON cannot express, which these types have not.
pub fn schemas() -> Result<Vec<(String, String)>, serde_json::Error> {
    Ok(vec![
        ("cluster.v1alpha1.schema.json".to_owned(), text::<ClusterDocument>()?),
        ("environment.v1alpha1.schema.json".to_owned(), text::<EnvironmentDocument>()?),
        ("host.v1alpha1.schema.json".to_owned(), text::<HostDocument>()?),
        ("nodepool.v1alpha1.schema.json".to_owned(), text::<NodePoolDocument>()?),
        ("spec.v1alpha1.schema.json".to_owned(), written(any_kind())?),
    ])
}

fn text<T: schemars::JsonSchema>() -> Result<String, serde_json::Error> {
    written(schemars::SchemaGenerator::default().into_root_schema_for::<T>().to_value())
}

fn written(schema: Json) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&sorted(schema))?;
    text.push('\n');
    Ok(text)
}

/// The schema of a file with documents of several kinds: each document is checked by the schema of its `kind`.
fn any_kind() -> Json {
    let mut generator = schemars::SchemaGenerator::default();
    let kinds = [
        ("Cluster", generator.subschema_for::<ClusterDocument>().to_value()),
        ("Environment", generator.subschema_for::<EnvironmentDocument>().to_value()),
        ("Host", generator.subschema_for::<HostDocument>().to_value()),
        ("NodePool", generator.subschema_for::<NodePoolDocument>().to_value()),
    ];
    let names: Vec<&str> = kinds.iter().map(|(kind, _)| *kind).collect();
    let by_kind: Vec<Json> = kinds
        .iter()
        .map(|(kind, schema)| {
            let is_kind = json!({ "properties": { "kind": { "const": kind } }, "required": ["kind"] });
            json!({ "if": is_kind, "then": schema })
        })
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Spec",
        "description": "A document of slipway.dev/v1alpha1, of any kind.",
        "type": "object",
        "required": ["apiVersion", "kind"],
        "properties": { "kind": { "enum": names } },
        "allOf": by_kind,
        "$defs": generator.take_definitions(true),
    })
}

/// The value with its keys in order, whatever order the JSON library keeps.
pub(crate) fn sorted(value: Json) -> Json {
    match value {
        Json::Object(fields) => {
            let mut entries: Vec<(String, Json)> =
                fields.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Json::Object(Map::from_iter(entries))
        }
        Json::Array(items) => items.into_iter().map(sorted).collect(),
        scalar => scalar,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_of_all_kinds_refers_to_one_definition_for_each() {
        let schema = super::any_kind();
        for (position, kind) in ["Cluster", "Environment", "Host", "NodePool"].into_iter().enumerate() {
            let branch = &schema["allOf"][position];
            assert_eq!(branch["if"]["properties"]["kind"]["const"], kind);
            let pointer = branch["then"]["$ref"].as_str().unwrap().trim_start_matches('#');
            let definition = schema.pointer(pointer).unwrap();
            assert_eq!(definition["properties"]["kind"]["const"], kind, "{pointer}");
        }
    }

    #[test]
    fn checked_in_schemas_are_current() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../specs/schema");
        for (name, text) in super::schemas().unwrap() {
            let path = format!("{folder}/{name}");
            if std::env::var_os("UPDATE_FIXTURES").is_some() {
                std::fs::write(&path, &text).unwrap();
            }
            let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(
                checked_in == text,
                "{path} is not what the types say; UPDATE_FIXTURES=1 writes it again"
            );
        }
    }
}
