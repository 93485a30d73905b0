//! Every field of a spec does something on AWS: another value is another set of resources, or is refused or remarked on.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends there")]

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use slipway_aws_model::catalog::Catalog;
use slipway_resource::Digest;
use slipway_resource::provider::{self, ExpandRequest};
use slipway_spec::diagnostic::Severity;
use slipway_spec::leaves::change::{candidates, field, merge, places, set, without_names};
use slipway_spec::leaves::{Leaf, leaves};
use slipway_spec::load::load_files;
use slipway_spec::source::SourceFile;
use slipway_spec::yaml;

const BASE: &str = include_str!("../../../../fixtures/leaves/base.yaml");

/// The base of all providers, on AWS.
fn base() -> Vec<Json> {
    let mut text = BASE.to_owned();
    for (from, to) in EDITS {
        assert!(text.contains(from), "the base has no {from:?}");
        text = text.replace(from, to);
    }
    let (documents, diagnostics) = yaml::parse(&SourceFile::new("base.yaml", text));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    // Machines that exist are not for a cloud that makes them.
    let all = documents.iter().map(|document| document.root.to_json());
    all.filter(|document| document.pointer("/spec/hosts").is_none()).collect()
}

const EDITS: &[(&str, &str)] = &[
    (
        "provider: { name: sim, config: { account: leaves } }",
        "provider: { name: aws, config: { account: \"111122223333\" } }",
    ),
    ("region: sim-1\n", "region: eu-west-1\n"),
    ("sim-1", "eu-west-1"),
    ("sim://", "s3://"),
    ("type: ssd", "type: gp3"),
    ("  subnets: [nat-new, nat-old]\n  publicIp: false", "  subnets: [open, nat-old]\n  publicIp: false"),
    ("sim.large", "m7i.large"),
    ("sim.xlarge", "m7i.xlarge"),
    ("sim.medium", "m7i.medium"),
    ("sim-linux-2026-10", "ami-0a1b2c3d"),
    ("sim_network.*", "aws_vpc.*"),
    ("sim_subnet.", "aws_subnet."),
    ("arn:sim:certificate/one", "arn:aws:acm:eu-west-1:111122223333:certificate/one"),
];

/// Parts that exclude parts of the base, as merge patches of its cluster, and the leaves in them.
fn variants() -> Vec<(&'static str, Json)> {
    let endpoint = |endpoint: Json| {
        let mut patch = json!({ "spec": { "controlPlane": { "endpoint": { "loadBalancer": null } } } });
        merge(&mut patch["spec"]["controlPlane"]["endpoint"], &endpoint);
        patch
    };
    vec![
        (
            "spec.controlPlane.endpoint.given",
            endpoint(json!({ "given": { "host": "api.leaves.example.com", "port": 8443 } })),
        ),
        (
            "spec.controlPlane.endpoint.virtualIp.bgp",
            endpoint(json!({ "virtualIp": {
                "address": "10.10.40.10", "mode": "bgp", "bgp": { "autonomousSystem": 65001, "peers": [
                    { "address": "10.10.40.1", "autonomousSystem": 65002, "multihop": true }
                ] }
            } })),
        ),
        (
            "spec.controlPlane.endpoint.virtualIp",
            endpoint(json!({ "virtualIp": {
                "address": "10.10.40.10", "holder": "kubeVip", "interface": "eth0", "mode": "arp", "port": 8443
            } })),
        ),
        ("spec.ssh.keyName", json!({ "spec": { "ssh": { "keys": null, "keyName": "operators" } } })),
        (
            "spec.import",
            json!({ "spec": { "import": [{ "to": "aws_subnet.nat-new", "id": "subnet-0a1b2c3d" }] } }),
        ),
        ("", json!({})),
    ]
}

/// The effect of another value; if there are several values, the first effect in this order counts.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// Other resources.
    Changed,
    /// A remark on the field, or a refusal that names it.
    Named,
    /// Nothing.
    Silent,
    /// The documents were refused before they reached the provider.
    Refused(String),
}

/// The result for documents.
enum Expanded {
    Resources(String, Vec<String>),
    Refused(String, bool),
}

