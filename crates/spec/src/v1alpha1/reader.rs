use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use slipway_limits::count;

use super::{API_VERSION, ClusterDocument, HostDocument, NodePoolDocument, convert};
use crate::{
    diagnostic::{Diagnostic, closest, code},
    environment,
    model::{Cluster, Host, Role},
    reader::{Document, ReadCluster, Reader, Reading, item_path},
    renamed,
    shape::Shape,
    source::{FieldSources, Origin, Span},
    structure::{self, Vocabulary},
};

/// Reads the documents of `slipway.dev/v1alpha1`.
#[derive(Debug)]
pub struct V1Alpha1 {
    cluster: Shape,
    pool: Shape,
    host: Shape,
    vocabulary: Vocabulary,
}

impl Default for V1Alpha1 {
    fn default() -> Self {
        let cluster = Shape::of::<ClusterDocument>();
        let pool = Shape::of::<NodePoolDocument>();
        let host = Shape::of::<HostDocument>();
        let vocabulary = Vocabulary::new(&[("Cluster", &cluster), ("NodePool", &pool), ("Host", &host)]);
        Self { cluster, pool, host, vocabulary }
    }
}

/// A document of one kind, with its invalid values replaced.
struct Read<'a, T> {
    document: &'a Document,
    content: T,
    refused: Vec<String>,
}

/// The kinds of documents.
const KINDS: [&str; 4] = ["Cluster", "NodePool", "Host", environment::KIND];

impl Reader for V1Alpha1 {
    fn kinds(&self) -> Vec<(String, String)> {
        KINDS.map(|kind| (API_VERSION.to_owned(), kind.to_owned())).to_vec()
    }

    fn handles(&self, api_version: &str, kind: &str) -> bool {
        api_version == API_VERSION && KINDS.contains(&kind)
    }

    fn read(&self, documents: &[Document]) -> Reading {
        let mut diagnostics = Vec::new();
        let documents: Vec<Cow<'_, Document>> =
            documents.iter().map(|document| renamed::document(document, &mut diagnostics)).collect();
        let mut clusters: Vec<Read<'_, ClusterDocument>> = Vec::new();
        let mut pools: Vec<Read<'_, NodePoolDocument>> = Vec::new();
        let mut hosts: Vec<Read<'_, HostDocument>> = Vec::new();
        for document in &documents {
            match document.kind.as_str() {
                "Cluster" => clusters.extend(self.one(document, &self.cluster, &mut diagnostics)),
                "Host" => hosts.extend(self.one(document, &self.host, &mut diagnostics)),
                // Environments are rendered before their documents are read.
                environment::KIND => {}
                _ => pools.extend(self.one(document, &self.pool, &mut diagnostics)),
            }
        }
        drop_repeated_hosts(&mut hosts, &mut diagnostics);
        drop_repeated(&mut clusters, &mut diagnostics);
        let loaded = pools.len();
        let mut members = assign(&clusters, pools, &mut diagnostics);
        let has_strays = members.values().map(Vec::len).sum::<usize>() < loaded;
        let clusters = clusters
            .into_iter()
            .enumerate()
            .map(|(index, cluster)| {
                let pools = members.remove(&index).unwrap_or_default();
                build(cluster, (pools, has_strays), &hosts, &mut diagnostics)
            })
            .collect();
        Reading { clusters, diagnostics }
    }
}

impl V1Alpha1 {
    /// The shape of documents of a kind.
    pub(crate) fn shape(&self, kind: &str) -> Option<&Shape> {
        match kind {
            "Cluster" => Some(&self.cluster),
            "NodePool" => Some(&self.pool),
            "Host" => Some(&self.host),
            _ => None,
        }
    }

    fn one<'a, T: DeserializeOwned>(
        &self,
        document: &'a Document,
        shape: &Shape,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Read<'a, T>> {
        let checked = structure::check(document, shape, &self.vocabulary);
        diagnostics.extend(checked.diagnostics);
        let mut refused = checked.refused;
        if document.truncated {
            refused.push(String::new());
        }
        match serde_json::from_value(checked.json) {
            Ok(content) => Some(Read { document, content, refused }),
            Err(error) => {
                // The structural check uses the same types, so this is a defect of Slipway.
                let message = format!("the document cannot be converted: {error}");
                diagnostics.push(
                    Diagnostic::error(code::WRONG_TYPE, message)
                        .at(&document.file, document.root.span)
                        .hint("compare the document with `slipway explain`, and report this: it should have been found field by field"),
                );
                None
            }
        }
    }
}

