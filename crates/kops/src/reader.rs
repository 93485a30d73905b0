//! The reader of kOps documents, for [`slipway_spec::load::load_with`].

use std::{borrow::Cow, collections::BTreeMap};

use slipway_spec::{
    diagnostic::{Diagnostic, Severity, closest, code},
    reader::{Document, ReadCluster, Reader, Reading},
    source::{Location, Origin},
};

use crate::{
    account::account,
    bounds, code as kops_code, convert,
    convert::CLUSTER_LABEL,
    field::Field,
    fields::{Kind, Table},
    rules::Rules,
    structure,
    v1alpha3::Moves,
};

/// The `apiVersion` of most documents.
pub const V1ALPHA2: &str = "kops.k8s.io/v1alpha2";
/// The `apiVersion` that documents of the first releases have; kOps still reads them as [`V1ALPHA2`].
const FIRST: &str = "kops/v1alpha2";
/// The `apiVersion` of documents in kOps' newer form.
pub const V1ALPHA3: &str = "kops.k8s.io/v1alpha3";

/// Reads `kops.k8s.io/v1alpha2` and `v1alpha3` documents of the kinds `Cluster`, `InstanceGroup` and `SSHCredential`.
///
/// Instance groups and keys belong to the cluster that their label `kops.k8s.io/cluster` names. Every field is either
/// honoured, passed on to the provider or an add-on, refused with an error, or named in a note or warning; so is one
/// that kOps does not know, but for slips of the keys, which are errors.
#[derive(Debug, Clone)]
pub struct KopsReader {
    table: Table,
    newer: Table,
    moves: Moves,
    rules: Rules,
}

impl Default for KopsReader {
    fn default() -> Self {
        Self {
            table: Table::v1alpha2(),
            newer: Table::v1alpha3(),
            moves: Moves::default(),
            rules: Rules::v1alpha2(),
        }
    }
}

impl KopsReader {
    /// The table of fields of `v1alpha2`.
    #[must_use]
    pub const fn table(&self) -> &Table {
        &self.table
    }

    /// The treatment of each field.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }
}

impl Reader for KopsReader {
    fn kinds(&self) -> Vec<(String, String)> {
        let of = |version: &str| Kind::ALL.map(|kind| (version.to_owned(), kind.as_str().to_owned()));
        [of(V1ALPHA2), of(FIRST), of(V1ALPHA3)].concat()
    }

    fn handles(&self, api_version: &str, kind: &str) -> bool {
        [V1ALPHA2, FIRST, V1ALPHA3].contains(&api_version) && Kind::from_name(kind).is_some()
    }

    fn beside(&self, document: &Document) -> Option<Diagnostic> {
        let group = document.api_version.split_once('/').map_or("", |(group, _)| group);
        let of_ours = group.ends_with("kops.k8s.io") || group.ends_with("slipway.dev");
        if document.api_version.is_empty() || document.kind.is_empty() || of_ours {
            return None;
        }
        let field = Field::root(document).at("kind");
        let lost = field.warning(
            kops_code::LOST,
            format!(
                "the {} {} beside the cluster is not installed in it",
                document.kind,
                document.name().unwrap_or("without a name")
            ),
        );
        Some(lost.hint("keep it in a file of its own, and name that file as the manifest of an add-on"))
    }

    fn read(&self, documents: &[Document]) -> Reading {
        let mut reading = Reading::default();
        let mut by_kind: BTreeMap<Kind, Vec<&Document>> = BTreeMap::new();
        let known: Vec<(&Table, Kind, &Document)> = documents
            .iter()
            .filter_map(|document| {
                let newer = document.api_version == V1ALPHA3;
                let table = if newer { &self.newer } else { &self.table };
                Some((table, Kind::from_name(&document.kind)?, document))
            })
            .collect();
        let exceeded = bounds::exceeded(&known);
        if !exceeded.is_empty() {
            return Reading { diagnostics: exceeded, ..Reading::default() };
        }
        let repaired: Vec<(Kind, Cow<'_, Document>)> = known
            .into_iter()
            .map(|(table, kind, document)| {
                let newer = document.api_version == V1ALPHA3;
                reading.diagnostics.extend(structure::check(table, kind, document));
                let mut repaired = structure::repaired(table, kind, document);
                if newer {
                    let (moved, lost) = self.moves.apply((&self.newer, &self.table), kind, &repaired);
                    repaired = Cow::Owned(moved);
                    reading.diagnostics.extend(lost);
                }
                reading.diagnostics.extend(account(&self.table, &self.rules, kind, &repaired));
                (kind, repaired)
            })
            .collect();
        for (kind, document) in &repaired {
            by_kind.entry(*kind).or_default().push(document);
        }
        let mistakes: Vec<Location> =
            errors(&reading.diagnostics).filter_map(|diagnostic| diagnostic.location.clone()).collect();
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
            // A reported mistake is not reported again, nor are its consequences.
            let again = |diagnostic: &Diagnostic| {
                diagnostic.location.as_ref().is_some_and(|location| mistakes.contains(location))
            };
            reading.diagnostics.extend(problems.into_iter().filter(|diagnostic| !again(diagnostic)));
            reading.clusters.extend(cluster.map(|cluster| distrust(cluster, &mistakes)));
        }
        reading
    }
}

fn errors(diagnostics: &[Diagnostic]) -> impl Iterator<Item = &Diagnostic> {
    diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error)
}

/// Marks the fields of the model that come from a mistaken place, so that nothing more is said about them.
fn distrust(mut read: ReadCluster, mistakes: &[Location]) -> ReadCluster {
    let mistaken = |path: &&str| match read.sources.origin(path) {
        Origin::Written(location) => mistakes.iter().any(|mistake| covers(mistake, location)),
        Origin::Default => false,
    };
    let paths: Vec<String> = read.sources.paths().filter(mistaken).map(str::to_owned).collect();
    read.refused.extend(paths);
    read
}

fn covers(outer: &Location, inner: &Location) -> bool {
    let start = |location: &Location| (location.line, location.column);
    let end = |location: &Location| (location.end_line, location.end_column);
    outer.file == inner.file && start(outer) <= start(inner) && end(inner) <= end(outer)
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
                let meant = closest(cluster, clusters.iter().copied());
                let hint = match meant {
                    Some(meant) => format!("did you mean {meant}?"),
                    None => format!("add the Cluster {cluster}, or load its file too"),
                };
                // It is read as it was meant, so that nothing is said to be missing because of it.
                if let Some(meant) = meant {
                    found.entry(meant.to_owned()).or_default().push(document);
                }
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
                if let [only] = clusters {
                    found.entry((*only).to_owned()).or_default().push(document);
                }
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
