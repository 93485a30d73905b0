//! Services of type `LoadBalancer`.

use std::time::Duration;

use serde_json::{Value as Json, json};
use slipway_cloud_controller::services::difference::FINALIZER;

use crate::lab::{Cloud, Lab, eventually};

fn ingress(service: &Json) -> &Json {
    &service["status"]["loadBalancer"]["ingress"][0]
}

fn has_finalizer(service: &Json) -> bool {
    service["metadata"]["finalizers"].as_array().is_some_and(|all| all.contains(&json!(FINALIZER)))
}

fn patch(lab: &Lab, name: &str, patch: &Json) {
    lab.kubectl(&["patch", "service", name, "--type=merge", &format!("--patch={patch}")]);
}

pub fn balanced(lab: &Lab) {
    let cloud = Cloud::with_workers(2);
    for name in ["workers-1", "workers-2"] {
        lab.register(name, &json!({}));
    }
    let affinity = json!({"sessionAffinity": "ClientIP", "loadBalancerSourceRanges": ["10.0.0.0/8"]});
    lab.balance("web", &json!({"finalizers": ["example.com/other"]}), &affinity);
    lab.balance("foreign", &json!({}), &json!({"loadBalancerClass": "example.com/other"}));
    let mut controller = lab.controller(&cloud, "one", &[]);
    let service = eventually("the Service has an address", || {
        lab.service("web").filter(|service| !ingress(service).is_null())
    });
    let balancer = cloud.balancer("web").unwrap();
    let uid = service["metadata"]["uid"].as_str().unwrap().replace('-', "");
    assert_eq!(balancer.name, format!("a{}", &uid[..31]));
    assert_eq!(*ingress(&service), json!({"ip": balancer.address, "ipMode": "VIP"}));
    assert_eq!(service["metadata"]["finalizers"], json!(["example.com/other", FINALIZER]));
    let port = &balancer.ports[0];
    assert_eq!((port.port, json!(port.machine_port)), (80, service["spec"]["ports"][0]["nodePort"].clone()));
    assert_eq!(balancer.source_ranges, ["10.0.0.0/8"]);
    assert_eq!(balancer.client_affinity_seconds, Some(10_800));
    assert_eq!(balancer.machines, [cloud.machine("workers-1"), cloud.machine("workers-2")]);

    // Ports, and how it is reached.
    let ports = json!([{"name": "http", "port": 80}, {"name": "https", "port": 443}]);
    patch(lab, "web", &json!({"spec": {"ports": ports}}));
    eventually("the load balancer has both ports", || {
        cloud.balancer("web").filter(|balancer| balancer.ports.len() == 2)
    });
    patch(lab, "web", &json!({"metadata": {"annotations": {"sim.slipway.dev/ingress": "hostname"}}}));
    let service = eventually("the Service has a name", || {
        lab.service("web").filter(|service| ingress(service)["hostname"].is_string())
    });
    assert!(ingress(&service)["ip"].is_null());

    // A controller that starts again finds everything as it is, and writes nothing.
    controller.signal("TERM");
    assert_eq!(controller.ended(), Some(0), "{}", controller.log());
    let version = |service: &Json| service["metadata"]["resourceVersion"].clone();
    let (before, calls) = (version(&service), cloud.calls("ensure-load-balancer"));
    let controller = lab.controller(&cloud, "two", &[]);
    eventually("it is ensured again", || (cloud.calls("ensure-load-balancer") > calls).then_some(()));
    eventually("that is logged", || controller.log().contains("the load balancer is ensured").then_some(()));
    assert_eq!(version(&lab.service("web").unwrap()), before);
    assert!(controller.get("/metrics").contains("service_controller_loadbalancer_sync_total 1\n"));

    // Another type.
    patch(lab, "web", &json!({"spec": {"type": "ClusterIP", "loadBalancerSourceRanges": null}}));
    eventually("the load balancer is deleted", || cloud.balancer("web").is_none().then_some(()));
    let service = eventually("the finalizer is removed", || {
        lab.service("web").filter(|service| !has_finalizer(service))
    });
    assert_eq!(service["metadata"]["finalizers"], json!(["example.com/other"]));
    assert_eq!(service["status"]["loadBalancer"], json!({}));
    let reasons = [
        "EnsuringLoadBalancer",
        "EnsuredLoadBalancer",
        "Type",
        "DeletingLoadBalancer",
        "DeletedLoadBalancer",
    ];
    for reason in reasons {
        eventually(reason, || (lab.events("web", reason) > 0).then_some(()));
    }
    let foreign = lab.service("foreign").unwrap();
    assert!(!has_finalizer(&foreign) && ingress(&foreign).is_null() && cloud.balancer("foreign").is_none());
}

