//! Recorded dependencies that the spec does not have, as in a state of an earlier version.

use std::collections::BTreeMap;
use std::sync::Arc;

use slipway_engine::State;
use slipway_operations::{Approve, Manner, Names, Opened, Outcome, Request, Terms, bring};
use slipway_plan::Snapshot;
use slipway_resource::Address;
use slipway_state_store::{Acquire, Clock as _, ClusterName, CommitMeta, Holder, Identity, SystemClock};

use crate::world::{CLUSTER, World};

/// The records of the cluster.
async fn snapshot(world: &World) -> Snapshot {
    let store = world.environment.store.as_ref().unwrap();
    State::read(&*store.backend, CLUSTER).await.unwrap().unwrap().snapshot
}

/// Has the network depend on the workers in the state, which closes a circle. Returns what it depended on before.
async fn close_circle(world: &World) -> Vec<Address> {
    let mut snapshot = snapshot(world).await;
    let network = snapshot.resources.get_mut(&network()).unwrap();
    let before = network.depends_on.clone();
    network.depends_on.push(Address::new("sim_machine_pool", "workers"));
    network.depends_on.sort();
    let store = world.environment.store.as_ref().unwrap();
    let name = ClusterName::new(CLUSTER).unwrap();
    let acquire = Acquire::new(Identity::current("ada", "apply"));
    let holder = Holder::acquire(store.backend.clone(), &name, acquire, Arc::new(SystemClock)).await.unwrap();
    let meta = CommitMeta {
        operation: "apply".to_owned(),
        plan_digest: None,
        who: "ada@laptop".to_owned(),
        when: SystemClock.timestamp(),
        outcome: Default::default(),
        detail: None,
        about: BTreeMap::new(),
    };
    holder.release(Some((snapshot.to_bytes().unwrap(), meta))).await.unwrap();
    before
}

fn network() -> Address {
    Address::new("sim_network", "main")
}

#[tokio::test]
async fn dependencies_of_what_does_not_change_are_recorded_with_the_next_change() {
    let world = World::new();
    world.applied(1).await;
    let before = close_circle(&world).await;
    let generation = world.generation().await;
    let planned = world.opened(1).await.plan(&Request::apply()).await.unwrap().plan;
    assert!(planned.is_empty(), "{:#?}", planned.changes);
    assert_eq!(planned.dependencies, BTreeMap::from([(network(), before.clone())]));
    assert_eq!(planned.format, slipway_plan::file::WITH_DEPENDENCIES, "former versions do not read it");
    let outcome = world.apply(1, &Approve::default()).await.unwrap();
    assert!(matches!(outcome, Outcome::Nothing), "{outcome:?}");
    assert_eq!(world.generation().await, generation, "nothing is committed");

    world.applied(2).await;
    assert_eq!(snapshot(&world).await.resources[&network()].depends_on, before);
}

#[tokio::test]
async fn a_cluster_whose_records_depend_on_each_other_in_a_circle_is_deleted() {
    let world = World::new();
    world.applied(1).await;
    close_circle(&world).await;
    let spec = slipway_operations::state::recorded(&world.environment, CLUSTER).await.unwrap();
    let opened = Opened::leaving(&world.environment, spec).await.unwrap();
    let named = Approve { names: Names::from([CLUSTER.to_owned()]) };
    let terms = Terms::default();
    let manner = Manner::new(&terms, &named);
    let outcome = bring(&world.environment, &opened, &Request::delete(true, false), manner).await.unwrap();
    assert!(outcome.is_complete(), "{outcome:?}");
    assert!(world.inventory().objects.is_empty());
}
