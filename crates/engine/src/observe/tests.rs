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

/// The identities at `a`, which the state has as `id-a` with the older objects `id-tagged`, `id-foreign`, `id-bare` and `id-b`;
/// and those that are left as they are. `id-b` is the object of `b`.
async fn older(read_by_identity: bool) -> (Vec<String>, Vec<String>) {
    let mut schema = things();
    schema.types.get_mut("thing").unwrap().read_by_identity = read_by_identity;
    let present = |name: &str, identity: &str, owner: Option<&str>| One {
        address: thing(name),
        identity: Identity::new(identity),
        token: None,
        owner: owner.map(ClusterUid::new),
        observation: Observation::Present(Value::map([("name", name)])),
    };
    let session = Scripted::default()
        .on_discover(move |request| {
            let all =
                vec![present("a", "id-a", None), present("a", "id-tagged", None), present("b", "id-b", None)];
            let is_asked = !read_by_identity || request.types == ["thing"];
            Ok(Discovery { observed: if is_asked { all } else { Vec::new() }, ..Discovery::default() })
        })
        .on_read(move |requests| {
            let owner = |identity: &Identity| match identity.as_str() {
                "id-foreign" => Some("another-cluster"),
                "id-bare" => None,
                _ => Some(UID),
            };
            let answer = |request: &ReadRequest| {
                present(request.address.name(), request.identity.as_str(), owner(&request.identity))
            };
            Ok(requests.iter().map(answer).collect())
        });
    let providers = providers_of(session, schema);
    let mut prior = Snapshot::empty("c", ClusterUid::new(UID));
    let deposed = ["id-tagged", "id-foreign", "id-bare", "id-b"].map(Identity::new).to_vec();
    let known = |identity: &str, deposed| slipway_plan::Record {
        identity: Identity::new(identity),
        deposed,
        ..record()
    };
    prior.resources.insert(thing("a"), known("id-a", deposed));
    prior.resources.insert(thing("b"), known("id-b", Vec::new()));
    let observed = observe("c", &providers, Some(&prior), &[]).await.unwrap();
    assert!(observed.foreign.is_empty(), "{:?}", observed.foreign);
    let mut found: Vec<String> = observed
        .observations
        .objects(&thing("a"))
        .iter()
        .map(|found| found.identity.as_str().to_owned())
        .collect();
    found.sort();
    let mut left: Vec<String> =
        observed.unowned.iter().map(|(_, identity)| identity.as_str().to_owned()).collect();
    left.sort();
    (found, left)
}

#[tokio::test]
async fn an_older_object_counts_only_if_the_cluster_owns_it() {
    for read_by_identity in [false, true] {
        let (found, left) = older(read_by_identity).await;
        assert_eq!(found, ["id-a", "id-tagged"], "{read_by_identity}");
        assert_eq!(left, ["id-b", "id-bare", "id-foreign"], "{read_by_identity}");
    }
}