fn expand(documents: &[Json]) -> Expanded {
    let texts: Vec<String> = documents.iter().map(Json::to_string).collect();
    let loaded = load_files(vec![SourceFile::new("spec.yaml", texts.join("\n---\n"))], &[]);
    let errors: Vec<String> = loaded
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .map(|diagnostic| diagnostic.message.clone())
        .collect();
    let Some(cluster) = loaded.clusters.first().filter(|_| errors.is_empty()) else {
        return Expanded::Refused(errors.join("; "), false);
    };
    let data = serde_json::to_value(Catalog::offline("eu-west-1")).unwrap();
    let catalog = provider::Catalog { digest: Digest::of(&data).unwrap(), data };
    match slipway_aws_model::expand::expand(&ExpandRequest {
        cluster: cluster.to_provider().unwrap(),
        catalog,
    }) {
        Ok(expansion) => Expanded::Resources(
            serde_json::to_string(&expansion.resources).unwrap(),
            expansion.notes.iter().map(|note| without_names(&note.field)).collect(),
        ),
        Err(error) => Expanded::Refused(error.message, true),
    }
}

#[test]
fn every_leaf_changes_the_resources_or_is_named() {
    let variants: Vec<(&str, Vec<Json>, String)> = variants()
        .into_iter()
        .map(|(leaf, patch)| {
            let mut documents = base();
            merge(documents.first_mut().unwrap(), &patch);
            match expand(&documents) {
                Expanded::Resources(resources, _) => (leaf, documents, resources),
                Expanded::Refused(why, _) => panic!("the base of {leaf:?} is refused: {why}"),
            }
        })
        .collect();
    let mut silent = Vec::new();
    let mut refused = BTreeMap::new();
    // The tests of user data cover the downloads of machines.
    for leaf in leaves().into_iter().filter(|leaf| {
        leaf.document != "Host"
            && !leaf.path.starts_with("spec.hosts.")
            && !leaf.path.contains(".wireguard.")
            && !leaf.path.starts_with("spec.assets.programs.")
    }) {
        let (_, documents, resources) =
            variants.iter().find(|(path, ..)| leaf.path.starts_with(path)).unwrap();
        let name = format!("{} {}", leaf.document, leaf.path);
        match outcome(&leaf, documents, resources) {
            Some(Outcome::Changed | Outcome::Named) => {}
            Some(Outcome::Refused(why)) => {
                refused.insert(name, why);
            }
            Some(Outcome::Silent) => silent.push(name),
            None => silent.push(format!("{name} (the base has no place for it)")),
        }
    }
    let silent: Vec<&str> =
        silent.iter().map(String::as_str).filter(|name| !OF_CORE.contains(name)).collect();
    assert!(silent.is_empty(), "{} leaves say nothing:\n{}", silent.len(), silent.join("\n"));
    let mut names: Vec<&str> = refused.keys().map(String::as_str).collect();
    let mut expected = REFUSED.to_vec();
    names.sort_unstable();
    expected.sort_unstable();
    assert_eq!(names, expected, "only ever refused: {refused:#?}");
}

/// Leaves that the core honours for every provider: how plans are made, the manifests of add-ons, and the account and region of
/// the session.
const OF_CORE: &[&str] = &[
    "Cluster spec.addons[].manifest.file",
    "Cluster spec.addons[].manifest.url.sha256",
    "Cluster spec.addons[].manifest.url.url",
    "Cluster spec.controlPlane.gates[].expression",
    "Cluster spec.controlPlane.gates[].name",
    "Cluster spec.controlPlane.gates[].objects.apiVersion",
    "Cluster spec.controlPlane.gates[].objects.kind",
    "Cluster spec.controlPlane.gates[].objects.labelSelector",
    "Cluster spec.controlPlane.gates[].objects.namespace",
    "Cluster spec.controlPlane.gates[].prometheus.namespace",
    "Cluster spec.controlPlane.gates[].prometheus.port",
    "Cluster spec.controlPlane.gates[].prometheus.query",
    "Cluster spec.controlPlane.gates[].prometheus.service",
    "Cluster spec.controlPlane.gates[].waived",
    "Cluster spec.deletionProtection",
    "Cluster spec.ignoreChanges[].attribute",
    "Cluster spec.ignoreChanges[].resource",
    "Cluster spec.import[].id",
    "Cluster spec.import[].to",
    "Cluster spec.moved[].from",
    "Cluster spec.moved[].to",
    "Cluster spec.provider.config",
    "Cluster spec.provider.name",
    "Cluster spec.region",
    "Cluster spec.removed[].from",
];
/// Leaves for which no other value fits the rest of the spec: the value is refused at its place.
const REFUSED: &[&str] = &[
    // Pools refer to their cluster by name, and the name identifies the cluster.
    "Cluster metadata.name",
    "NodePool spec.cluster",
    // Only machines that exist hand it over by themselves.
    "Cluster spec.controlPlane.endpoint.virtualIp.holder",
    // Each mode has its own settings.
    "Cluster spec.controlPlane.endpoint.virtualIp.mode",
    // Only machines that exist host their control plane themselves, have a balancer, and emulate a version.
    "Cluster spec.controlPlane.hosting",
    "Cluster spec.controlPlane.nodeLocalBalancer",
    "Cluster spec.controlPlane.onBrokenGate",
    "Cluster spec.controlPlane.soak",
    // A key has one source, which the program reads.
    "Cluster spec.encryption.atRest.key.file",
    "Cluster spec.encryption.atRest.key.sops",
    "Cluster spec.encryption.atRest.kmsEndpoint",
    "Cluster spec.etcd[].members[].pool",
    "Cluster spec.etcd[].members[].volume.deleteOnTermination",
    // Other families and topologies have other subnets; `families` has tests of them.
    "Cluster spec.network.ipFamily",
    "Cluster spec.network.ipv6Cidr",
    "Cluster spec.network.subnets[].ipv6Cidr",
    "Cluster spec.network.topology",
];

