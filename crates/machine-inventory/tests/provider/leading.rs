//! Two replicas with election: one is killed in the middle of its work.

use serde_json::json;

use crate::claims::{check, settle};
use crate::lab::Lab;
use crate::objects::Space;
use crate::processes::manager;

const ELECTION: [&str; 4] = [
    "--leader-elect=true",
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=300ms",
];

pub fn taken_over(lab: &Lab) {
    let space = Space::new(lab, "leading");
    space.cluster(json!({"controlPlaneEndpoint": {"host": "api.example.com", "port": 6443}}));
    let mut first = manager(lab, &space.name, &ELECTION);
    first.says("the controllers run");
    let mut second = manager(lab, &space.name, &ELECTION);
    space.cluster_is_provisioned();
    for number in 0..12 {
        space.host(&format!("h-{number}"), "10.0.0.1", json!({}));
        space.machine(&format!("m-{number}"), false, json!({}));
        if number == 6 {
            // Some of the machines have named a host by now, and some of those have claimed it.
            first.signal("KILL");
        }
    }
    assert_eq!(first.ended(), None);
    assert!(!second.log().contains("the controllers run"), "one leads, the other waits");
    settle(&space, 12);
    check(&space, 12);
    // A graceful end gives the lease back.
    second.signal("TERM");
    assert_eq!(second.ended(), Some(0));
    let lease = ["get", "lease", "slipway-machine-inventory", "--namespace=slipway-machine-inventory"];
    let holder = lab.kubectl(&[lease.as_slice(), &["--output=jsonpath={.spec.holderIdentity}"]].concat());
    assert_eq!(holder, "");
}
