//! Claims while several controllers work at once.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::lab::{Lab, eventually};
use crate::objects::{ELEMENTAL_HOST, ELEMENTAL_MACHINE, Space};
use crate::processes::manager;

const MACHINES: usize = 20;
const HOSTS: usize = 10;

/// Every host has one machine, every machine at most one host, and both agree.
pub fn check(space: &Space<'_>, hosts: usize) {
    let machines = space.list(ELEMENTAL_MACHINE);
    let claimed: Vec<Json> =
        space.list(ELEMENTAL_HOST).into_iter().filter(|host| !host["spec"]["machineRef"].is_null()).collect();
    assert_eq!(claimed.len(), hosts);
    let claimers: BTreeSet<&str> =
        claimed.iter().map(|host| host["spec"]["machineRef"]["uid"].as_str().unwrap()).collect();
    assert_eq!(claimers.len(), hosts, "no machine has two hosts");
    for host in &claimed {
        let uid = &host["spec"]["machineRef"]["uid"];
        let machine = machines.iter().find(|machine| machine["metadata"]["uid"] == *uid).unwrap();
        assert_eq!(machine["spec"]["hostRef"]["uid"], host["metadata"]["uid"]);
        assert_eq!(host["spec"]["bootstrapSecret"]["name"], machine["metadata"]["name"]);
    }
}

/// Waits until as many machines as there are hosts have one.
pub fn settle(space: &Space<'_>, hosts: usize) {
    eventually("the hosts are claimed", || {
        let machines = space.list(ELEMENTAL_MACHINE);
        let named = machines.iter().filter(|machine| !machine["spec"]["hostRef"].is_null()).count();
        let claimed =
            space.list(ELEMENTAL_HOST).iter().filter(|host| !host["spec"]["machineRef"].is_null()).count();
        (claimed == hosts && named == hosts).then_some(())
    });
}

pub fn exactly_once(lab: &Lab) {
    let space = Space::new(lab, "claims");
    space.cluster(json!({"controlPlaneEndpoint": {"host": "api.example.com", "port": 6443}}));
    // Two controllers that both believe that they lead.
    let managers = [manager(lab, &space.name, &[]), manager(lab, &space.name, &[])];
    space.cluster_is_provisioned();
    for number in 0..MACHINES {
        space.machine(&format!("m-{number}"), false, json!({}));
    }
    for number in 0..HOSTS {
        space.host(&format!("h-{number}"), "10.0.0.1", json!({}));
    }
    settle(&space, HOSTS);
    std::thread::sleep(std::time::Duration::from_millis(500));
    check(&space, HOSTS);
    for manager in &managers {
        assert!(manager.log().contains("a host was claimed"), "both have worked");
    }
}
