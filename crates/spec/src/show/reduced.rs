//! Leaving out the fields of documents that a cluster does not need.

use serde_json::Value as Json;

use crate::{load_files, model::Cluster, source::SourceFile};

/// Decides whether the value at a place of a document, by the document's index, may be left out.
pub(super) type MayLeaveOut<'a> = &'a dyn Fn(usize, &[String]) -> bool;

/// Leaves out every value that the cluster does not need and that may be left out.
pub(super) fn reduce_all(all: &mut [Json], cluster: &Cluster, may_leave_out: MayLeaveOut<'_>) {
    for document in 0..all.len() {
        let names: Vec<String> = keys(&all[document]["spec"]);
        for name in names {
            reduce(all, cluster, document, &["spec".to_owned(), name], may_leave_out);
        }
        reduce(all, cluster, document, &["metadata".to_owned(), "labels".to_owned()], may_leave_out);
    }
}

fn keys(value: &Json) -> Vec<String> {
    value.as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
}

/// Leaves out the value at a path or, where the value is needed, the parts of it that are not.
fn reduce(
    all: &mut [Json],
    cluster: &Cluster,
    document: usize,
    path: &[String],
    may_leave_out: MayLeaveOut<'_>,
) {
    let Some((last, parents)) = path.split_last() else { return };
    let Some(Json::Object(fields)) = at(&mut all[document], parents) else { return };
    let value = if may_leave_out(document, path) {
        let Some(value) = fields.remove(last) else { return };
        if gives(all, cluster) {
            return;
        }
        if let Some(Json::Object(fields)) = at(&mut all[document], parents) {
            fields.insert(last.clone(), value.clone());
        }
        value
    } else {
        let Some(value) = fields.get(last) else { return };
        value.clone()
    };
    let below = |name: String| path.iter().cloned().chain([name]).collect::<Vec<_>>();
    match value {
        Json::Object(_) => keys(&value)
            .into_iter()
            .for_each(|name| reduce(all, cluster, document, &below(name), may_leave_out)),
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                for name in keys(item) {
                    let mut path = below(index.to_string());
                    path.push(name);
                    reduce(all, cluster, document, &path, may_leave_out);
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
pub(super) fn gives(documents: &[Json], cluster: &Cluster) -> bool {
    loaded(documents).as_ref() == Some(cluster)
}

/// The cluster that loading the documents gives; `None` where they are not valid.
pub(super) fn loaded(documents: &[Json]) -> Option<Cluster> {
    let text: String = documents.iter().map(|document| format!("---\n{document}\n")).collect();
    let loaded = load_files(vec![SourceFile::new("brief.yaml", text)], &[]);
    if !loaded.is_valid() {
        return None;
    }
    loaded.clusters.into_iter().next()
}
