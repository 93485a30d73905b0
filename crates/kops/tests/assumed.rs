//! Values that documents do not set, as kOps fills them in.

use serde_json::{Value, json};
use slipway_kops::KopsReader;
use slipway_spec::{
    diagnostic::Severity,
    load::{Loaded, load_files},
    model::{Cluster, Endpoint, NodePool},
    source::SourceFile,
};

const CLUSTER: &str = "
apiVersion: kops.k8s.io/v1alpha2
kind: Cluster
metadata: { name: open.example.com }
spec:
  cloudProvider: aws
  configBase: s3://store/open.example.com
  etcdClusters:
  - name: main
    etcdMembers: [{ name: a, instanceGroup: masters }]
  kubernetesVersion: v1.35.0
  networkCIDR: 172.20.0.0/16
  networking: { cilium: {} }
  subnets:
  - { name: b, type: Private, zone: eu-west-1b }
  - { name: a, type: Private, zone: eu-west-1a }
  - { name: utility-a, type: Utility, zone: eu-west-1a }
  - { name: utility-b, type: Utility, zone: eu-west-1b }
";

fn group(name: &str, role: &str, more: &str) -> String {
    format!(
        "---\napiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {{ name: {name}, labels: {{ \
         kops.k8s.io/cluster: open.example.com }} }}\nspec:\n  role: {role}\n  machineType: m5.large\n{more}"
    )
}

fn load(cluster: &str, groups: &[String]) -> Loaded {
    let masters = group("masters", "Master", "  minSize: 1\n  maxSize: 1\n  subnets: [a]\n");
    let text = format!("{CLUSTER}{cluster}{masters}{}", groups.concat());
    load_files(vec![SourceFile::new("open.yaml", text)], &[&KopsReader::default()])
}

fn read(cluster: &str, groups: &[String]) -> Cluster {
    let mut loaded = load(cluster, groups);
    assert!(loaded.is_valid(), "{:#?}", loaded.diagnostics);
    loaded.clusters.remove(0)
}

#[allow(clippy::expect_used, reason = "a test that cannot go on ends there")]
fn pool<'a>(cluster: &'a Cluster, name: &str) -> &'a NodePool {
    cluster.pools.iter().find(|pool| pool.name == name).expect("the pool is there")
}

/// A part of a cluster as JSON.
macro_rules! json_of {
    ($value:expr) => {
        serde_json::to_value($value).unwrap_or_default()
    };
}

#[test]
fn subnets_take_eighths_of_the_network_zone_by_zone() {
    let loaded = load("", &[]);
    let network = &loaded.clusters[0].network;
    let ranges: Vec<_> = network
        .subnets
        .iter()
        .map(|subnet| {
            format!("{} {}", subnet.name, subnet.cidr.map(|cidr| cidr.to_string()).unwrap_or_default())
        })
        .collect();
    assert_eq!(
        ranges,
        ["b 172.20.64.0/19", "a 172.20.32.0/19", "utility-a 172.20.0.0/22", "utility-b 172.20.4.0/22"]
    );
    let notes = loaded.diagnostics.iter().filter(|found| found.severity == Severity::Note);
    let first = notes.map(|found| found.message.clone()).find(|message| message.contains("subnet a has"));
    assert_eq!(first.as_deref(), Some("the subnet a has no cidr; 172.20.32.0/19 is assumed"));
}

#[test]
fn a_group_without_subnets_has_all_that_are_there_for_its_role() {
    let cluster = read("", &[group("nodes", "Node", ""), group("servers", "APIServer", "")]);
    for name in ["nodes", "servers"] {
        assert_eq!(pool(&cluster, name).subnets, ["b", "a"], "{name}");
        assert_eq!(json_of!(&pool(&cluster, name).size), json!({ "fixed": 2 }), "{name}");
    }
}

#[test]
fn a_control_plane_without_subnets_is_refused() {
    let loaded = load("", &[group("more", "Master", "")]);
    let errors: Vec<_> =
        loaded.diagnostics.iter().filter(|found| found.severity == Severity::Error).collect();
    assert!(
        errors.iter().any(|error| error.message == "the instance group more names no subnets"),
        "{errors:#?}"
    );
}

#[test]
fn a_group_s_warm_pool_has_what_the_cluster_s_has() {
    let shared = "  warmPool: { minSize: 3, enableLifecycleHook: true }\n";
    let own = "  warmPool: { minSize: 0, maxSize: 9, enableLifecycleHook: false }\n";
    let cluster = read(shared, &[group("nodes", "Node", own), group("servers", "APIServer", "")]);
    assert_eq!(
        json_of!(&pool(&cluster, "nodes").warm_pool),
        json!({ "minSize": 3, "maxSize": 9, "lifecycleHook": true })
    );
    assert!(pool(&cluster, "servers").warm_pool.is_some());
    assert!(pool(&cluster, "masters").warm_pool.is_none());
}

#[test]
fn control_planes_have_no_labels_of_workers() {
    let shared =
        "  kubelet: { nodeLabels: { of: workers } }\n  masterKubelet: { nodeLabels: { of: masters } }\n";
    let cluster = read(shared, &[group("nodes", "Node", "")]);
    assert_eq!(json_of!(&pool(&cluster, "nodes").node_labels)["of"], "workers");
    assert_eq!(json_of!(&pool(&cluster, "masters").node_labels)["of"], "masters");
    let cluster = read("  kubelet: { nodeLabels: { of: workers } }\n", &[]);
    assert_eq!(json_of!(&pool(&cluster, "masters").node_labels)["of"], Value::Null);
}

#[test]
fn api_servers_apart_decide_how_the_api_is_reached() {
    let public = "  - { name: front, type: Public, zone: eu-west-1a, cidr: 172.20.200.0/24 }\n";
    let servers = group("servers", "APIServer", "  subnets: [front]\n");
    let balanced = |cluster: &Cluster| matches!(cluster.control_plane.endpoint, Endpoint::LoadBalancer(_));
    assert!(balanced(&read(public, &[])));
    assert!(!balanced(&read(public, &[servers])));
}

#[test]
fn an_issuer_of_both_families_names_its_bucket_in_the_path() {
    let discovery = "  serviceAccountIssuerDiscovery: { discoveryStore: 's3://keys/open', enableAWSOIDCProvider: true }\n";
    let cluster = read(discovery, &[]);
    let issuer = |cluster: &Cluster| json_of!(cluster).to_string();
    assert!(
        issuer(&cluster).contains("https://keys.s3.eu-west-1.amazonaws.com/open"),
        "{}",
        issuer(&cluster)
    );
    let cluster = read(&format!("  nonMasqueradeCIDR: '::/0'\n{discovery}"), &[]);
    let wanted = "https://s3.dualstack.eu-west-1.amazonaws.com/keys/open";
    assert!(issuer(&cluster).contains(wanted), "{}", issuer(&cluster));
}
