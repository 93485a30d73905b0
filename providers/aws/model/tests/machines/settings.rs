//! Settings of workers and control planes that change in place.

use serde_json::Value as Json;
use slipway_aws_model::catalog::Catalog;
use slipway_bootstrap::boot::{NodeBootstrap, NodeSettings};
use slipway_resource::{Digest, Path};
use slipway_spec::model::{
    Architecture, Cluster, Component, ComponentName, FileAsset, NodePool, ProgramFile, ProgramName, Programs,
    Role, Strategy,
};

use crate::harness::{expanded, inside, offline};
use crate::kops;
use crate::user_data::{text, written};

const TEMPLATE: &str = "aws_launch_template.nodes-m-example-com";
const GROUP: &str = "aws_autoscaling_group.nodes-m-example-com";
const MAP: &str = "kubernetes_object.ConfigMap/kube-system/slipway-settings-nodes";
const DOCUMENT: &str = "kubernetes_object.ConfigMap/kube-system/slipway-document-nodes";
const CONTROL_PLANES: &str = "aws_launch_template.masters-masters-m-example-com";
const MAP_OF_CONTROL_PLANES: &str = "kubernetes_object.ConfigMap/kube-system/slipway-settings-masters";

/// A cluster whose workers ask for the credential of their node.
fn cluster(strategy: Strategy) -> Cluster {
    let mut cluster = kops(
        "",
        "nodeLabels: { tier: gold }\nkubelet: { maxPods: 50, imageGCLowThresholdPercent: 70, failSwapOn: false }\n",
    );
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

/// The bootstrap document of the workers: in the cluster, or in their user data.
fn document(cluster: &Cluster) -> String {
    let objects = inside(cluster);
    if !objects.0.iter().any(|object| object.address.to_string() == DOCUMENT) {
        return written(&text(offline(cluster).get(TEMPLATE).get("user_data").unwrap()));
    }
    let manifest = objects.get(DOCUMENT).get("manifest").unwrap().to_json();
    manifest["data"]["document"].as_str().unwrap().to_owned()
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
    for left in
        ["/node/labels", "/node/files", "/node/kubelet/imageGCLowThresholdPercent", "/node/kubelet/maxPods"]
    {
        assert!(seed.pointer(left).is_none(), "{left}: {seed}");
    }
    assert_eq!(seed["node"]["kubelet"]["failSwapOn"], false);
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
    // Nodes are drained before this changes.
    pool.kubelet.max_pods = Some(60);
    pool.node_files.files[0].content = "good evening".to_owned();
    assert_eq!(template(&before), template(&after));
    assert_ne!(settings(&before), settings(&after));
    // Autoscalers read the labels of new nodes from the group.
    let tags = offline(&after).get(GROUP).get("tag").unwrap().to_json().to_string();
    assert!(tags.contains("node-template/label/tier") && tags.contains("silver"), "{tags}");
    // A field that is not known to be safe replaces the machines.
    workers(&mut after).kubelet.fail_swap_on = Some(true);
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

/// The same cluster, with control planes that change in place.
fn control_planes(strategy: Strategy) -> Cluster {
    let mut cluster = cluster(Strategy::InPlaceOrReplace);
    let flags = [("event-ttl".to_owned(), "2h".to_owned())].into();
    cluster
        .components
        .insert(ComponentName::ApiServer, Component { extra_args: flags, ..Component::default() });
    for pool in cluster.pools.iter_mut().filter(|pool| pool.role == Role::ControlPlane) {
        pool.rollout.strategy = strategy;
        pool.node_labels.insert("tier".to_owned(), "iron".to_owned());
    }
    cluster
}

/// The bootstrap document of the control planes.
fn document_of_control_planes(cluster: &Cluster) -> String {
    written(&text(offline(cluster).get(CONTROL_PLANES).get("user_data").unwrap()))
}

#[test]
fn a_control_plane_that_begins_the_cluster_has_the_settings_of_the_object() {
    let (replaced, in_place) =
        (control_planes(Strategy::Replace), control_planes(Strategy::InPlaceOrReplace));
    let document = document_of_control_planes(&in_place);
    let mut seed: Json = serde_json::from_str(&document).unwrap();
    for left in ["/node/labels", "/components/apiServer"] {
        assert!(seed.pointer(left).is_none(), "{left}: {seed}");
    }
    let manifest = inside(&in_place).get(MAP_OF_CONTROL_PLANES).get("manifest").unwrap().to_json();
    let text = manifest["data"]["settings"].as_str().unwrap();
    // Byte by byte: the machine names the settings by their digest.
    assert_eq!(read(&document).first_settings(), Some(text));
    seed.as_object_mut().unwrap().remove("settings");
    let whole = read(&seed.to_string()).with_settings(&NodeSettings::read(text).unwrap());
    assert_eq!(whole, read(&document_of_control_planes(&replaced)));
}

#[test]
fn a_flag_of_the_api_server_is_a_setting_and_one_of_etcd_replaces_machines() {
    let before = control_planes(Strategy::InPlace);
    let template = |cluster: &Cluster| {
        let mut template = offline(cluster).get(CONTROL_PLANES).clone();
        let mut seed: Json = serde_json::from_str(&document_of_control_planes(cluster)).unwrap();
        seed["settings"].as_object_mut().unwrap().remove("first");
        template.set(&Path::key("user_data"), seed.to_string().into());
        template
    };
    let with = |name: ComponentName| {
        let mut after = before.clone();
        let flags = [("event-ttl".to_owned(), "3h".to_owned())].into();
        after.components.insert(name, Component { extra_args: flags, ..Component::default() });
        after
    };
    let settings = |cluster: &Cluster| {
        let manifest = inside(cluster).get(MAP_OF_CONTROL_PLANES).get("manifest").unwrap().to_json();
        manifest["data"]["settings"].as_str().unwrap().to_owned()
    };
    let (of_api, of_etcd) = (with(ComponentName::ApiServer), with(ComponentName::Etcd));
    assert_eq!(template(&before), template(&of_api));
    assert_ne!(settings(&before), settings(&of_api));
    assert_ne!(template(&before), template(&of_etcd));
    assert_eq!(settings(&before), settings(&of_etcd));
}

#[test]
fn workers_change_after_control_planes_and_cannot_read_their_settings() {
    let objects = inside(&control_planes(Strategy::InPlaceOrReplace));
    let workers = objects.0.iter().find(|object| object.address.to_string() == MAP).unwrap();
    let before: Vec<String> = workers.depends_on.iter().map(ToString::to_string).collect();
    assert!(before.contains(&MAP_OF_CONTROL_PLANES.to_owned()), "{before:?}");
    let role = objects.get("kubernetes_object.Role/kube-system/slipway-node-settings");
    let names = role.get("manifest").unwrap().to_json()["rules"][0]["resourceNames"].clone();
    assert_eq!(names, serde_json::json!(["slipway-settings-nodes"]));
}
