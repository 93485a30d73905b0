//! Pools: rolls, drains, and what an interrupted roll leaves.

use serde_json::{Value as Json, json};
use slipway_provider_sim::inspect::Inventory;
use slipway_resource::provider::{Action, Fate, Node, PlanItem, Planned, Rollout};
use slipway_resource::{ErrorClass, Identity, Value};

use crate::harness::{Harness, open};

const POOL: &str = "sim_machine_pool.workers";

fn pool(size: u32, image: &str) -> Json {
    json!({"name": "workers", "cluster": "demo", "role": "worker", "kubernetes_version": "1.35.0",
        "size": size, "min": size, "max": size, "zones": ["a", "b"], "image": image})
}

fn workload(replicas: u32, minimum: &str) -> Value {
    Value::from_json(&json!({"cluster": "demo", "name": "web", "namespace": "shop", "replicas": replicas,
        "minimum_available": minimum, "node_selector": {"role": "worker"}}))
}

struct Pool {
    harness: Harness,
    directory: tempfile::TempDir,
    id: String,
}

impl Pool {
    async fn new(desired: Json) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let harness = open(directory.path(), json!({"seed": 5})).await;
        let applied = harness.create(POOL, Value::from_json(&desired)).await.unwrap();
        Self { harness, directory, id: applied.identity.unwrap().as_str().to_owned() }
    }

    async fn plan(&self, desired: &Json) -> Planned {
        let observed = self.harness.attributes(POOL).await;
        self.harness.plan_one(POOL, Some(Value::from_json(desired)), Some(observed)).await
    }

    async fn update(&self, desired: &Json) {
        let prior = self.harness.attributes(POOL).await;
        let identity = Identity::new(self.id.as_str());
        let desired = Value::from_json(desired);
        let request = self.harness.request(POOL, Action::Update { identity, prior, desired });
        self.harness.apply(request).await.unwrap();
    }

    async fn gate(&self, name: &str, arguments: Json) -> Result<(), slipway_resource::ProviderError> {
        self.harness.gate(POOL, &self.id, name, Value::from_json(&arguments)).await.map(drop)
    }

    async fn leave(&self, member: &str) {
        self.node_gate(member, "cordon", json!({})).await.unwrap();
        self.node_gate(member, "drain", json!({"timeout_ms": 60_000})).await.unwrap();
        self.gate("remove", json!({"member": member})).await.unwrap();
    }

    async fn arrive(&self, slot: &str) {
        let slot = Value::from_json(&json!({"slot": slot}));
        let launched = self.harness.gate(POOL, &self.id, "surge", slot).await.unwrap();
        let node = launched.attributes.get("node").unwrap().to_json();
        self.node_gate("", "verify", json!({"node": node})).await.unwrap();
    }

    async fn node_gate(
        &self,
        id: &str,
        name: &str,
        arguments: Json,
    ) -> Result<(), slipway_resource::ProviderError> {
        self.harness.gate("sim_node.any", id, name, Value::from_json(&arguments)).await.map(drop)
    }

    fn images(&self) -> Vec<String> {
        let inventory = Inventory::open(self.directory.path()).unwrap();
        inventory.machines_of(&self.id).map(|machine| machine.image.clone()).collect()
    }
}

fn fates(rollout: &Rollout) -> Vec<(&str, &'static str)> {
    let word = |fate: &Fate| match fate {
        Fate::Keep => "keep",
        Fate::Replace { .. } => "replace",
        Fate::Retire { .. } => "retire",
    };
    rollout.members.iter().map(|member| (member.name.as_str(), word(&member.fate))).collect()
}

fn leaving(rollout: &Rollout) -> Vec<String> {
    let goes = rollout.members.iter().filter(|member| member.fate != Fate::Keep);
    goes.map(|member| member.identity.as_str().to_owned()).collect()
}

