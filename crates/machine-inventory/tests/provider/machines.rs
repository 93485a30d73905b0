//! Machines: from a free host to a Node with a provider id, and the hosts that are lost.

use http::Method;
use serde_json::{Value as Json, json};

use crate::lab::{Lab, condition, message};
use crate::objects::{
    CLUSTER, CLUSTERS, ELEMENTAL_HOST, ELEMENTAL_MACHINE, LABELS, MACHINES, SECRETS, Space,
};
use crate::processes::manager;

/// A cluster whose endpoint the user has set, and that is provisioned.
fn ready(space: &Space<'_>) {
    space.cluster(json!({"controlPlaneEndpoint": {"host": "127.0.0.1", "port": space.lab.port()}}));
    space.cluster_is_provisioned();
}

fn initialised(space: &Space<'_>) {
    space.control_plane_is_initialised(&format!("https://127.0.0.1:{}", space.lab.port()));
}

fn node(lab: &Lab, name: &str) {
    let taints = json!([
        {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"},
        {"key": "example.com/other", "effect": "NoSchedule"}]);
    let node =
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"taints": taints}});
    lab.request(Method::POST, "/api/v1/nodes", Some(&node)).unwrap();
}

fn has(kind: &'static str, expected: &'static str) -> impl Fn(&Json) -> bool {
    move |object| condition(object, kind) == expected
}

pub fn provisioned(lab: &Lab) {
    let space = Space::new(lab, "provisioned");
    let _manager = manager(lab, &space.name, &[]);
    ready(&space);
    space.host(
        "provisioned-a",
        "10.0.0.1",
        json!({"topology.kubernetes.io/zone": "rack-1", "role": "worker"}),
    );
    space.machine("m", false, json!({"matchLabels": {"role": "worker"}}));
    assert_eq!(space.claims("m"), "provisioned-a");
    let host = space.get(ELEMENTAL_HOST, "provisioned-a").unwrap();
    assert_eq!(host["spec"]["bootstrapSecret"]["name"], "m");
    assert_eq!(host["spec"]["controlPlaneEndpoint"], format!("127.0.0.1:{}", lab.port()));
    assert_eq!(host["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"], CLUSTER);
    assert_eq!(host["metadata"]["labels"][format!("{LABELS}/elemental-machine-name")], "m");
    space.becomes(
        ELEMENTAL_MACHINE,
        "m",
        "waits for the bootstrap",
        has("HostReady", "False/HostWaitingForBootstrap"),
    );
    space.bootstrapped("provisioned-a");
    let waits = has("ProviderIDReady", "False/WaitingForControlPlaneInitialized");
    let machine = space.becomes(ELEMENTAL_MACHINE, "m", "waits for the control plane", waits);
    assert_eq!(machine["status"]["ready"], false);
    initialised(&space);
    space.becomes(ELEMENTAL_MACHINE, "m", "waits for the Node", has("ProviderIDReady", "False/NodeNotFound"));
    node(lab, "provisioned-a");
    // Nodes are not watched: a change of the host makes the controller look again at once.
    space.patch(ELEMENTAL_HOST, "provisioned-a", json!({"metadata": {"labels": {"example.com/nudge": "1"}}}));
    let machine = space.becomes(ELEMENTAL_MACHINE, "m", "is provisioned", has("Ready", "True/Ready"));
    let provider_id = format!("elemental://{}/provisioned-a", space.name);
    assert_eq!(machine["spec"]["providerID"], provider_id);
    assert!(machine["status"]["ready"] == true && machine["status"]["initialization"]["provisioned"] == true);
    assert_eq!(machine["status"]["failureDomain"], "rack-1");
    assert_eq!(
        machine["status"]["addresses"],
        json!([
        {"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": "provisioned-a"}])
    );
    let node = lab.request(Method::GET, "/api/v1/nodes/provisioned-a", None).unwrap();
    assert_eq!(node["spec"]["providerID"], provider_id);
    let taints = node["spec"]["taints"].as_array().unwrap();
    assert!(
        taints.iter().all(|taint| taint["key"] != "node.cloudprovider.kubernetes.io/uninitialized"),
        "{taints:?}"
    );
    assert!(taints.iter().any(|taint| taint["key"] == "example.com/other"), "{taints:?}");
}

