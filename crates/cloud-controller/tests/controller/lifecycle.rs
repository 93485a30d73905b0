//! Nodes that do not report any more.

use std::time::Duration;

use serde_json::{Value as Json, json};
use slipway_cloud_controller::lifecycle::SHUTDOWN;

use crate::lab::{Cloud, Controller, Lab, eventually, taints};

/// Nodes that are initialised and ready.
fn ready(lab: &Lab, cloud: &Cloud, names: &[&str]) -> Controller {
    for name in names {
        lab.register(name, &json!({}));
        lab.report(name, "True");
    }
    let controller = lab.controller(cloud, "one", &[]);
    for name in names {
        eventually("the node is initialised", || {
            lab.node(name).filter(|node| !node["spec"]["providerID"].is_null())
        });
    }
    controller
}

pub fn deleted(lab: &Lab) {
    let cloud = Cloud::with_workers(3);
    let _controller = ready(lab, &cloud, &["workers-1", "workers-2", "workers-3"]);
    cloud.tamper.lose_machine(&cloud.machine("workers-1"), false).unwrap();
    cloud.tamper.lose_machine(&cloud.machine("workers-2"), false).unwrap();
    for name in ["workers-1", "workers-3"] {
        lab.report(name, "Unknown");
    }
    eventually("the node is deleted", || lab.node("workers-1").is_none().then_some(()));
    assert_eq!(lab.events("workers-1", "DeletingNode"), 1);
    std::thread::sleep(Duration::from_secs(2));
    assert!(lab.node("workers-2").is_some(), "its kubelet reports");
    assert!(lab.node("workers-3").is_some(), "its instance exists");
}

pub fn kept(lab: &Lab) {
    let cloud = Cloud::with_workers(2);
    let controller = ready(lab, &cloud, &["workers-1", "workers-2"]);
    let faults = [
        json!([{"method": "instances", "kind": "fail-before", "message": "page 2 of 3 is missing"}]),
        json!([{"method": "instances", "kind": "throttle"}]),
        json!([{"method": "instances", "kind": "unreadable", "address": "workers-1"}]),
    ];
    cloud.faults(&faults[0]);
    cloud.tamper.lose_machine(&cloud.machine("workers-1"), false).unwrap();
    lab.report("workers-1", "Unknown");
    for fault in &faults {
        cloud.faults(fault);
        // Three looks.
        std::thread::sleep(Duration::from_millis(1500));
        assert!(lab.node("workers-1").is_some(), "{fault}");
    }
    assert!(controller.log().contains("page 2 of 3 is missing"), "{}", controller.log());
    assert!(controller.get("/metrics").contains(r#"outcome="throttled"} "#));
    cloud.faults(&json!([]));
    eventually("the node is deleted", || lab.node("workers-1").is_none().then_some(()));
    assert!(lab.node("workers-2").is_some());
}

pub fn shut_down(lab: &Lab) {
    let cloud = Cloud::with_workers(1);
    let _controller = ready(lab, &cloud, &["workers-1"]);
    let machine = cloud.machine("workers-1");
    let is_tainted = |node: &Json| taints(node).contains(&SHUTDOWN);
    cloud.tamper.set_stopped(&machine, true).unwrap();
    lab.report("workers-1", "Unknown");
    let node = eventually("the taint is set", || lab.node("workers-1").filter(is_tainted));
    assert!(taints(&node).contains(&"example.com/other"));
    cloud.tamper.set_stopped(&machine, false).unwrap();
    lab.report("workers-1", "True");
    eventually("the taint is removed", || lab.node("workers-1").filter(|node| !is_tainted(node)));
}