#[tokio::test]
async fn a_new_template_touches_no_machine_until_it_rolls() {
    let pool_of = Pool::new(pool(3, "one")).await;
    let wanted = pool(3, "two");
    let planned = pool_of.plan(&wanted).await;
    let rollout = planned.rollout.unwrap();
    assert_eq!(rollout.members.len(), 3);
    for member in &rollout.members {
        assert!(matches!(&member.fate, Fate::Replace { reason, .. } if reason == "image one → two"));
    }
    pool_of.update(&wanted).await;
    assert_eq!(pool_of.images(), ["one", "one", "one"]);
    let again = pool_of.plan(&wanted).await.rollout.unwrap();
    assert_eq!(leaving(&again), leaving(&rollout), "an update alone replaces nothing");

    for (index, member) in leaving(&rollout).iter().enumerate() {
        pool_of.arrive(&(index + 1).to_string()).await;
        pool_of.leave(member).await;
    }
    assert_eq!(pool_of.images(), ["two", "two", "two"]);
    assert!(!pool_of.plan(&wanted).await.rollout.unwrap().has_leaving());
}

#[tokio::test]
async fn a_pool_that_may_only_change_in_place_refuses_a_new_template() {
    let mut desired = pool(2, "one");
    desired["rollout_strategy"] = "in-place".into();
    let pool_of = Pool::new(desired.clone()).await;
    assert!(!pool_of.plan(&desired).await.rollout.unwrap().has_leaving());
    desired["image"] = "two".into();
    let item = PlanItem {
        address: POOL.parse().unwrap(),
        desired: Some(Value::from_json(&desired)),
        observed: Some(pool_of.harness.attributes(POOL).await),
        last_applied: None,
    };
    let error = pool_of.harness.session.plan(vec![item]).await.unwrap_err();
    assert!(error.message.contains("`rollout.strategy: inPlace`"), "{}", error.message);
    assert!(error.message.contains("image one → two"), "{}", error.message);
}

#[tokio::test]
async fn an_interrupted_roll_goes_on_with_another_plan() {
    let pool_of = Pool::new(pool(3, "one")).await;
    let wanted = pool(3, "two");
    pool_of.update(&wanted).await;
    let members = leaving(&pool_of.plan(&wanted).await.rollout.unwrap());
    pool_of.arrive("1").await;
    pool_of.leave(&members[0]).await;
    pool_of.arrive("2").await;
    // Here the first plan is given up, between a machine's arrival and the leave of the one it replaces.
    let rollout = pool_of.plan(&wanted).await.rollout.unwrap();
    let kept = rollout.members.iter().filter(|member| member.fate == Fate::Keep).count();
    assert_eq!((kept, rollout.members.len()), (2, 4), "{:?}", fates(&rollout));
    let rest = leaving(&rollout);
    pool_of.leave(&rest[0]).await;
    // The second plan counts its slots from 1 again.
    pool_of.arrive("1").await;
    pool_of.leave(&rest[1]).await;
    assert_eq!(pool_of.images(), ["two", "two", "two"]);
}

#[tokio::test]
async fn without_surge_an_empty_place_is_filled_and_not_forgotten() {
    let mut wanted = pool(3, "one");
    wanted["max_surge"] = "0".into();
    wanted["max_unavailable"] = "1".into();
    let pool_of = Pool::new(wanted.clone()).await;
    wanted["image"] = "two".into();
    pool_of.update(&wanted).await;
    let rollout = pool_of.plan(&wanted).await.rollout.unwrap();
    assert_eq!((rollout.max_surge, rollout.max_unavailable), (0, 1));
    for (index, member) in leaving(&rollout).iter().enumerate() {
        pool_of.leave(member).await;
        if index < 2 {
            pool_of.arrive(&(index + 1).to_string()).await;
        }
    }
    assert_eq!(pool_of.images().len(), 2);
    // Interrupted before the last machine came: the next plan brings it.
    let rollout = pool_of.plan(&wanted).await.rollout.unwrap();
    assert_eq!(leaving(&rollout).len(), 1, "{:?}", fates(&rollout));
    // So does a plan of a pool that may only change in place: no machine is replaced.
    let mut in_place = wanted.clone();
    in_place["rollout_strategy"] = "in-place".into();
    assert_eq!(leaving(&pool_of.plan(&in_place).await.rollout.unwrap()).len(), 1);
    pool_of.leave(&leaving(&rollout)[0]).await;
    pool_of.arrive("1").await;
    assert_eq!(pool_of.images(), ["two", "two", "two"]);
    assert!(!pool_of.plan(&wanted).await.rollout.unwrap().has_leaving());
}