/// The span of the text at `metadata.name`.
fn name_span(document: &Document) -> Span {
    document
        .root
        .get("metadata")
        .and_then(|metadata| metadata.get("name"))
        .map_or(document.root.span, |name| name.span)
}

fn drop_repeated(clusters: &mut Vec<Read<'_, ClusterDocument>>, diagnostics: &mut Vec<Diagnostic>) {
    let mut kept: Vec<Read<'_, ClusterDocument>> = Vec::new();
    for cluster in clusters.drain(..) {
        let name = &cluster.content.metadata.name;
        let first = kept.iter().find(|other| other.content.metadata.name == *name);
        match first.filter(|_| cluster.document.name().is_some()) {
            Some(first) => {
                diagnostics.push(repeated("cluster", name, cluster.document, first.document));
            }
            None => kept.push(cluster),
        }
    }
    *clusters = kept;
}

/// Host documents of one name: a node has the name of its host, so the name must be unique in all
/// inventories.
fn drop_repeated_hosts(hosts: &mut Vec<Read<'_, HostDocument>>, diagnostics: &mut Vec<Diagnostic>) {
    let mut kept: Vec<Read<'_, HostDocument>> = Vec::new();
    for host in hosts.drain(..) {
        let name = &host.content.metadata.name;
        let first = kept.iter().find(|other| other.content.metadata.name == *name);
        match first.filter(|_| host.document.name().is_some()) {
            Some(first) => diagnostics.push(repeated("host", name, host.document, first.document)),
            None => kept.push(host),
        }
    }
    *hosts = kept;
}

fn repeated(what: &str, name: &str, document: &Document, first: &Document) -> Diagnostic {
    Diagnostic::error(code::DUPLICATE_NAME, format!("there are two {what}s named `{name}`"))
        .at(&document.file, name_span(document))
        .hint(format!(
            "give one of them another name, or remove it; the first is in {}",
            first.location(name_span(first))
        ))
        .related("the first one", Some(&first.location(name_span(first))))
}

