//! The list of pools whose machines get the credential of a node.

use slipway_spec::model::{Architecture, Cluster, ProgramFile, ProgramName, Programs};

use crate::harness::{inside, shown};
use crate::kops;

const LIST: &str = "kubernetes_object.ConfigMap/kube-system/slipway-pools";

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
    assert!(objects.0.iter().all(|object| object.address.to_string() != LIST));
}