pub fn follows_nodes(lab: &Lab) {
    let cloud = Cloud::with_workers(4);
    lab.register("workers-1", &json!({}));
    lab.register("workers-2", &json!({}));
    let exclude = "node.kubernetes.io/exclude-from-external-load-balancers";
    lab.kubectl(&["label", "node", "workers-2", &format!("{exclude}=")]);
    lab.balance("web", &json!({}), &json!({}));
    let controller = lab.controller(&cloud, "one", &[]);
    let has = |names: &[&str]| {
        let machines: Vec<String> = names.iter().map(|name| cloud.machine(name)).collect();
        eventually("the load balancer has the machines", || {
            cloud.balancer("web").filter(|balancer| balancer.machines == machines)
        });
    };
    has(&["workers-1"]);
    eventually("the node has its provider id", || {
        lab.node("workers-2").filter(|node| node["spec"]["providerID"].is_string())
    });
    std::thread::sleep(Duration::from_millis(1500));
    let calls = cloud.calls("update-load-balancer");
    // Two nodes that come together are one call.
    lab.register("workers-3", &json!({}));
    lab.register("workers-4", &json!({}));
    has(&["workers-1", "workers-3", "workers-4"]);
    std::thread::sleep(Duration::from_millis(1500));
    let of_nodes = cloud.calls("update-load-balancer") - calls;
    // The second one is for the provider ids.
    assert!((1..=2).contains(&of_nodes), "{of_nodes}");
    lab.kubectl(&["label", "node", "workers-2", &format!("{exclude}-")]);
    lab.kubectl(&["delete", "node", "workers-4"]);
    has(&["workers-1", "workers-2", "workers-3"]);
    eventually("the event is published", || (lab.events("web", "UpdatedLoadBalancer") > 0).then_some(()));
    assert_eq!(cloud.calls("ensure-load-balancer"), 1);
    assert!(controller.get("/metrics").contains("service_controller_nodesync_error_total 0\n"));
}

pub fn tried_again(lab: &Lab) {
    let cloud = Cloud::with_workers(1);
    cloud.faults(&json!([
        {"method": "ensure-load-balancer", "address": "*/web", "kind": "fail-after", "times": 1, "class": "permanent",
         "message": "out of addresses"},
        {"method": "ensure-load-balancer", "address": "*/slow", "kind": "throttle", "times": 1, "retryAfterMs": 300},
    ]));
    lab.balance("web", &json!({}), &json!({}));
    lab.balance("slow", &json!({}), &json!({}));
    lab.balance("sctp", &json!({}), &json!({"ports": [{"port": 1, "protocol": "SCTP"}]}));
    let controller = lab.controller(&cloud, "one", &[]);
    for name in ["web", "slow", "sctp"] {
        eventually("the failure is published", || {
            (lab.events(name, "SyncLoadBalancerFailed") > 0).then_some(())
        });
    }
    let events = lab.kubectl(&["get", "events", "--output=jsonpath={.items[*].message}"]);
    for text in [
        "Error syncing load balancer: failed to ensure load balancer: out of addresses",
        "port 1: provider sim does not forward SCTP",
        "There are no available nodes for LoadBalancer",
    ] {
        assert!(events.contains(text), "{events}");
    }
    // The throttled one comes first: the cloud has named a time that is shorter than that of other failures.
    eventually("the throttled Service has an address", || {
        lab.service("slow").filter(|service| !ingress(service).is_null())
    });
    assert!(ingress(&lab.service("web").unwrap()).is_null());
    eventually("the other Service has an address", || {
        lab.service("web").filter(|service| !ingress(service).is_null())
    });
    assert_eq!(cloud.inventory().balancers.len(), 2, "what was made before the failure is found again");
    assert!(has_finalizer(&lab.service("sctp").unwrap()));
    assert!(controller.get("/metrics").contains(r#"call="EnsureLoadBalancer",outcome="permanent"} 1"#));
}

pub fn cleaned_after_a_restart(lab: &Lab) {
    let cloud = Cloud::with_workers(1);
    lab.balance("web", &json!({}), &json!({}));
    let mut controller = lab.controller(&cloud, "one", &[]);
    eventually("the Service has an address", || {
        lab.service("web").filter(|service| !ingress(service).is_null())
    });
    // A cloud that cannot be read does not say that there is no load balancer.
    cloud.faults(&json!([{"method": "get-load-balancer", "kind": "unreadable"}]));
    lab.kubectl(&["delete", "service", "web", "--wait=false"]);
    eventually("the failure is published", || {
        (lab.events("web", "SyncLoadBalancerFailed") > 0).then_some(())
    });
    assert!(has_finalizer(&lab.service("web").unwrap()) && cloud.balancer("web").is_some());
    controller.signal("KILL");
    controller.ended();
    // The load balancer is deleted, and the answer is lost. The next process does the rest.
    cloud.faults(&json!([{"method": "delete-load-balancer", "kind": "fail-after", "times": 1}]));
    let mut controller = lab.controller(&cloud, "two", &[]);
    eventually("the load balancer is deleted", || cloud.balancer("web").is_none().then_some(()));
    assert!(lab.service("web").is_some_and(|service| has_finalizer(&service)));
    controller.signal("KILL");
    controller.ended();
    let _controller = lab.controller(&cloud, "three", &[]);
    eventually("the Service is gone", || lab.service("web").is_none().then_some(()));
}
