//! Machines: their identities and their user data.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends there")]

#[path = "../expand/harness.rs"]
#[allow(dead_code, reason = "shared with the tests of what is around machines")]
mod harness;

mod architectures;
mod identities;
mod key_service;
mod listed_pools;
mod not_carried_out;
mod pools;
mod settings;
mod user_data;

use slipway_kops::KopsReader;
use slipway_spec::load::load_files;
use slipway_spec::model::Cluster;
use slipway_spec::source::SourceFile;

/// A kOps cluster with these further lines in its `spec`, and in that of its workers.
fn kops(cluster: &str, workers: &str) -> Cluster {
    let indented = |text: &str| text.lines().map(|line| format!("  {line}\n")).collect::<String>();
    let group = |name: &str, role: &str, more: &str| {
        format!(
            "---\napiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata:\n  name: {name}\n  labels:\n    \
             kops.k8s.io/cluster: m.example.com\nspec:\n  role: {role}\n  image: ubuntu\n  minSize: 1\n  maxSize: 1\n  \
             subnets: [a]\n{more}"
        )
    };
    let text = format!(
        "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata:\n  name: m.example.com\nspec:\n  cloudProvider: aws\n  \
         kubernetesVersion: 1.35.2\n  networkCIDR: 10.0.0.0/16\n  subnets:\n  - {{ name: a, zone: eu-west-1a, type: Public, \
         cidr: 10.0.1.0/24 }}\n  etcdClusters:\n  - {{ name: main, etcdMembers: [{{ name: a, instanceGroup: masters }}] }}\n\
         {}{}{}{}",
        if cluster.contains("networking:") { "" } else { "  networking: { cni: {} }\n" },
        indented(cluster),
        group("masters", "Master", "  machineType: m5.large\n"),
        group("nodes", "Node", &indented(&format!("{}{workers}", machine(workers)))),
    );
    let loaded = load_files(vec![SourceFile::new("m.yaml", text.clone())], &[&KopsReader::default()]);
    let rendered = slipway_spec::diagnostic::render_all(&loaded.diagnostics);
    assert!(loaded.is_valid(), "{rendered}\n{text}");
    loaded.clusters.into_iter().next().unwrap()
}

fn machine(workers: &str) -> &'static str {
    if workers.contains("machineType") { "" } else { "machineType: m5.large\n" }
}