pub fn waiting(lab: &Lab) {
    let space = Space::new(lab, "waiting");
    let _manager = manager(lab, &space.name, &[]);
    space.create(ELEMENTAL_MACHINE, "orphan", json!({"spec": {}}));
    space.becomes(
        ELEMENTAL_MACHINE,
        "orphan",
        "waits for its owner",
        has("AssociationReady", "False/MissingMachineOwner"),
    );
    space.cluster(json!({"controlPlaneEndpoint": {"host": "127.0.0.1", "port": 6443}}));
    space.machine("m", false, json!({"matchLabels": {"role": "worker"}}));
    let waits = has("AssociationReady", "False/MissingClusterInfrastructureReady");
    space.becomes(ELEMENTAL_MACHINE, "m", "waits for the cluster", waits);
    space.patch(
        MACHINES,
        "m",
        json!({"spec": {"bootstrap": {"dataSecretName": null, "configRef": {
        "apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": "m"}}}}),
    );
    space.cluster_is_provisioned();
    space.becomes(
        ELEMENTAL_MACHINE,
        "m",
        "waits for its data",
        has("AssociationReady", "False/MissingBootstrapSecret"),
    );
    space.patch(
        MACHINES,
        "m",
        json!({"spec": {"bootstrap": {"dataSecretName": "m"}, "failureDomain": "rack-2"}}),
    );
    space.becomes(
        ELEMENTAL_MACHINE,
        "m",
        "waits for a host",
        has("AssociationReady", "False/MissingAvailableHosts"),
    );
    // Hosts of another failure domain, without label, not installed, or about to be reset, are not taken.
    let zone = |name: &str| json!({"role": "worker", "topology.kubernetes.io/zone": name});
    space.host("a", "10.0.0.1", zone("rack-1"));
    space.host("b", "10.0.0.2", json!({"topology.kubernetes.io/zone": "rack-2"}));
    space.create(ELEMENTAL_HOST, "c", json!({"metadata": {"labels": zone("rack-2")}, "spec": {}}));
    let mut leaving = zone("rack-2");
    leaving[format!("{LABELS}/needs-reset")] = json!("true");
    space.host("d", "10.0.0.4", leaving);
    std::thread::sleep(std::time::Duration::from_millis(500));
    let machine = space.get(ELEMENTAL_MACHINE, "m").unwrap();
    assert!(message(&machine, "AssociationReady").contains("rack-2"), "{machine}");
    space.host("e", "10.0.0.5", zone("rack-2"));
    assert_eq!(space.claims("m"), "e");
}

