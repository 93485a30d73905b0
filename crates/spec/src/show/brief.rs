//! Clusters as documents with as few fields as possible.

use serde_json::Value as Json;

use super::{Error, Printer, documents};
use crate::{
    load_files,
    model::Cluster,
    source::{FieldSources, SourceFile},
    v1alpha1,
};

/// A cluster as documents of the newest version, with only the fields that it needs. Loading the text gives
/// the same cluster again, whatever its format was.
///
/// `remark` follows the values that the documents do not set: the defaults of another format.
///
/// # Errors
/// A value that YAML cannot express, which the model has not.
pub fn brief_yaml(cluster: &Cluster, sources: &FieldSources, remark: &'static str) -> Result<String, Error> {
    let mut full = v1alpha1::full_documents(cluster)?;
    for document in 0..full.len() {
        let names: Vec<String> = keys(&full[document]["spec"]);
        for name in names {
            reduce(&mut full, cluster, document, &["spec".to_owned(), name]);
        }
        reduce(&mut full, cluster, document, &["metadata".to_owned(), "labels".to_owned()]);
    }
    let mut text = String::new();
    documents(cluster, &full, &mut Printer { sources, remark, text: &mut text })?;
    Ok(text)
}

fn keys(value: &Json) -> Vec<String> {
    value.as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
}

/// Leaves out the value at a path or, where the value is needed, the parts of it that are not.
fn reduce(all: &mut Vec<Json>, cluster: &Cluster, document: usize, path: &[String]) {
    let Some((last, parents)) = path.split_last() else { return };
    let Some(Json::Object(fields)) = at(&mut all[document], parents) else { return };
    let Some(value) = fields.remove(last) else { return };
    if gives(all, cluster) {
        return;
    }
    if let Some(Json::Object(fields)) = at(&mut all[document], parents) {
        fields.insert(last.clone(), value.clone());
    }
    let below = |name: String| path.iter().cloned().chain([name]).collect::<Vec<_>>();
    match value {
        Json::Object(_) => {
            keys(&value).into_iter().for_each(|name| reduce(all, cluster, document, &below(name)))
        }
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                for name in keys(item) {
                    let mut path = below(index.to_string());
                    path.push(name);
                    reduce(all, cluster, document, &path);
                }
            }
        }
        _ => {}
    }
}

fn at<'a>(value: &'a mut Json, path: &[String]) -> Option<&'a mut Json> {
    path.iter().try_fold(value, |value, name| match value {
        Json::Array(items) => items.get_mut(name.parse::<usize>().ok()?),
        other => other.get_mut(name),
    })
}

/// Whether loading the documents gives the cluster.
fn gives(documents: &[Json], cluster: &Cluster) -> bool {
    let text: String = documents.iter().map(|document| format!("---\n{document}\n")).collect();
    let loaded = load_files(vec![SourceFile::new("brief.yaml", text)], &[]);
    loaded.is_valid() && loaded.clusters.first() == Some(cluster)
}
