//! JSON schemas of the documents, for editors. They are checked in under `specs/schema/`; `xtask` writes them anew.

use serde_json::{Map, Value as Json};

use crate::v1alpha1::{ClusterDocument, HostDocument, NodePoolDocument};

/// The schema files with their content: names below `specs/schema/`, text that ends in a line break. The same on
/// every run, with keys in alphabetical order.
///
/// # Errors
/// A schema that JSON cannot express, which these types have not.
pub fn schemas() -> Result<Vec<(String, String)>, serde_json::Error> {
    Ok(vec![
        ("cluster.v1alpha1.schema.json".to_owned(), text::<ClusterDocument>()?),
        ("host.v1alpha1.schema.json".to_owned(), text::<HostDocument>()?),
        ("nodepool.v1alpha1.schema.json".to_owned(), text::<NodePoolDocument>()?),
    ])
}

fn text<T: schemars::JsonSchema>() -> Result<String, serde_json::Error> {
    let schema = schemars::SchemaGenerator::default().into_root_schema_for::<T>();
    let mut text = serde_json::to_string_pretty(&sorted(schema.to_value()))?;
    text.push('\n');
    Ok(text)
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
