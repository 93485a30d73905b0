//! The reader of kOps documents, for [`slipway_spec::load::load_with`].

use std::collections::BTreeMap;

use slipway_spec::{
    diagnostic::{Diagnostic, closest, code},
    reader::{Document, Reader, Reading},
};

use crate::{
    account::account,
    convert,
    convert::CLUSTER_LABEL,
    field::Field,
    fields::{Kind, Table},
    rules::Rules,
    structure,
};

/// The `apiVersion` of the documents.
pub const API_VERSION: &str = "kops.k8s.io/v1alpha2";

/// Reads `kops.k8s.io/v1alpha2` documents of the kinds `Cluster`, `InstanceGroup` and `SSHCredential`.
///
/// Instance groups and keys belong to the cluster that their label `kops.k8s.io/cluster` names. Every field is either
/// honoured, passed on to the provider or an add-on, refused with an error, or named in a note or warning.
#[derive(Debug, Clone)]
pub struct KopsReader {
    table: Table,
    rules: Rules,
}

impl Default for KopsReader {
    fn default() -> Self {
        Self { table: Table::v1alpha2(), rules: Rules::v1alpha2() }
    }
}

impl KopsReader {
    /// The table of fields.
    #[must_use]
    pub const fn table(&self) -> &Table {
        &self.table
    }

    /// What becomes of each field.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }
}

impl Reader for KopsReader {
    fn kinds(&self) -> Vec<(String, String)> {
        Kind::ALL.map(|kind| (API_VERSION.to_owned(), kind.as_str().to_owned())).into()
    }

    fn read(&self, documents: &[Document]) -> Reading {
        let mut reading = Reading::default();
        let mut by_kind: BTreeMap<Kind, Vec<&Document>> = BTreeMap::new();
        for document in documents {
            let Some(kind) = Kind::from_name(&document.kind) else { continue };
            reading.diagnostics.extend(structure::check(&self.table, kind, document));
            reading.diagnostics.extend(account(&self.table, &self.rules, kind, document));
            by_kind.entry(kind).or_default().push(document);
        }
        let mut of = |kind| by_kind.remove(&kind).unwrap_or_default();
        let (clusters, groups, keys) = (of(Kind::Cluster), of(Kind::InstanceGroup), of(Kind::SshCredential));
        let names: Vec<&str> = clusters.iter().filter_map(|cluster| cluster.name()).collect();
        let (groups, problems) = by_cluster(&groups, &names);
        reading.diagnostics.extend(problems);
        let (keys, problems) = by_cluster(&keys, &names);
        reading.diagnostics.extend(problems);
        for document in clusters {
            let name = document.name().unwrap_or_default();
            let groups = groups.get(name).map_or(&[][..], Vec::as_slice);
            let keys = keys.get(name).map_or(&[][..], Vec::as_slice);
            reading.diagnostics.extend(twice(groups));
            let (cluster, problems) = convert::cluster(&self.table, &self.rules, document, groups, keys);
            reading.diagnostics.extend(problems);
            reading.clusters.extend(cluster);
        }
        reading
    }
}

/// Documents by the cluster that their label names, and what is wrong with the labels of the others.
fn by_cluster<'a>(
    documents: &[&'a Document],
    clusters: &[&str],
) -> (BTreeMap<String, Vec<&'a Document>>, Vec<Diagnostic>) {
    let mut found: BTreeMap<String, Vec<&Document>> = BTreeMap::new();
    let mut problems = Vec::new();
    for document in documents {
        let what = format!("the {} {}", document.kind, document.name().unwrap_or("without a name"));
        let labels = Field::root(document).at("metadata.labels");
        let label =
            labels.node().and_then(|node| node.get(CLUSTER_LABEL)).and_then(slipway_spec::yaml::Node::as_str);
        match label {
            Some(cluster) if clusters.contains(&cluster) => {
                found.entry(cluster.to_owned()).or_default().push(document);
            }
            Some(cluster) => {
                let hint = match closest(cluster, clusters.iter().copied()) {
                    Some(meant) => format!("did you mean {meant}?"),
                    None => format!("add the Cluster {cluster}, or load its file too"),
                };
                let label = labels.entry(CLUSTER_LABEL);
                let unknown = label
                    .error(
                        code::UNKNOWN_REFERENCE,
                        format!("{what} belongs to the cluster {cluster}, which is not among the documents"),
                    )
                    .hint(hint);
                problems.push(unknown);
            }
            None => {
                let example = clusters.first().copied().unwrap_or("production.example.com");
                let missing = labels
                    .error(code::NO_CLUSTER, format!("{what} does not say to which cluster it belongs"))
                    .hint(format!("add the label {CLUSTER_LABEL}: {example}"));
                problems.push(missing);
            }
        }
    }
    (found, problems)
}

/// Instance groups of one cluster with the same name.
fn twice(groups: &[&Document]) -> Vec<Diagnostic> {
    let mut first: BTreeMap<&str, &Document> = BTreeMap::new();
    let mut problems = Vec::new();
    for document in groups {
        let Some(name) = document.name() else { continue };
        let field = Field::root(document).at("metadata.name");
        match first.get(name) {
            Some(earlier) => problems.push(
                field
                    .error(code::DUPLICATE_NAME, format!("there are two instance groups named {name}"))
                    .hint("give one of them another name, or remove it")
                    .related("the first one", Some(&Field::root(earlier).at("metadata.name").location())),
            ),
            None => drop(first.insert(name, document)),
        }
    }
    problems
}
