//! Rules that the cloud keeps.

use serde_json::json;
use slipway_provider_sim::inspect::{Inventory, Tamper};
use slipway_resource::provider::{Action, EventSink, Resolution, ResumeRequest};
use slipway_resource::{ErrorClass, Identity, Value};

use crate::harness::{Harness, open};

fn value(json: serde_json::Value) -> Value {
    Value::from_json(&json)
}

async fn network(harness: &Harness) -> String {
    let desired = value(json!({"name": "demo", "cidr": "10.0.1.7/16"}));
    let applied = harness.create("sim_network.main", desired).await.unwrap();
    assert_eq!(applied.attributes.get("cidr"), Some(&"10.0.0.0/16".into()), "without host bits");
    applied.identity.unwrap().as_str().to_owned()
}

fn subnet(network: &str, zone: &str, cidr: &str) -> Value {
    value(json!({"name": zone, "network_id": network, "zone": zone, "cidr": cidr}))
}

#[tokio::test]
async fn a_network_holds_its_subnets_and_no_others() {
    let directory = tempfile::tempdir().unwrap();
    let harness = open(directory.path(), json!({})).await;
    let id = network(&harness).await;
    let first = harness.create("sim_subnet.a", subnet(&id, "a", "10.0.0.0/24")).await.unwrap();
    let class = |result: Result<_, slipway_resource::ProviderError>| result.unwrap_err().class;
    assert_eq!(
        class(harness.create("sim_subnet.b", subnet(&id, "b", "10.0.0.128/25")).await),
        ErrorClass::Conflict
    );
    assert_eq!(
        class(harness.create("sim_subnet.b", subnet(&id, "b", "10.1.0.0/24")).await),
        ErrorClass::Invalid
    );
    assert_eq!(
        class(harness.create("sim_subnet.b", subnet("net-009999", "b", "10.0.2.0/24")).await),
        ErrorClass::NotFound
    );
    let first = first.identity.unwrap();
    assert_eq!(
        class(harness.delete("sim_network.main", &id).await),
        ErrorClass::Dependency { blockers: vec![first.as_str().to_owned()] }
    );
    harness.delete("sim_subnet.a", first.as_str()).await.unwrap();
    harness.delete("sim_network.main", &id).await.unwrap();
    harness.delete("sim_network.main", &id).await.unwrap();
    assert!(Inventory::open(directory.path()).unwrap().objects.is_empty());
}

#[tokio::test]
async fn a_repeated_token_has_one_effect_and_resume_tells() {
    let directory = tempfile::tempdir().unwrap();
    let harness = open(directory.path(), json!({})).await;
    let request = harness.request("sim_object.a", Action::Create { desired: value(json!({"key": "k"})) });
    let resume =
        || ResumeRequest { request: request.clone(), identity: None, handle: None, superseded: false };
    let session = &harness.session;
    let before = session.resume(resume(), EventSink::discard()).await.unwrap();
    assert_eq!(before, Resolution::NotDone);
    let first = harness.apply(request.clone()).await.unwrap();
    // Another process, which knows nothing but the files.
    let other = open(directory.path(), json!({})).await;
    assert_eq!(other.apply(request.clone()).await.unwrap(), first);
    let after = other.session.resume(resume(), EventSink::discard()).await.unwrap();
    assert_eq!(after, Resolution::Done(first.clone()));
    let inventory = Inventory::open(directory.path()).unwrap();
    assert_eq!(inventory.objects.len(), 1);
    assert!(inventory.doubled().is_empty());
    let identity = Identity::new(inventory.objects[0].id.as_str());
    assert_eq!(first.identity, Some(identity));
}

#[tokio::test]
async fn a_pool_is_made_when_its_machines_are_ready() {
    let directory = tempfile::tempdir().unwrap();
    let harness = open(directory.path(), json!({"seed": 3})).await;
    let pool = json!({"name": "workers", "cluster": "demo", "role": "worker", "kubernetes_version": "1.35.0",
        "size": 3, "min": 3, "max": 3, "zones": ["a", "b"], "image": "one"});
    let applied = harness.create("sim_machine_pool.workers", value(pool.clone())).await.unwrap();
    let machines = applied.attributes.get("machines").unwrap().as_list().unwrap();
    assert_eq!(machines.len(), 3);
    assert!(machines.iter().all(|machine| machine.get("ready") == Some(&true.into())));
    let planned = harness
        .plan_one("sim_machine_pool.workers", Some(value(pool)), Some(applied.attributes.clone()))
        .await;
    assert!(!planned.rollout.unwrap().has_leaving());
    let id = applied.identity.unwrap();
    harness.delete("sim_machine_pool.workers", id.as_str()).await.unwrap();
    let inventory = Inventory::open(directory.path()).unwrap();
    assert!(inventory.objects.is_empty() && inventory.machines.is_empty());
}

#[tokio::test]
async fn what_others_do_shows() {
    let directory = tempfile::tempdir().unwrap();
    let harness = open(directory.path(), json!({})).await;
    let id = harness.create("sim_object.a", value(json!({"key": "k"}))).await.unwrap().identity.unwrap();
    let tamper = Tamper::open(directory.path());
    tamper.set(id.as_str(), &slipway_resource::Path::key("text"), "drift".into()).unwrap();
    assert_eq!(harness.attributes("sim_object.a").await.get("text"), Some(&"drift".into()));
    let second = tamper.duplicate(id.as_str()).unwrap();
    let inventory = Inventory::open(directory.path()).unwrap();
    assert_eq!(inventory.doubled().len(), 1);
    assert_eq!(inventory.leaked([id.as_str()])[0].id, second);
    tamper.delete(id.as_str()).unwrap();
    tamper.add_foreign("sim_network", &value(json!({"name": "theirs"})), None).unwrap();
    let observed = harness.observe().await;
    assert_eq!(observed.len(), 1, "only what is the cluster's");
    assert_eq!(observed[&"sim_object.a".parse().unwrap()].0.as_str(), second);
}

#[tokio::test]
async fn a_machine_that_is_lost_is_replaced_by_the_next_plan_or_by_the_cloud() {
    let directory = tempfile::tempdir().unwrap();
    let harness = open(directory.path(), json!({})).await;
    let pool = json!({"name": "workers", "cluster": "demo", "role": "worker", "kubernetes_version": "1.35.0",
        "min": 1, "max": 5, "zones": ["a"]});
    let made = harness.create("sim_machine_pool.workers", value(pool.clone())).await.unwrap();
    let id = made.identity.unwrap();
    let tamper = Tamper::open(directory.path());
    tamper.autoscale(id.as_str(), 3).unwrap();
    let machines = || {
        let inventory = Inventory::open(directory.path()).unwrap();
        inventory.machines.iter().map(|machine| machine.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(machines().len(), 3);
    tamper.lose_machine(&machines()[0], true).unwrap();
    assert_eq!(machines().len(), 3);
    tamper.lose_machine(&machines()[0], false).unwrap();
    let observed = harness.attributes("sim_machine_pool.workers").await;
    let planned = harness.plan_one("sim_machine_pool.workers", Some(value(pool)), Some(observed)).await;
    let rollout = planned.rollout.unwrap();
    assert_eq!((rollout.size, rollout.members.len()), (3, 3), "the place is empty and is to be filled");
    assert!(rollout.has_leaving());
}
