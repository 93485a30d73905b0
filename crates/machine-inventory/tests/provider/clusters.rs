//! Clusters: endpoints of users, and endpoints that are elected.

use serde_json::json;

use crate::lab::{Lab, condition, eventually, message};
use crate::objects::{
    CLUSTER, CLUSTERS, ELEMENTAL_CLUSTER, ELEMENTAL_HOST, ELEMENTAL_MACHINE, KUBEADM_CONTROL_PLANES, Space,
};
use crate::processes::manager;

pub fn given(lab: &Lab) {
    let space = Space::new(lab, "given");
    let _manager = manager(lab, &space.name, &[]);
    space.host("a", "10.0.0.1", json!({"role": "control-plane"}));
    let endpoint = json!({"host": "api.example.com", "port": 8443});
    space.cluster(json!({"controlPlaneEndpoint": endpoint}));
    let cluster = space.cluster_is_provisioned();
    assert_eq!(condition(&cluster, "ControlPlaneEndpointReady"), "True/UserProvided");
    assert_eq!(condition(&cluster, "Ready"), "True/Ready");
    space.machine("cp-1", true, json!({"matchLabels": {"role": "control-plane"}}));
    space.claims("cp-1");
    space.delete(ELEMENTAL_MACHINE, "cp-1");
    space.vanishes(ELEMENTAL_MACHINE, "cp-1");
    std::thread::sleep(std::time::Duration::from_millis(500));
    let cluster = space.get(ELEMENTAL_CLUSTER, CLUSTER).unwrap();
    assert_eq!(cluster["spec"]["controlPlaneEndpoint"], endpoint);
    assert!(cluster["metadata"]["annotations"].is_null(), "nothing was elected");
}

pub fn elected(lab: &Lab) {
    let space = Space::new(lab, "elected");
    let _manager = manager(lab, &space.name, &[]);
    let role = json!({"role": "control-plane"});
    // No host matches at first, and one has no address that keeps the rules.
    space.host("a-worker", "10.0.0.1", json!({"role": "worker"}));
    space.cluster(
        json!({"controlPlaneEndpoint": {"host": "", "port": 0}, "endpointElection": {"cidr": "10.0.1.0/24"}}),
    );
    let waits = |reason: &str| {
        let expected = format!("False/{reason}");
        space.becomes(ELEMENTAL_CLUSTER, CLUSTER, "has no candidate", |object| {
            condition(object, "ControlPlaneEndpointReady") == expected
        })
    };
    let cluster = waits("NoCandidate");
    assert!(cluster["status"]["ready"] == false && cluster["status"]["initialization"].is_null());
    space.host("b-elsewhere", "10.0.0.2", role.clone());
    eventually("the message names the host", || {
        message(&space.get(ELEMENTAL_CLUSTER, CLUSTER)?, "ControlPlaneEndpointReady")
            .contains("b-elsewhere")
            .then_some(())
    });
    space.host("c-here", "10.0.1.3", role.clone());
    space.host("d-here", "10.0.1.4", role.clone());

    // The endpoint exists although no Machine does: the control plane provider waits for it.
    let cluster = space.cluster_is_provisioned();
    assert_eq!(cluster["spec"]["controlPlaneEndpoint"], json!({"host": "10.0.1.3", "port": 6443}));
    assert_eq!(condition(&cluster, "ControlPlaneEndpointReady"), "True/Reserved");
    let host = space.get(ELEMENTAL_HOST, "c-here").unwrap();
    assert_eq!(host["spec"]["endpointReservation"]["uid"], cluster["metadata"]["uid"]);

    // A worker that could have every host leaves the reserved one alone; the first of the control plane gets it.
    space.machine("w-1", false, json!({"matchExpressions": [{"key": "role", "operator": "Exists"}]}));
    space.machine("w-2", false, json!({"matchLabels": {"role": "control-plane"}}));
    let workers = [space.claims("w-1"), space.claims("w-2")];
    assert_eq!(workers, ["a-worker", "b-elsewhere"]);
    space.machine("cp-1", true, json!({"matchLabels": role}));
    assert_eq!(space.claims("cp-1"), "c-here");
    space.machine("cp-2", true, json!({"matchLabels": role}));
    assert_eq!(space.claims("cp-2"), "d-here");
    let cluster = space.becomes(ELEMENTAL_CLUSTER, CLUSTER, "warns", |object| {
        condition(object, "ControlPlaneEndpointRedundant") == "False/SingleHost"
    });
    assert_eq!(cluster["spec"]["controlPlaneEndpoint"]["host"], "10.0.1.3", "the endpoint is stable");
}

