use slipway_resource::provider::Discovery;
use slipway_resource::{Observation, Observed as One, Value};

use super::*;
use crate::scripted::{Scripted, providers_of, record, thing, things};

const UID: &str = "the-cluster";

/// A provider that lists things only when their type is requested, and the recorded objects of `known`.
async fn observed(known: &[&str], wanted: &[&str]) -> Vec<Address> {
    let mut schema = things();
    schema.types.get_mut("thing").unwrap().read_by_identity = true;
    let present = |name: &str| One {
        address: thing(name),
        identity: Identity::new(format!("id-of-{name}")),
        token: None,
        owner: None,
        observation: Observation::Present(Value::map([("name", name)])),
    };
    let session = Scripted::default()
        .on_discover(move |request| {
            assert_eq!(request.uid, Some(ClusterUid::new(UID)));
            let all = ["a", "b"].map(present);
            let is_asked = request.types == ["thing"];
            Ok(Discovery {
                observed: if is_asked { all.to_vec() } else { Vec::new() },
                ..Discovery::default()
            })
        })
        .on_read(move |requests| {
            Ok(requests.iter().map(|request| present(request.address.name())).collect())
        });
    let providers = providers_of(session, schema);
    let mut prior = Snapshot::empty("c", ClusterUid::new(UID));
    for name in known {
        let identity = Identity::new(format!("id-of-{name}"));
        prior.resources.insert(thing(name), slipway_plan::Record { identity, ..record() });
    }
    let desired: Vec<Desired> = wanted.iter().map(|name| Desired::new(thing(name), Value::Null)).collect();
    let observed = observe("c", &providers, Some(&prior), &desired).await.unwrap();
    let found = observed.observations.addresses().inspect(|address| {
        assert_eq!(observed.observations.objects(address).len(), 1, "{address}");
    });
    found.cloned().collect()
}

#[tokio::test]
async fn what_discovery_leaves_out_is_listed_where_the_state_does_not_know_it() {
    let (a, b) = (thing("a"), thing("b"));
    // An emptied state, as one that is rebuilt.
    assert_eq!(observed(&[], &[]).await, [a.clone(), b.clone()]);
    // A record was removed, and its object is there.
    assert_eq!(observed(&["a"], &["a", "b"]).await, [a.clone(), b]);
    // Everything is known: nothing is listed.
    assert_eq!(observed(&["a"], &["a"]).await, [a]);
}