fn outcome(leaf: &Leaf, documents: &[Json], before: &str) -> Option<Outcome> {
    let mut best: Option<Outcome> = None;
    for (document, pointer) in places(documents, leaf) {
        for value in candidates(leaf, documents[document].pointer(&pointer), &chosen) {
            let mut changed = documents.to_vec();
            set(&mut changed[document], &pointer, &value);
            let field = field(&changed[document], &pointer);
            let outcome = match expand(&changed) {
                Expanded::Resources(after, _) if after != before => Outcome::Changed,
                Expanded::Resources(_, notes)
                    if notes.iter().any(|note| field.starts_with(note.as_str())) =>
                {
                    Outcome::Named
                }
                Expanded::Resources(..) => Outcome::Silent,
                Expanded::Refused(why, by_provider) => {
                    let name = pointer.rsplit('/').next().unwrap_or_default();
                    if by_provider && why.contains(name) { Outcome::Named } else { Outcome::Refused(why) }
                }
            };
            if outcome == Outcome::Changed {
                return Some(outcome);
            }
            if best.as_ref().is_none_or(|best| outcome < *best) {
                best = Some(outcome);
            }
        }
    }
    best
}

/// Values that fit the rest of the base, for leaves whose examples do not.
fn chosen(path: &str) -> Vec<Json> {
    match path {
        "spec.addons[].manifest.url.sha256" => vec![json!("ab".repeat(32))],
        "spec.controlPlane.endpoint.loadBalancer.subnets" => vec![json!(["utility-a"])],
        "spec.controlPlane.endpoint.virtualIp.address" => vec![json!("10.10.40.11")],
        "spec.controlPlane.gates[].expression" => vec![json!("true")],
        "spec.etcd[].members[].subnet" => vec![json!("nat-old")],
        "spec.etcd[].name" => vec![json!("leases")],
        "spec.kubelet.cpuManagerPolicy" => vec![json!("none")],
        "spec.kubelet.evictionSoft" => vec![json!({ "memory.available": "12%" })],
        "spec.kubelet.evictionSoftGracePeriod" => vec![json!({ "memory.available": "2m" })],
        "spec.kubelet.topologyManagerPolicy" => vec![json!("single-numa-node")],
        "spec.kubernetesVersion" => vec![json!("1.35.3")],
        "spec.network.cidr" => vec![json!("10.10.0.0/15")],
        "spec.network.dnsAddress" => vec![json!("100.64.0.54")],
        "spec.network.serviceCidrs" => vec![json!(["100.64.0.0/14"])],
        "spec.network.subnets[].cidr" => vec![json!("10.10.176.0/20")],
        "spec.network.subnets[].zone" => vec![json!("eu-west-1b"), json!("eu-west-1a")],
        "spec.nodeFiles.files[].mode" => vec![json!("0600")],
        "spec.spot.maxPrice" => vec![json!("0.30")],
        "spec.subnets" => vec![json!(["nat-new"])],
        "spec.publicIp" => vec![json!(true)],
        "spec.zones" => vec![json!(["eu-west-1a", "eu-west-1b", "eu-west-1c"]), json!(["eu-west-1b"])],
        _ if path.ends_with("resources.cpuRequest") => vec![json!("200m")],
        _ => Vec::new(),
    }
}
