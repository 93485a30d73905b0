//! Ranges for the pods of nodes, and routes to them.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::lab::{Cloud, Lab, eventually};

const FLAGS: [&str; 4] = [
    "--cluster-cidr=10.244.0.0/22,fd00:244::/62",
    "--allocate-node-cidrs",
    "--service-cluster-ip-range=10.244.0.0/24",
    "--route-reconciliation-period=500ms",
];

fn ranges(node: &Json) -> Vec<String> {
    let ranges = node["spec"]["podCIDRs"].as_array().cloned().unwrap_or_default();
    ranges.iter().map(|range| range.as_str().unwrap().to_owned()).collect()
}

fn is_unavailable(node: &Json) -> Option<(&str, &str)> {
    let conditions = node["status"]["conditions"].as_array()?;
    let condition = conditions.iter().find(|condition| condition["type"] == "NetworkUnavailable")?;
    Some((condition["status"].as_str()?, condition["reason"].as_str()?))
}

/// The routes of the cloud: destination and machine.
fn routes(cloud: &Cloud) -> BTreeSet<(String, String)> {
    let routes = cloud.inventory().pod_routes.into_iter();
    routes.map(|route| (route.destination, route.machine)).collect()
}

/// Waits until nodes have routes to all their ranges.
fn all_routed(lab: &Lab, cloud: &Cloud, names: &[&str]) {
    for name in names {
        let node = eventually("the node has routes", || {
            lab.node(name).filter(|node| is_unavailable(node) == Some(("False", "RouteCreated")))
        });
        for range in ranges(&node) {
            assert!(routes(cloud).contains(&(range.clone(), cloud.machine(name))), "{name} {range}");
        }
    }
}

pub fn routed(lab: &Lab) {
    let cloud = Cloud::with_workers(4);
    for name in ["workers-1", "workers-2"] {
        lab.register(name, &json!({}));
        lab.report(name, "True");
    }
    let _controller = lab.controller(&cloud, "one", &FLAGS);
    all_routed(lab, &cloud, &["workers-1", "workers-2"]);
    // One part is taken by the Services: there are three for four nodes.
    lab.register("workers-3", &json!({}));
    lab.register("workers-4", &json!({}));
    let full = eventually("a node finds no free range", || {
        ["workers-3", "workers-4"].into_iter().find(|name| lab.events(name, "CIDRNotAvailable") > 0)
    });
    let other = if full == "workers-3" { "workers-4" } else { "workers-3" };
    all_routed(lab, &cloud, &[other]);
    let names = ["workers-1", "workers-2", other];
    let given: Vec<String> = names.iter().flat_map(|name| ranges(&lab.node(name).unwrap())).collect();
    assert_eq!(given.len(), 6, "one range of each family: {given:?}");
    assert_eq!(given.iter().collect::<BTreeSet<_>>().len(), 6, "each range once: {given:?}");
    assert!(!given.contains(&"10.244.0.0/24".to_owned()));
    assert!(ranges(&lab.node(full).unwrap()).is_empty());
    // The kubelet's condition is left alone.
    let node = lab.node("workers-1").unwrap();
    assert!(node["status"]["conditions"].as_array().unwrap().iter().any(|one| one["type"] == "Ready"));

    // The ranges of a node that leaves are those of the one that waits.
    lab.kubectl(&["delete", "node", "workers-1"]);
    all_routed(lab, &cloud, &[full]);
    eventually("the routes to the node are gone", || (routes(&cloud).len() == 6).then_some(()));
    assert!(routes(&cloud).iter().all(|(_, machine)| *machine != cloud.machine("workers-1")));
}

pub fn kept(lab: &Lab) {
    let cloud = Cloud::with_workers(2);
    let refuse = json!({"method": "create-route", "address": "workers-2", "kind": "quota"});
    cloud.faults(&json!([refuse]));
    for name in ["workers-1", "workers-2"] {
        lab.register(name, &json!({}));
        lab.report(name, "True");
    }
    let controller = lab.controller(&cloud, "one", &FLAGS);
    all_routed(lab, &cloud, &["workers-1"]);
    eventually("the node has no network", || {
        lab.node("workers-2").filter(|node| is_unavailable(node) == Some(("True", "NoRouteCreated")))
    });
    assert!(lab.events("workers-2", "FailedToCreateRoute") > 0);
    // Without a complete list, no route is deleted, and none is created.
    let list = json!({"method": "list-routes", "kind": "fail-before", "message": "page 2 of 3 is missing"});
    cloud.faults(&json!([list]));
    lab.kubectl(&["delete", "node", "workers-1"]);
    let before = routes(&cloud);
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(routes(&cloud), before);
    assert!(controller.log().contains("page 2 of 3 is missing"), "{}", controller.log());
    cloud.faults(&json!([]));
    all_routed(lab, &cloud, &["workers-2"]);
    eventually("the routes to the other node are gone", || (routes(&cloud).len() == 2).then_some(()));
}
