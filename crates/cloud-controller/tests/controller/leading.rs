//! Several replicas: one leads, and one that lost the lease writes nothing any more.

use serde_json::json;
use slipway_cloud_controller::initialise::UNINITIALISED;

use crate::lab::{Cloud, Lab, eventually, taints};

pub fn taken_over(lab: &Lab) {
    let cloud = Cloud::with_workers(4);
    let initialised = |name: &str| {
        lab.register(name, &json!({}));
        eventually("the node is initialised", || {
            lab.node(name).filter(|node| !taints(node).contains(&UNINITIALISED))
        });
    };
    let mut first = lab.controller(&cloud, "first", &[]);
    initialised("workers-1");
    let holder = lab.lease_holder();
    let mut second = lab.controller(&cloud, "second", &[]);
    eventually("the second is ready", || second.log().contains("serving").then_some(()));
    assert_eq!(lab.lease_holder(), holder, "one leads, the other waits");

    // A leader that is killed gives nothing back: the other one waits for the end of the lease.
    first.signal("KILL");
    assert_eq!(first.ended(), None);
    initialised("workers-2");
    let second_holder = lab.lease_holder();
    assert_ne!(second_holder, holder);

    // A leader that is stopped, and continues when another one leads, finds its lease lost and ends.
    let mut third = lab.controller(&cloud, "third", &[]);
    second.signal("STOP");
    initialised("workers-3");
    assert_ne!(lab.lease_holder(), second_holder);
    let versions = || -> Vec<_> {
        ["workers-1", "workers-2", "workers-3"]
            .map(|name| lab.node(name).unwrap()["metadata"]["resourceVersion"].clone())
            .into()
    };
    let before = versions();
    second.signal("CONT");
    assert_eq!(second.ended(), Some(1));
    assert!(
        second.log().contains("the lease kube-system/cloud-controller-manager was lost"),
        "{}",
        second.log()
    );
    assert_eq!(versions(), before, "it has written nothing");

    // A leader ends too when its lease is taken by hand.
    let patch = r#"--patch={"spec":{"holderIdentity":"somebody"}}"#;
    let lease =
        ["patch", "lease", "cloud-controller-manager", "--namespace=kube-system", "--type=merge", patch];
    lab.kubectl(&lease);
    assert_eq!(third.ended(), Some(1));
    assert!(third.log().contains("somebody holds it"), "{}", third.log());
    lab.register("workers-4", &json!({}));
    for name in ["workers-1", "workers-2", "workers-3"] {
        assert_eq!(lab.events(name, "Synced"), 1, "{name} was initialised once");
    }
    assert!(taints(&lab.node("workers-4").unwrap()).contains(&UNINITIALISED), "nobody leads");
}