pub fn host_lost(lab: &Lab) {
    let space = Space::new(lab, "host-lost");
    let _manager = manager(lab, &space.name, &[]);
    ready(&space);
    initialised(&space);
    space.host("lost-a", "10.0.0.1", json!({}));
    space.host("lost-b", "10.0.0.2", json!({}));
    space.machine("m", false, json!({}));
    assert_eq!(space.claims("m"), "lost-a");
    // It has run nothing there yet: it takes another host.
    lose(&space, "lost-a");
    assert_eq!(space.claims("m"), "lost-b");
    node(lab, "lost-b");
    space.bootstrapped("lost-b");
    space.becomes(ELEMENTAL_MACHINE, "m", "is provisioned", has("Ready", "True/Ready"));
    // Its Node cannot come back on another host.
    space.host("lost-c", "10.0.0.3", json!({}));
    lose(&space, "lost-b");
    let lost = has("AssociationReady", "False/AssociatedHostNotFound");
    let machine = space.becomes(ELEMENTAL_MACHINE, "m", "fails", lost);
    assert_eq!(machine["status"]["failureReason"], "AssociatedHostNotFound");
    assert!(machine["status"]["failureMessage"].as_str().unwrap().contains("delete Machine m"), "{machine}");
    assert_eq!(machine["status"]["initialization"]["provisioned"], true, "that is never taken back");
    space.delete(ELEMENTAL_MACHINE, "m");
    space.vanishes(ELEMENTAL_MACHINE, "m");
    // Nor may bootstrap data that has run on a lost host run again, although there is no Node yet.
    space.machine("n", false, json!({}));
    assert_eq!(space.claims("n"), "lost-c");
    space.bootstrapped("lost-c");
    space.becomes(ELEMENTAL_MACHINE, "n", "waits for the Node", has("ProviderIDReady", "False/NodeNotFound"));
    space.host("lost-d", "10.0.0.4", json!({}));
    lose(&space, "lost-c");
    let lost = has("AssociationReady", "False/AssociatedHostNotFound");
    let machine = space.becomes(ELEMENTAL_MACHINE, "n", "fails", lost);
    assert_eq!(machine["status"]["failureReason"], "AssociatedHostNotFound");
}

/// A host that is gone without its agent: a user removes its object.
fn lose(space: &Space<'_>, host: &str) {
    space.delete(ELEMENTAL_HOST, host);
    let reset = json!({"metadata": {"labels": {format!("{LABELS}/reset"): "true"}}});
    space.becomes(ELEMENTAL_HOST, host, "waits for its reset", |object| {
        object["metadata"]["labels"][format!("{LABELS}/needs-reset")] == "true"
    });
    space.patch(ELEMENTAL_HOST, host, reset);
    space.vanishes(ELEMENTAL_HOST, host);
}

pub fn deleted(lab: &Lab) {
    let space = Space::new(lab, "deleted-machine");
    let _manager = manager(lab, &space.name, &[]);
    ready(&space);
    space.host("a", "10.0.0.1", json!({}));
    space.machine("m", false, json!({}));
    assert_eq!(space.claims("m"), "a");
    space.delete(ELEMENTAL_MACHINE, "m");
    space.vanishes(ELEMENTAL_MACHINE, "m");
    let host = space.get(ELEMENTAL_HOST, "a").unwrap();
    assert_eq!(host["metadata"]["labels"][format!("{LABELS}/needs-reset")], "true");
    assert!(host["spec"]["bootstrapSecret"].is_null(), "it gets no data any more");

    // Neither a host nor a Cluster that is gone keeps a machine.
    space.host("b", "10.0.0.2", json!({}));
    space.machine("n", false, json!({}));
    assert_eq!(space.claims("n"), "b");
    space.patch(CLUSTERS, CLUSTER, json!({"metadata": {"finalizers": null}}));
    space.delete(CLUSTERS, CLUSTER);
    space.delete(MACHINES, "n");
    space.delete(SECRETS, "n");
    lab.request(
        Method::PATCH,
        &space.path(ELEMENTAL_HOST, "b"),
        Some(&json!({"metadata": {"finalizers": null}})),
    )
    .unwrap();
    space.delete(ELEMENTAL_MACHINE, "n");
    space.vanishes(ELEMENTAL_MACHINE, "n");

    // The host of a machine that was removed without its finalizer is reset too.
    space.host("c", "10.0.0.3", json!({"c": "c"}));
    let gone =
        json!({"name": "gone", "uid": "3c6c5e8e-0000-4000-8000-000000000000", "kind": "ElementalMachine"});
    space.patch(ELEMENTAL_HOST, "c", json!({"spec": {"machineRef": gone}}));
    space.becomes(ELEMENTAL_HOST, "c", "is reset", |host| {
        host["metadata"]["labels"][format!("{LABELS}/needs-reset")] == "true"
    });
}
