//! The list of pools whose machines get the credential of a node, and the documents that they get with it.

use serde_json::{Value as Json, json};
use slipway_aws_model::catalog::Catalog;
use slipway_bootstrap::boot::{Bootstrap, NodeBootstrap};
use slipway_resource::Digest;
use slipway_spec::model::{Architecture, Cluster, FileAsset, ProgramFile, ProgramName, Programs};

use crate::harness::{expanded, inside, offline, shown};
use crate::kops;
use crate::user_data::{text, written};

const LIST: &str = "kubernetes_object.ConfigMap/kube-system/slipway-pools";
const DOCUMENT: &str = "kubernetes_object.ConfigMap/kube-system/slipway-document-nodes";
const TEMPLATE: &str = "aws_launch_template.nodes-m-example-com";
const CONTROL_PLANES: &str = "aws_launch_template.masters-masters-m-example-com";

/// A cluster whose machines have a program, and whose pool of workers has further lines.
fn cluster(program: ProgramName, workers: &str) -> Cluster {
    let mut cluster = kops("", workers);
    cluster.assets.programs = Programs {
        mirrors: vec!["https://mirror.example.com".to_owned()],
        files: vec![ProgramFile {
            name: program,
            architecture: Architecture::Amd64,
            version: None,
            path: "program".to_owned(),
            sha256: "0".repeat(64),
        }],
    };
    cluster
}

/// The entries of the list.
fn entries(cluster: &Cluster) -> String {
    shown(inside(cluster).get(LIST).get("manifest").and_then(|manifest| manifest.get("data")).unwrap())
}

#[test]
fn control_planes_know_the_template_and_the_role_of_each_pool_of_workers() {
    let list = entries(&cluster(ProgramName::Provider, ""));
    assert!(list.contains("nodes.template: aws_launch_template.nodes-m-example-com.id"), "{list}");
    assert!(list.contains("nodes.role: nodes.m.example.com"), "{list}");
    assert!(!list.contains("masters"), "{list}");
}

#[test]
fn the_role_of_a_profile_of_the_user_is_not_listed() {
    let profile = "iam: { profile: 'arn:aws:iam::123456789012:instance-profile/own' }\n";
    let list = entries(&cluster(ProgramName::Provider, profile));
    assert!(list.contains("nodes.template: ") && !list.contains("nodes.role"), "{list}");
}

#[test]
fn without_the_program_of_the_provider_no_machine_asks_and_there_is_no_list() {
    let objects = inside(&cluster(ProgramName::Slipway, ""));
    let mut names = objects.0.iter().map(|object| object.address.to_string());
    assert!(names.all(|name| name != LIST && name != DOCUMENT));
}

/// The file that the user data of a template writes, and its digest in the script.
fn file(cluster: &Cluster, template: &str) -> (String, String) {
    let script = text(offline(cluster).get(template).get("user_data").unwrap());
    let digest = script.rsplit_once("--digest ").unwrap().1.lines().next().unwrap().to_owned();
    (written(&script), digest)
}

#[test]
fn user_data_of_workers_has_only_what_finds_the_cluster_and_the_digest_of_the_rest() {
    let cluster = cluster(ProgramName::Provider, "nodeLabels: { tier: gold }\nkubelet: { maxPods: 50 }\n");
    let manifest = inside(&cluster).get(DOCUMENT).get("manifest").unwrap().to_json();
    let document = manifest["data"]["document"].as_str().unwrap();
    let (written, digest) = file(&cluster, TEMPLATE);
    let json: Json = serde_json::from_str(&written).unwrap();
    let expected = json!({
        "apiVersion": "slipway.dev/v1alpha1",
        "kind": "NodeBootstrapReference",
        "cluster": { "name": "m.example.com", "provider": "aws", "region": "eu-west-1" },
        "node": { "pool": "nodes", "role": "worker", "architecture": "amd64", "kubernetesVersion": "1.35.2" },
        "document": { "digest": Digest::of_bytes(document.as_bytes()).to_string() },
        "programs": {
            "mirrors": ["https://mirror.example.com"],
            "files": [{ "name": "provider", "path": "program", "sha256": "0".repeat(64) }],
        },
    });
    assert_eq!(json, expected);
    let Bootstrap::Reference(reference) = Bootstrap::read(written.as_bytes(), &digest).unwrap() else {
        panic!("the user data has the document itself")
    };
    assert_eq!(reference.document(document).unwrap().pool(), "nodes");
    // Control planes read their document from the user data.
    let (written, digest) = file(&cluster, CONTROL_PLANES);
    assert!(NodeBootstrap::read(written.as_bytes(), &digest).unwrap().is_control_plane());
}

/// The cluster with a file of so many bytes on its workers.
fn with_file(bytes: usize) -> Cluster {
    let mut cluster = cluster(ProgramName::Provider, "");
    let pool = cluster.pools.iter_mut().find(|pool| pool.name == "nodes").unwrap();
    // It gets no smaller when it is compressed.
    let noise =
        (0_u64..).flat_map(|number| format!("{:x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into_bytes());
    pool.node_files.files.push(FileAsset {
        name: "data".to_owned(),
        path: "/srv/data".to_owned(),
        content: noise.take(bytes).map(char::from).collect(),
        mode: "0644".to_owned(),
    });
    cluster
}

#[test]
fn a_large_document_has_the_same_user_data_but_for_its_digest() {
    let parts = |cluster: &Cluster| {
        let mut json: Json = serde_json::from_str(&file(cluster, TEMPLATE).0).unwrap();
        (json["document"].take(), json)
    };
    let ((one, rest), (other, others)) = (parts(&with_file(10)), parts(&with_file(100_000)));
    assert_ne!(one, other);
    assert_eq!(rest, others);
}

#[test]
fn a_document_that_no_config_map_takes_is_refused() {
    let error = expanded(&with_file(1024 * 1024), &Catalog::offline("eu-west-1")).unwrap_err();
    assert!(
        error.message.starts_with("pools[nodes].nodeFiles: the bootstrap document has "),
        "{}",
        error.message
    );
}
