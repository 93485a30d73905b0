//! Fields whose written values are those that a cluster has without them.

use serde_json::Value as Json;

use super::{Error, part_prefix, reduced};
use crate::{
    model::Cluster,
    reader::{item_path, join},
    v1alpha1,
};

/// How many fields are looked at one by one: each costs a load of all documents. Further ones count as others than defaults.
const MOST: usize = 50;

/// Whether each of the fields, by its path, has the value that the cluster has without it. Fields that depend on each other, as
/// zones of a cluster and of its pools, are left out together.
///
/// # Errors
/// A value that YAML cannot express, which the model has not.
pub fn are_defaults(cluster: &Cluster, fields: &[&str]) -> Result<Vec<bool>, Error> {
    let mut all = v1alpha1::full_documents(cluster)?;
    let Some(same) = reduced::loaded(&all) else { return Ok(vec![false; fields.len()]) };
    let mut without_all = all.clone();
    let are_removed = fields.iter().all(|field| remove(&mut without_all, cluster, field));
    if are_removed && reduced::gives(&without_all, &same) {
        return Ok(vec![true; fields.len()]);
    }
    let mut results = Vec::with_capacity(fields.len());
    for (index, field) in fields.iter().enumerate() {
        if index >= MOST {
            results.push(false);
            continue;
        }
        let mut without = all.clone();
        let is_removed = remove(&mut without, cluster, field);
        let is_default = is_removed && reduced::gives(&without, &same);
        if is_default {
            all = without;
        }
        results.push(is_default);
    }
    Ok(results)
}

/// Removes a field of the documents of a cluster. Returns whether there is one.
fn remove(documents: &mut [Json], cluster: &Cluster, field: &str) -> bool {
    documents.iter_mut().enumerate().any(|(index, document)| {
        let prefix = part_prefix(cluster, index);
        ["metadata", "spec"].iter().any(|part| remove_in(&mut document[*part], &prefix, field))
    })
}

/// Removes a field of the value at a path. Items of lists stay.
fn remove_in(value: &mut Json, path: &str, field: &str) -> bool {
    match value {
        Json::Object(fields) => {
            let name = fields.keys().find(|name| join(path, name) == field).cloned();
            if let Some(name) = name {
                return fields.remove(&name).is_some();
            }
            fields.iter_mut().any(|(name, value)| {
                let path = join(path, name);
                field.starts_with(&path) && remove_in(value, &path, field)
            })
        }
        Json::Array(items) => {
            let names: Vec<String> = items
                .iter()
                .map(|item| item.get("name").and_then(Json::as_str).unwrap_or_default().to_owned())
                .collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            items.iter_mut().enumerate().any(|(index, item)| {
                let path = item_path(path, &names, index);
                field.starts_with(&path) && remove_in(item, &path, field)
            })
        }
        _ => false,
    }
}
