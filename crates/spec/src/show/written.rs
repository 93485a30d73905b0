//! Clusters as documents with the values that their specs set.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use super::{Error, Printer, documents, is_opaque, part_prefix, reduced};
use crate::{
    Loaded,
    model::Cluster,
    reader::{item_path, join},
    source::{FieldSources, Origin},
    v1alpha1,
};

/// The place of a value in a document: the names of fields and the indices of items.
type Place = Vec<String>;

/// All loaded clusters as documents of the newest version, whatever their format was, without defaults.
///
/// Loading the text gives the same clusters as loading that of [`full_yaml`](super::full_yaml). A default that is needed for this,
/// such as one of another format, stays and ends in `# default`.
///
/// # Errors
/// A value that YAML cannot express, which the model has not.
pub fn written_yaml(loaded: &Loaded) -> Result<String, Error> {
    let nothing = FieldSources::default();
    let names_cluster = loaded.clusters.len() > 1;
    let mut text = String::new();
    for cluster in &loaded.clusters {
        let sources = loaded.sources.cluster(&cluster.name).unwrap_or(&nothing);
        let full = v1alpha1::full_documents(cluster)?;
        let written = without_defaults(&full, cluster, sources, names_cluster);
        documents(cluster, &written, &mut Printer { sources, remark: "default", text: &mut text })?;
    }
    Ok(text)
}

fn without_defaults(
    full: &[Json],
    cluster: &Cluster,
    sources: &FieldSources,
    names_cluster: bool,
) -> Vec<Json> {
    let kept: Vec<BTreeSet<Place>> = full
        .iter()
        .enumerate()
        .map(|(index, document)| {
            let mut kept = Kept { sources, places: BTreeSet::new() };
            let prefix = part_prefix(cluster, index);
            for part in ["metadata", "spec"] {
                kept.add(&document[part], &prefix, &mut vec![part.to_owned()]);
            }
            kept.places.insert(place(&["metadata", "name"]));
            if names_cluster {
                kept.places.insert(place(&["spec", "cluster"]));
            }
            kept.places
        })
        .collect();
    let pruned: Vec<Json> =
        full.iter().zip(&kept).map(|(document, kept)| pruned_document(document, kept)).collect();
    // The cluster itself may have no form of its own, as one of kOps without an add-on of the profile.
    let Some(same) = reduced::loaded(full) else { return full.to_vec() };
    if reduced::gives(&pruned, &same) {
        return pruned;
    }
    // Some of the defaults are not those of the loader: only the others are left out.
    let mut all = full.to_vec();
    reduced::reduce_all(&mut all, &same, &|document, place| {
        kept.get(document).is_none_or(|kept| !has_part(kept, place))
    });
    all
}

fn place(names: &[&str]) -> Place {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Whether a value, or a part of it, is kept.
fn has_part(kept: &BTreeSet<Place>, place: &[String]) -> bool {
    // Places inside of a place follow it in the order.
    kept.range(place.to_vec()..).next().is_some_and(|next| next.starts_with(place))
}

/// Collects the places of the values that a spec sets.
struct Kept<'a> {
    sources: &'a FieldSources,
    places: BTreeSet<Place>,
}

impl Kept<'_> {
    fn add(&mut self, value: &Json, path: &str, place: &mut Place) {
        match value {
            Json::Object(fields) if !fields.is_empty() => {
                for (name, value) in fields {
                    place.push(name.clone());
                    self.add(value, &join(path, name), place);
                    place.pop();
                }
            }
            Json::Array(items) if !items.is_empty() => {
                let names: Vec<&str> = items
                    .iter()
                    .map(|item| item.get("name").and_then(Json::as_str).unwrap_or_default())
                    .collect();
                for (index, item) in items.iter().enumerate() {
                    place.push(index.to_string());
                    self.add(item, &item_path(path, &names, index), place);
                    place.pop();
                }
            }
            _ => {
                if is_opaque(path) || matches!(self.sources.origin(path), Origin::Written(_)) {
                    self.places.insert(place.clone());
                }
            }
        }
    }
}

fn pruned_document(document: &Json, kept: &BTreeSet<Place>) -> Json {
    let mut fields = Map::new();
    for name in ["apiVersion", "kind"] {
        fields.insert(name.to_owned(), document[name].clone());
    }
    for part in ["metadata", "spec"] {
        let inside = pruned(&document[part], kept, &mut place(&[part]));
        fields.insert(part.to_owned(), inside.unwrap_or_else(|| Json::Object(Map::new())));
    }
    Json::Object(fields)
}

/// A value without the parts that are not kept; `None` where no part is.
fn pruned(value: &Json, kept: &BTreeSet<Place>, place: &mut Place) -> Option<Json> {
    if !has_part(kept, place) {
        return None;
    }
    let mut inside = |name: String, value: &Json| {
        place.push(name);
        let result = pruned(value, kept, place);
        place.pop();
        result
    };
    Some(match value {
        Json::Object(fields) => Json::Object(
            fields
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), inside(name.clone(), value)?)))
                .collect(),
        ),
        Json::Array(items) => Json::Array(
            items.iter().enumerate().filter_map(|(index, item)| inside(index.to_string(), item)).collect(),
        ),
        other => other.clone(),
    })
}
