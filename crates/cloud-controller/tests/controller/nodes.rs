//! Nodes are initialised, and their addresses refreshed.

use std::time::Duration;

use serde_json::json;
use slipway_cloud_controller::initialise::UNINITIALISED;

use crate::lab::{Cloud, Lab, eventually, taints};

pub fn initialised(lab: &Lab) {
    let cloud = Cloud::with_workers(3);
    for name in ["workers-1", "workers-2", "workers-3"] {
        lab.register(name, &json!({}));
    }
    let mut controller = lab.controller(&cloud, "one", &[]);
    for name in ["workers-1", "workers-2", "workers-3"] {
        let node = eventually("the node is initialised", || {
            lab.node(name).filter(|node| !taints(node).contains(&UNINITIALISED))
        });
        let id = cloud.machine(name);
        assert_eq!(node["spec"]["providerID"], format!("sim:///{id}"));
        // The API server has added the second one when the node was created.
        assert_eq!(taints(&node), ["example.com/other", "node.kubernetes.io/not-ready"]);
        let labels = &node["metadata"]["labels"];
        for (label, value) in [
            ("node.kubernetes.io/instance-type", "large"),
            ("beta.kubernetes.io/instance-type", "large"),
            ("topology.kubernetes.io/zone", "a"),
            ("topology.kubernetes.io/region", "north"),
            ("failure-domain.beta.kubernetes.io/region", "north"),
            ("sim.slipway.dev/pool", "workers"),
            ("example.com/mine", "yes"),
        ] {
            assert_eq!(labels[label], value, "{label}");
        }
        let addresses = &node["status"]["addresses"];
        assert_eq!(addresses[1], json!({"type": "Hostname", "address": name}));
        assert_eq!(addresses[0]["type"], "InternalIP");
        eventually("the event is published", || (lab.events(name, "Synced") == 1).then_some(()));
    }
    // The three were there when it started: one call asks for all of them.
    let metrics = controller.get("/metrics");
    let seconds = r#"cloudprovider_sim_api_request_duration_seconds_count{request="Instances"} "#;
    assert!(metrics.contains(seconds), "{metrics}");
    assert!(
        metrics.contains(r#"cloud_controller_provider_calls_total{call="Instances",outcome="ok"} "#),
        "{metrics}"
    );
    assert!(metrics.contains("leader_election_master_status 1\n"), "{metrics}");
    assert!(
        metrics.contains("node_controller_cloud_provider_taint_removal_delay_seconds_count 3\n"),
        "{metrics}"
    );
    assert_eq!(controller.get("/readyz"), "ok");
    controller.signal("TERM");
    assert_eq!(controller.ended(), Some(0), "{}", controller.log());
    assert_eq!(lab.lease_holder(), "", "it has given the lease back");
}

pub fn stays_tainted(lab: &Lab) {
    let cloud = Cloud::with_workers(2);
    lab.register("stranger", &json!({}));
    lab.register("workers-1", &json!({"alpha.kubernetes.io/provided-node-ip": "192.0.2.1"}));
    lab.register("workers-2", &json!({}));
    let controller = lab.controller(&cloud, "one", &[]);
    eventually("the good one is initialised", || {
        lab.node("workers-2").filter(|node| !taints(node).contains(&UNINITIALISED))
    });
    eventually("both reasons are logged", || {
        let log = controller.log();
        (log.contains("no instance of this node") && log.contains("provided node ip 192.0.2.1")).then_some(())
    });
    // Neither is deleted either, although neither is ready.
    std::thread::sleep(Duration::from_secs(2));
    for name in ["stranger", "workers-1"] {
        assert!(taints(&lab.node(name).unwrap()).contains(&UNINITIALISED), "{name}");
    }
}

pub fn refreshed(lab: &Lab) {
    let cloud = Cloud::with_workers(1);
    lab.register("workers-1", &json!({}));
    let _controller = lab.controller(&cloud, "one", &["--node-status-update-frequency=1s"]);
    let address = |wanted: &str| {
        eventually("the node has the address", || {
            lab.node("workers-1").filter(|node| node["status"]["addresses"][0]["address"] == wanted)
        })
    };
    cloud.tamper.set_address(&cloud.machine("workers-1"), "10.1.2.3").unwrap();
    address("10.1.2.3");
    cloud.tamper.set_address(&cloud.machine("workers-1"), "10.3.2.1").unwrap();
    address("10.3.2.1");
}