#[tokio::test]
async fn a_surge_that_is_repeated_launches_one_machine() {
    let pool_of = Pool::new(pool(2, "one")).await;
    pool_of.update(&pool(2, "two")).await;
    let action = Action::Operation {
        identity: Identity::new(pool_of.id.as_str()),
        name: "surge".into(),
        arguments: Value::from_json(&json!({"slot": "1"})),
    };
    let request = pool_of.harness.request(POOL, action);
    pool_of.harness.apply(request.clone()).await.unwrap();
    pool_of.harness.apply(request).await.unwrap();
    assert_eq!(pool_of.images(), ["one", "one", "two"]);
    // However often the gate runs, there are no more new machines than places.
    for slot in ["2", "3", "4"] {
        pool_of.arrive(slot).await;
    }
    assert_eq!(pool_of.images(), ["one", "one", "two", "two"]);
}

#[tokio::test]
async fn a_smaller_pool_retires_and_a_larger_one_launches() {
    let pool_of = Pool::new(pool(2, "one")).await;
    pool_of.update(&pool(4, "one")).await;
    assert_eq!(pool_of.images().len(), 4);
    let wanted = pool(3, "one");
    pool_of.update(&wanted).await;
    let rollout = pool_of.plan(&wanted).await.rollout.unwrap();
    assert_eq!(fates(&rollout).iter().filter(|(_, fate)| *fate == "retire").count(), 1);
    let member = leaving(&rollout)[0].clone();
    pool_of.leave(&member).await;
    pool_of.leave(&member).await;
    assert_eq!(pool_of.images().len(), 3, "a machine that is gone satisfies its steps");
}

#[tokio::test]
async fn a_drain_keeps_the_budget_and_names_who_blocks() {
    let pool_of = Pool::new(pool(2, "one")).await;
    pool_of.harness.create("sim_workload.web", workload(4, "3")).await.unwrap();
    let machines = || Inventory::open(pool_of.directory.path()).unwrap();
    let first = machines().machines[0].id.clone();
    let on = |id: &str| machines().pods.iter().filter(|pod| pod.machine.as_deref() == Some(id)).count();
    assert_eq!(on(&first), 2);
    let attributes = pool_of.harness.attributes(POOL).await;
    let seen = &attributes.get("machines").unwrap().as_list().unwrap()[0];
    assert_eq!(seen.get("drain_rounds"), Some(&Value::Integer(2)));
    pool_of.leave(&first).await;
    assert_eq!(machines().pods.iter().filter(|pod| pod.machine.is_some()).count(), 4);

    // Every pod is on the last node now, and no budget lets one of them wait.
    let pool_of = Pool::new(pool(2, "one")).await;
    pool_of.harness.create("sim_workload.web", workload(2, "100%")).await.unwrap();
    let inventory = Inventory::open(pool_of.directory.path()).unwrap();
    let member = inventory.machines[0].id.clone();
    let planned = pool_of.plan(&pool(2, "two")).await.rollout.unwrap();
    let leaving = planned.members.iter().find(|other| other.identity.as_str() == member).unwrap();
    let nodes = pool_of.harness.session.nodes().await.unwrap();
    let is = |node: &&Node| leaving.node.as_ref().unwrap().is(&node.name, node.provider_id.as_deref());
    let node = nodes.iter().find(is).unwrap();
    assert_eq!((node.identity.as_str(), node.ready), (member.as_str(), true));
    assert_eq!(node.blockers, ["budget shop/web allows 0 disruptions"]);
    let refused = pool_of.node_gate(&member, "drain", json!({"timeout_ms": 30_000})).await.unwrap_err();
    let ErrorClass::Dependency { blockers } = &refused.class else { panic!("{refused:?}") };
    assert_eq!(blockers, &["pod shop/web-0: budget shop/web allows 0 disruptions"]);
    assert_eq!(pool_of.images().len(), 2, "the capacity is as it was");
}

#[tokio::test]
async fn a_machine_that_never_gets_ready_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let faults = json!([{"kind": "never-ready", "address": POOL, "nth": 2}]);
    let harness = open(directory.path(), json!({"faults": faults})).await;
    let error = harness.create(POOL, Value::from_json(&pool(3, "one"))).await.unwrap_err();
    assert!(error.message.starts_with("workers-2 did not become a ready node"), "{error}");
    assert!(error.identity.is_some());
}