pub fn left_alone(lab: &Lab) {
    let space = Space::new(lab, "left-alone");
    let _manager = manager(lab, &space.name, &[]);
    space.host("a", "10.0.0.1", json!({"role": "control-plane"}));
    space.cluster(json!({"controlPlaneEndpoint": {"host": "api.example.com", "port": 6443}}));
    space.cluster_is_provisioned();
    space.patch(CLUSTERS, CLUSTER, json!({"spec": {"paused": true}}));
    let paused = |object: &serde_json::Value| condition(object, "Paused") == "True/Paused";
    space.becomes(ELEMENTAL_CLUSTER, CLUSTER, "is paused", paused);
    space.machine("m", false, json!({}));
    let machine = space.becomes(ELEMENTAL_MACHINE, "m", "is paused", paused);
    assert!(machine["metadata"]["finalizers"].is_null() && machine["spec"]["hostRef"].is_null());
    // A paused machine is not deleted: another controller may work with it.
    space.patch(CLUSTERS, CLUSTER, json!({"spec": {"paused": false}}));
    assert_eq!(space.claims("m"), "a");
    space.patch(
        ELEMENTAL_MACHINE,
        "m",
        json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}),
    );
    space.becomes(ELEMENTAL_MACHINE, "m", "is paused", paused);
    space.delete(ELEMENTAL_MACHINE, "m");
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(space.get(ELEMENTAL_MACHINE, "m").is_some());
    space.patch(
        ELEMENTAL_MACHINE,
        "m",
        json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": null}}}),
    );
    space.vanishes(ELEMENTAL_MACHINE, "m");

    // Infrastructure that another tool manages gets no write at all.
    let foreign = Space::new(lab, "foreign");
    let _second = manager(lab, &foreign.name, &[]);
    foreign.cluster(json!({}));
    foreign.host("a", "10.0.0.1", json!({}));
    let waits =
        |object: &serde_json::Value| condition(object, "ControlPlaneEndpointReady") == "False/NoCandidate";
    foreign.becomes(ELEMENTAL_CLUSTER, CLUSTER, "waits for a host", waits);
    let by = json!({"metadata": {"annotations": {"cluster.x-k8s.io/managed-by": "terraform"}}});
    let marked = foreign.patch(ELEMENTAL_CLUSTER, CLUSTER, by);
    foreign.host("b", "10.0.0.2", json!({"role": "control-plane"}));
    std::thread::sleep(std::time::Duration::from_millis(700));
    let after = foreign.get(ELEMENTAL_CLUSTER, CLUSTER).unwrap();
    assert_eq!(after["metadata"]["resourceVersion"], marked["metadata"]["resourceVersion"]);
    foreign.patch(
        ELEMENTAL_CLUSTER,
        CLUSTER,
        json!({"metadata": {"annotations": {"cluster.x-k8s.io/managed-by": null}}}),
    );
    foreign.cluster_is_provisioned();
}

pub fn deleted(lab: &Lab) {
    let space = Space::new(lab, "deleted-cluster");
    let _manager = manager(lab, &space.name, &[]);
    space.host("a", "10.0.0.1", json!({"role": "control-plane"}));
    space.cluster(json!({}));
    let cluster = space.cluster_is_provisioned();
    assert_eq!(
        cluster["metadata"]["finalizers"],
        json!(["elementalcluster.infrastructure.cluster.x-k8s.io"])
    );
    space.delete(CLUSTERS, CLUSTER);
    space.delete(KUBEADM_CONTROL_PLANES, CLUSTER);
    space.delete(ELEMENTAL_CLUSTER, CLUSTER);
    space.vanishes(ELEMENTAL_CLUSTER, CLUSTER);
    space.becomes(ELEMENTAL_HOST, "a", "is not reserved", |host| {
        host["spec"]["endpointReservation"].is_null()
    });
}
