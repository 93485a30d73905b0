//! The extension point for kinds of documents: one reader per API group and version.
//!
//! [`crate::load()`] parses every file into [`Document`]s, gives each reader all documents of its kinds at
//! once, then checks every resulting cluster in the same way. A reader of a foreign format (kOps, Cluster
//! API) implements [`Reader`] and converts to [`crate::model::Cluster`]. For each field that it ignores it
//! adds a diagnostic at the field's key, with severity [`crate::diagnostic::Severity::Note`] or `Warning`.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    diagnostic::Diagnostic,
    model::Cluster,
    source::{FieldSources, Location, SourceFile, Span},
    yaml::{Entry, Node},
};

pub use slipway_cluster_input::path::{item_path, join};

/// The longest path inside of which places are recorded, in bytes. Paths of real specs have less than 400.
const LONGEST_PATH: usize = 2_000;

/// A YAML document with its place.
#[derive(Debug, Clone)]
pub struct Document {
    /// The file that contains it.
    pub file: Arc<SourceFile>,
    /// Its `apiVersion`.
    pub api_version: String,
    /// Its `kind`.
    pub kind: String,
    /// The whole document.
    pub root: Node,
    /// Whether its end is missing because of a YAML mistake. Fields may then seem missing that are not.
    pub truncated: bool,
}

impl Document {
    /// The location of a span of this document.
    #[must_use]
    pub fn location(&self, span: Span) -> Location {
        self.file.location(span)
    }

    /// The text at `metadata.name`.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.root.get("metadata")?.get("name")?.as_str()
    }

    /// Records in `sources` that the model's field at `path`, and everything inside it, is written at
    /// `entry`.
    pub fn record(&self, sources: &mut FieldSources, path: &str, entry: &Entry) {
        record(&self.file, sources, path, Some(entry.key.span), &entry.value);
    }
}

/// Records the places of `node` and everything inside it under `path`; items of lists go by their `name`. What is inside of a value
/// with a very long path has its place: such paths take the memory of many files.
pub fn record(file: &SourceFile, sources: &mut FieldSources, path: &str, key: Option<Span>, node: &Node) {
    sources.insert(path, key.map(|span| file.location(span)), file.location(node.span));
    if path.len() > LONGEST_PATH {
        return;
    }
    for entry in node.entries() {
        let path = join(path, &entry.key.text);
        record(file, sources, &path, Some(entry.key.span), &entry.value);
    }
    for (item_path, item) in item_paths(path, node.items()) {
        record(file, sources, &item_path, None, item);
    }
}

/// The items of the list at `path` with their paths: by `name`, or by index where there is none or it was used before.
pub fn item_paths<'a>(path: &str, items: &'a [Node]) -> Vec<(String, &'a Node)> {
    let mut seen = BTreeSet::new();
    let name = |item: &'a Node| item.get("name").and_then(Node::as_str).filter(|name| !name.is_empty());
    items
        .iter()
        .enumerate()
        .map(|(index, item)| match name(item).filter(|name| seen.insert(*name)) {
            Some(name) => (format!("{path}[{name}]"), item),
            None => (format!("{path}[{index}]"), item),
        })
        .collect()
}

/// The result of reading documents.
#[derive(Debug, Default)]
pub struct Reading {
    /// The clusters, each with the places of its fields.
    pub clusters: Vec<ReadCluster>,
    /// The problems and notes, in any order.
    pub diagnostics: Vec<Diagnostic>,
}

/// A cluster that a reader made.
#[derive(Debug)]
pub struct ReadCluster {
    /// The cluster.
    pub cluster: Cluster,
    /// The places of its fields, by their paths in the model.
    pub sources: FieldSources,
    /// Paths in the model whose values replace refused ones. They are not reported again.
    pub refused: Vec<String>,
}

/// Reads the documents of one API group and version.
pub trait Reader: Sync {
    /// The `apiVersion` and `kind` pairs it reads, for choosing documents and for "did you mean".
    fn kinds(&self) -> Vec<(String, String)>;

    /// Whether it reads documents of this `apiVersion` and `kind`.
    fn handles(&self, api_version: &str, kind: &str) -> bool {
        self.kinds().iter().any(|(version, name)| version == api_version && name == kind)
    }

    /// The warning for a document of an unknown kind in a file that also has documents of this reader. The
    /// warning replaces the error; `None` keeps the error.
    fn beside(&self, document: &Document) -> Option<Diagnostic> {
        let _ = document;
        None
    }

    /// Converts its documents, given in the order of files and lines. It never stops at the first problem, and does
    /// not check what [`crate::load()`] checks afterwards for every cluster (ranges, references, sizes, versions).
    fn read(&self, documents: &[Document]) -> Reading;
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;
    use crate::{load_files, source::Origin};

    #[test]
    fn very_long_paths_are_recorded_to_a_depth_only() {
        let (depth, items) = (40, 1_000);
        let open: String = iter::repeat_n(format!("{}: {{", "k".repeat(1_000)), depth).collect();
        let inside = format!("{open}a: [{}]{}", "0, ".repeat(items), "}".repeat(depth));
        let text = format!(
            "apiVersion: slipway.dev/v1alpha1
kind: Cluster
metadata: {{ name: demo }}
spec:
  provider: {{ name: sim, config: {{ short: {{ a: 1 }}, long: {{{inside}}} }} }}
  kubernetesVersion: 1.35.2
  zones: [a]
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: {{ name: control-plane }}
spec: {{ role: controlPlane, machineType: sim.large }}
"
        );
        let loaded = load_files(vec![SourceFile::new("a.yaml", text)], &[]);
        let sources = loaded.sources.cluster("demo").unwrap();
        assert!(sources.paths().map(str::len).sum::<usize>() < 20_000);
        assert!(matches!(sources.origin("provider.config.short.a"), Origin::Written(_)));
        let deep =
            ["provider.config.long".to_owned()].into_iter().chain(iter::repeat_n("k".repeat(1_000), depth));
        let deep = deep.collect::<Vec<_>>().join(".");
        assert_eq!(sources.nearest(&deep).map(|place| place.line), Some(5));
    }
}