#[tokio::test]
async fn a_control_plane_takes_a_backup_and_goes_one_by_one() {
    let directory = tempfile::tempdir().unwrap();
    let harness = open(directory.path(), json!({})).await;
    let store = json!({"name": "main", "interval_ms": 1, "retention_ms": 1});
    let store = harness.create("sim_backup_store.main", Value::from_json(&store)).await.unwrap();
    let store = store.identity.unwrap();
    let mut volumes = Vec::new();
    for zone in ["a", "b", "c"] {
        let volume = Value::from_json(&json!({"name": zone, "zone": zone, "size_gib": 10}));
        let made = harness.create(&format!("sim_volume.{zone}"), volume).await.unwrap();
        volumes.push(made.identity.unwrap().as_str().to_owned());
    }
    let address = "sim_machine_pool.control-plane";
    let mut wanted = json!({"name": "control-plane", "cluster": "demo", "role": "controlPlane", "size": 3,
        "kubernetes_version": "1.34.0", "min": 3, "max": 3, "zones": ["a", "b", "c"], "image": "one",
        "volume_ids": volumes, "snapshot_before_roll": {"sim_backup_store.main": store.as_str()}});
    let made = harness.create(address, Value::from_json(&wanted)).await.unwrap();
    let mut held: Vec<String> = Inventory::open(directory.path())
        .unwrap()
        .machines
        .iter()
        .map(|machine| machine.volume.clone().unwrap())
        .collect();
    held.sort();
    assert_eq!(held, volumes);
    let refused = harness.delete("sim_volume.a", &volumes[0]).await.unwrap_err();
    assert_eq!(refused.class.name(), "dependency");

    wanted["kubernetes_version"] = "1.35.0".into();
    let planned = harness.plan_one(address, Some(Value::from_json(&wanted)), Some(made.attributes)).await;
    let rollout = planned.rollout.unwrap();
    assert!(rollout.exclusive);
    assert_eq!((rollout.group.as_str(), rollout.max_surge, rollout.max_unavailable), ("control-plane", 0, 1));
    assert_eq!(rollout.prerequisites[0].identity.as_ref(), Some(&store));
    harness.gate("sim_backup_store.main", store.as_str(), "snapshot", Value::Null).await.unwrap();
    let attributes = harness.attributes("sim_backup_store.main").await;
    assert_eq!(attributes.get("snapshots"), Some(&Value::Integer(1)));
}

#[tokio::test(start_paused = true)]
async fn estimates_are_what_the_simulation_takes() {
    let directory = tempfile::tempdir().unwrap();
    let harness = open(directory.path(), json!({"timeScale": 1.0, "seed": 11})).await;
    let wanted = Value::from_json(&pool(3, "one"));
    let estimate = harness.plan_one(POOL, Some(wanted.clone()), None).await.estimate_ms.unwrap();
    let begun = tokio::time::Instant::now();
    let made = harness.create(POOL, wanted).await.unwrap();
    let taken = u64::try_from(begun.elapsed().as_millis()).unwrap();
    assert!(taken.abs_diff(estimate) * 50 < estimate, "{taken} ms, estimated {estimate} ms");

    let wanted = Value::from_json(&pool(3, "two"));
    let planned = harness.plan_one(POOL, Some(wanted.clone()), Some(made.attributes.clone())).await;
    let id = made.identity.unwrap();
    let update = Action::Update { identity: id.clone(), prior: made.attributes, desired: wanted };
    harness.apply(harness.request(POOL, update)).await.unwrap();
    let durations = planned.rollout.unwrap().durations_ms;
    let begun = tokio::time::Instant::now();
    let slot = || Value::from_json(&json!({"slot": "1"}));
    let launched = harness.gate(POOL, id.as_str(), "surge", slot()).await.unwrap();
    let node = Value::map([("node", launched.attributes.get("node").unwrap().clone())]);
    harness.gate("sim_node.any", "", "verify", node).await.unwrap();
    let taken = u64::try_from(begun.elapsed().as_millis()).unwrap();
    let estimate = durations["surge"] + durations["verify"];
    assert!(taken.abs_diff(estimate) * 20 < estimate, "{taken} ms, estimated {estimate} ms");
}