/// The pools of each cluster, by the cluster's index.
fn assign<'a>(
    clusters: &[Read<'_, ClusterDocument>],
    pools: Vec<Read<'a, NodePoolDocument>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> BTreeMap<usize, Vec<Read<'a, NodePoolDocument>>> {
    let names: Vec<&str> = clusters.iter().map(|cluster| cluster.content.metadata.name.as_str()).collect();
    let mut members: BTreeMap<usize, Vec<Read<'a, NodePoolDocument>>> = BTreeMap::new();
    for pool in pools {
        let name = &pool.content.metadata.name;
        let index = match (&pool.content.spec.cluster, names.as_slice()) {
            (Some(cluster), _) => names.iter().position(|name| name == cluster),
            (None, [_]) => Some(0),
            (None, _) => None,
        };
        if let Some(index) = index {
            members.entry(index).or_default().push(pool);
            continue;
        }
        let diagnostic = match &pool.content.spec.cluster {
            Some(cluster) => {
                let span = pool
                    .document
                    .root
                    .get("spec")
                    .and_then(|spec| spec.get("cluster"))
                    .map_or(pool.document.root.span, |node| node.span);
                let hint = match closest(cluster, names.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None if names.is_empty() => "load the Cluster document together with the pool".to_owned(),
                    None => format!("the clusters here are {}", names.join(", ")),
                };
                Diagnostic::error(
                    code::UNKNOWN_REFERENCE,
                    format!("the pool `{name}` belongs to the cluster `{cluster}`, which is not loaded"),
                )
                .at(&pool.document.file, span)
                .hint(hint)
            }
            None => {
                let hint = match beside(pool.document, clusters).or(names.first().copied()) {
                    Some(name) => format!(
                        "say which one it belongs to, as in `spec: {{ cluster: {name} }}`; or plan the folder of each cluster alone"
                    ),
                    None => "load the Cluster document together with the pool".to_owned(),
                };
                let what = if names.is_empty() { "no cluster is" } else { "several clusters are" };
                Diagnostic::error(
                    code::NO_CLUSTER,
                    format!("the pool `{name}` names no cluster, and {what} loaded"),
                )
                .at(&pool.document.file, name_span(pool.document))
                .hint(hint)
            }
        };
        // Where the document or name of a cluster could not be read, do not report its pools.
        let unread = clusters.is_empty() && !diagnostics.is_empty();
        let unnamed = clusters.iter().any(|cluster| cluster.document.name().is_none());
        if !unread && !unnamed {
            diagnostics.push(diagnostic);
        }
    }
    members
}

/// The first cluster in the file of a pool.
fn beside<'a>(pool: &Document, clusters: &'a [Read<'_, ClusterDocument>]) -> Option<&'a str> {
    let file = |document: &Document| document.location(name_span(document)).file;
    let own = file(pool);
    let cluster = clusters.iter().find(|cluster| file(cluster.document) == own)?;
    Some(cluster.content.metadata.name.as_str())
}

/// Builds a cluster from its documents. `has_strays` says whether a pool was loaded that belongs to no cluster.
fn build(
    cluster: Read<'_, ClusterDocument>,
    (pools, has_strays): (Vec<Read<'_, NodePoolDocument>>, bool),
    hosts: &[Read<'_, HostDocument>],
    diagnostics: &mut Vec<Diagnostic>,
) -> ReadCluster {
    let mut sources = FieldSources::default();
    let root = &cluster.document.root;
    sources.insert("", None, cluster.document.location(name_span(cluster.document)));
    for entry in root.get("metadata").map(crate::yaml::Node::entries).unwrap_or_default() {
        cluster.document.record(&mut sources, &entry.key.text, entry);
    }
    for entry in root.get("spec").map(crate::yaml::Node::entries).unwrap_or_default() {
        cluster.document.record(&mut sources, &entry.key.text, entry);
    }
    let mut refused: Vec<String> = cluster.refused.iter().map(|path| model_path(path, "")).collect();
    let mut documents: Vec<NodePoolDocument> = Vec::new();
    let mut seen: BTreeMap<String, &Document> = BTreeMap::new();
    for pool in pools {
        let name = pool.content.metadata.name.clone();
        if let Some(first) = seen.get(&name) {
            if pool.document.name().is_some() {
                diagnostics.push(repeated("pool", &name, pool.document, first));
            }
            continue;
        }
        let path = format!("pools[{name}]");
        record_parts(&mut sources, &path, pool.document);
        refused.extend(pool.refused.iter().map(|inner| model_path(inner, &path)));
        seen.insert(name, pool.document);
        documents.push(pool.content);
    }
    // The control plane may be a pool of which it was reported that it names no cluster.
    if has_strays && !documents.iter().any(|pool| pool.spec.role == Role::ControlPlane) {
        refused.push("pools".to_owned());
    }
    // Of all hosts that were loaded, those of inventories that a pool of this cluster selects from.
    let inventories: BTreeSet<&String> =
        documents.iter().filter_map(|pool| pool.spec.hosts.as_ref()?.inventory.as_ref()).collect();
    let mut own: Vec<Host> = Vec::new();
    for host in hosts.iter().filter(|host| inventories.contains(&host.content.spec.inventory)) {
        let path = format!("hosts[{}]", host.content.metadata.name);
        record_parts(&mut sources, &path, host.document);
        refused.extend(host.refused.iter().map(|inner| model_path(inner, &path)));
        own.push(host.content.clone().into());
    }
    let mut made = convert::cluster(cluster.content, documents, own);
    etcd_volumes_stay(&mut made, &sources);
    ReadCluster { cluster: made, sources, refused }
}

/// Records the places of a document's name and fields.
fn record_parts(sources: &mut FieldSources, path: &str, document: &Document) {
    sources.insert(path, None, document.location(name_span(document)));
    for part in ["metadata", "spec"] {
        for entry in document.root.get(part).map(crate::yaml::Node::entries).unwrap_or_default() {
            document.record(sources, &crate::reader::join(path, &entry.key.text), entry);
        }
    }
}

/// Keeps the volumes of etcd when their machines are deleted. A value that the documents set is left for the
/// checks.
fn etcd_volumes_stay(cluster: &mut Cluster, sources: &FieldSources) {
    // A longer list is refused.
    for etcd in cluster.etcd.iter_mut().filter(|etcd| etcd.members.len() <= count::ITEMS) {
        let list = format!("etcd[{}].members", etcd.name);
        let names: Vec<String> = etcd.members.iter().map(|member| member.name.clone()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for (index, member) in etcd.members.iter_mut().enumerate() {
            let field = format!("{}.volume.deleteOnTermination", item_path(&list, &names, index));
            if let Some(volume) = &mut member.volume
                && sources.origin(&field) == Origin::Default
            {
                volume.delete_on_termination = false;
            }
        }
    }
}

/// The path in the model of a path in a document: the model has no `metadata` and `spec`.
fn model_path(path: &str, prefix: &str) -> String {
    let inner = match path {
        "metadata" | "spec" => "",
        _ => path.strip_prefix("metadata.").or_else(|| path.strip_prefix("spec.")).unwrap_or(path),
    };
    match (prefix, inner) {
        ("", inner) => inner.to_owned(),
        (prefix, "") => prefix.to_owned(),
        (prefix, inner) => format!("{prefix}.{inner}"),
    }
}
