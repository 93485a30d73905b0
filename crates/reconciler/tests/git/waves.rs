//! Order among clusters, with several replicas, a pause, and drift.

use jiff::Timestamp;
use slipway_reconciler::board::{self, Pause};
use slipway_reconciler::status::Status;

use crate::world::{World, on_one_thread};

const WAVES: &str = "
[source.waves]
max-at-once = 1
[[source.cluster]]
name = 'canary'
apply = 'always'
[[source.cluster]]
name = '*'
apply = 'always'
drift = 'revert'
drift-interval = '500ms'
wave = 1
";

async fn pause(world: &World) {
    let (since, reason) = (Timestamp::now(), "incident".to_owned());
    let pause = Pause { who: "ada@laptop".into(), since, until: None, reason };
    board::pause(&world.backend(), "canary", pause).await.unwrap();
}

fn waits(status: &Status) -> bool {
    let said = status.ready().map(|ready| (ready.reason.as_str(), ready.message.as_str()));
    said == Some(("WaitsFor", "canary: paused by ada@laptop: incident"))
}

#[tokio::test]
async fn a_held_wave_is_planned_and_goes_on_on_another_replica_and_drift_is_reverted() {
    on_one_thread(async {
        let world = World::new();
        pause(&world).await;
        for name in ["canary", "eu"] {
            world.push(name, 1);
        }
        let commit = world.push("us", 1);
        let first = world.start(world.configuration("a", "", WAVES)).await;
        let second = world.start(world.configuration("b", "", WAVES)).await;
        world.until_reason("canary", "Paused", &commit).await;
        for name in ["eu", "us"] {
            let status = world.until(name, "wait for the canary", waits).await;
            assert!(status.plan.is_some_and(|plan| plan.facts.create > 0), "it is planned");
            let rollout = status.rollout.unwrap();
            assert_eq!((rollout.wave, rollout.waits_for.as_deref()), (1, Some("canary")));
            assert_eq!(world.machines(name), 0);
        }
        second.kill();
        board::resume(&world.backend(), "canary", Timestamp::now()).await.unwrap();
        let mut ends = Vec::new();
        for name in ["canary", "eu", "us"] {
            let status = world.until_reason(name, "InSync", &commit).await;
            ends.push(status.applied.unwrap().when);
            assert_eq!(world.machines(name), 2);
        }
        assert!(ends.is_sorted(), "one after the other, in the order of their names: {ends:?}");

        // The order holds no plan for a spec that the cluster has already.
        pause(&world).await;
        let before = world.status("eu").await.unwrap().applied.unwrap().generation;
        let network = world.inventory("eu").of_type("sim_network").next().expect("a network").id.clone();
        world.tamper("eu").set(&network, &"tags.by".parse().unwrap(), "hand".into()).unwrap();
        let reverted = |status: &Status| {
            let again = status.applied.as_ref().is_some_and(|applied| applied.generation > before);
            again && status.ready().is_some_and(|ready| ready.reason == "InSync")
        };
        world.until("eu", "revert", reverted).await;
        // A change waits.
        let commit = world.push("eu", 2);
        let status = world.until("eu", "wait for the canary", waits).await;
        assert_eq!((status.revision, world.machines("eu")), (commit, 2));
        first.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_dependency_that_does_not_exist_is_reported_and_found_when_it_comes() {
    on_one_thread(async {
        let world = World::new();
        let after = "
[[source.cluster]]
name = 'base'
apply = 'always'
[[source.cluster]]
name = '*'
apply = 'always'
after = ['base']
";
        let commit = world.push("dev", 1);
        let controller = world.start(world.configuration("a", "", after)).await;
        let status = world.until_reason("dev", "WaitsFor", &commit).await;
        assert!(status.ready().unwrap().message.starts_with("base: `after` names it"), "{status:#?}");
        world.push("base", 1);
        world.until_reason("base", "InSync", "").await;
        world.until_reason("dev", "InSync", "").await;
        let (base, dev) = (world.status("base").await.unwrap(), world.status("dev").await.unwrap());
        assert!(base.applied.unwrap().when < dev.applied.unwrap().when);
        controller.stop().await;
    })
    .await;
}
