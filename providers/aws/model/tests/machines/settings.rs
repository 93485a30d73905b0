//! Settings of workers that change in place.

use serde_json::Value as Json;
use slipway_aws_model::catalog::Catalog;
use slipway_bootstrap::boot::{NodeBootstrap, NodeSettings};
use slipway_resource::Digest;
use slipway_spec::model::{
    Architecture, Cluster, FileAsset, NodePool, ProgramFile, ProgramName, Programs, Strategy,
};

use crate::harness::{expanded, inside, offline};
use crate::kops;
use crate::user_data::{text, written};

const TEMPLATE: &str = "aws_launch_template.nodes-m-example-com";
const GROUP: &str = "aws_autoscaling_group.nodes-m-example-com";
const MAP: &str = "kubernetes_object.ConfigMap/kube-system/slipway-settings-nodes";

/// A cluster whose workers ask for the credential of their node.
fn cluster(strategy: Strategy) -> Cluster {
    let mut cluster =
        kops("", "nodeLabels: { tier: gold }\nkubelet: { maxPods: 50, imageGCLowThresholdPercent: 70 }\n");
    cluster.assets.programs = Programs {
        mirrors: vec!["https://mirror.example.com".to_owned()],
        files: vec![ProgramFile {
            name: ProgramName::Provider,
            architecture: Architecture::Amd64,
            version: None,
            path: "slipway-provider-aws".to_owned(),
            sha256: "0".repeat(64),
        }],
    };
    let pool = workers(&mut cluster);
    pool.rollout.strategy = strategy;
    pool.node_files.files.push(FileAsset {
        name: "motd".to_owned(),
        path: "/etc/motd".to_owned(),
        content: "hello".to_owned(),
        mode: "0644".to_owned(),
    });
    cluster
}

fn workers(cluster: &mut Cluster) -> &mut NodePool {
    cluster.pools.iter_mut().find(|pool| pool.name == "nodes").unwrap()
}

/// The bootstrap document of the workers.
fn document(cluster: &Cluster) -> String {
    written(&text(offline(cluster).get(TEMPLATE).get("user_data").unwrap()))
}

fn read(document: &str) -> NodeBootstrap {
    NodeBootstrap::read(document.as_bytes(), Digest::of_bytes(document.as_bytes()).as_str()).unwrap()
}

/// The settings in the cluster.
fn settings(cluster: &Cluster) -> String {
    let objects = inside(cluster);
    let manifest = objects.get(MAP).get("manifest").unwrap().to_json();
    manifest["data"]["settings"].as_str().unwrap().to_owned()
}

#[test]
fn user_data_and_settings_together_are_the_whole_document() {
    let (replaced, in_place) = (cluster(Strategy::Replace), cluster(Strategy::InPlaceOrReplace));
    let mut seed: Json = serde_json::from_str(&document(&in_place)).unwrap();
    let name = seed["settings"]["configMap"].as_str().unwrap().to_owned();
    assert!(MAP.ends_with(&name), "{name}");
    for left in ["/node/labels", "/node/files", "/node/kubelet/imageGCLowThresholdPercent"] {
        assert!(seed.pointer(left).is_none(), "{left}: {seed}");
    }
    assert_eq!(seed["node"]["kubelet"]["maxPods"], 50);
    // The same document again, as soon as it does not name the object.
    seed.as_object_mut().unwrap().remove("settings");
    let whole = read(&seed.to_string()).with_settings(&NodeSettings::read(&settings(&in_place)).unwrap());
    assert_eq!(whole, read(&document(&replaced)));
    assert!(inside(&replaced).0.iter().all(|object| !object.address.name().contains("settings")));
}

#[test]
fn a_change_of_settings_does_not_touch_the_launch_template() {
    let before = cluster(Strategy::InPlaceOrReplace);
    let template = |cluster: &Cluster| offline(cluster).get(TEMPLATE).clone();
    let mut after = before.clone();
    let pool = workers(&mut after);
    pool.node_labels.insert("tier".to_owned(), "silver".to_owned());
    pool.kubelet.image_gc_low_threshold_percent = Some(60);
    pool.node_files.files[0].content = "good evening".to_owned();
    assert_eq!(template(&before), template(&after));
    assert_ne!(settings(&before), settings(&after));
    // Autoscalers read the labels of new nodes from the group.
    let tags = offline(&after).get(GROUP).get("tag").unwrap().to_json().to_string();
    assert!(tags.contains("node-template/label/tier") && tags.contains("silver"), "{tags}");
    // A field that is not known to be safe replaces the machines.
    workers(&mut after).kubelet.max_pods = Some(60);
    assert_ne!(template(&before), template(&after));
}

#[test]
fn nodes_may_read_the_settings_of_all_pools_and_nothing_else() {
    let objects = inside(&cluster(Strategy::InPlace));
    let of = |kind: &str| {
        let address = format!("kubernetes_object.{kind}/kube-system/slipway-node-settings");
        objects.get(&address).get("manifest").unwrap().to_json()
    };
    let role = of("Role");
    assert_eq!(role["rules"][0]["resourceNames"], serde_json::json!(["slipway-settings-nodes"]));
    assert_eq!(role["rules"][0]["verbs"], serde_json::json!(["get"]));
    assert_eq!(of("RoleBinding")["subjects"][0]["name"], "system:nodes");
}

#[test]
fn a_pool_that_cannot_change_in_place_is_named() {
    let mut cluster = cluster(Strategy::InPlaceOrReplace);
    cluster.assets.programs = Programs::default();
    let expansion = expanded(&cluster, &Catalog::offline("eu-west-1")).unwrap();
    let note = expansion.notes.iter().find(|note| note.field == "pools[nodes].rollout.strategy").unwrap();
    assert!(note.message.contains("assets.programs"), "{}", note.message);
    assert!(!document(&cluster).contains("configMap"));
}
