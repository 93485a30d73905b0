//! Persons beside a controller: holds, pauses, deletions, and a store that is away.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use slipway_reconciler::board::{self, Pause};
use slipway_reconciler::status::Status;
use slipway_state_store::faults::{Failure, Fault, Operation};
use slipway_state_store::{Acquire, ClusterName, Holder, SystemClock, controllers};

use crate::world::{World, on_one_thread};

/// Takes the cluster `dev` as Ada, for an operation.
async fn held_by_ada(world: &World, operation: &str) -> Holder {
    let who = world.environment("ada").actor.doing(operation);
    let name = ClusterName::new("dev").unwrap();
    Holder::acquire(world.backend(), &name, Acquire::new(who), Arc::new(SystemClock)).await.unwrap()
}

#[tokio::test]
async fn a_person_who_holds_a_cluster_is_respected() {
    on_one_thread(async {
        let world = World::new();
        let commit = world.push("dev", 1);
        let controller = world.applying("apply = 'always'").await;
        world.until_reason("dev", "InSync", &commit).await;
        let holder = held_by_ada(&world, "upgrade").await;
        let commit = world.push("dev", 2);
        let held = world.until_reason("dev", "Held", &commit).await;
        assert!(held.ready().unwrap().message.contains("ada@laptop"), "{held:#?}");
        assert_eq!(held.failures, 0, "it is no failure");
        assert_eq!(world.machines("dev"), 2);
        holder.release(None).await.unwrap();
        world.until_reason("dev", "InSync", &commit).await;
        assert_eq!(world.machines("dev"), 3);
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_freeze_counts_after_a_person_has_held_the_cluster() {
    on_one_thread(async {
        let world = World::new();
        let commit = world.push("dev", 1);
        let freezes = "apply = 'always'\nfreezes = [{ from = '2020-01-01', until = '2100-01-01' }]";
        let controller = world.applying(freezes).await;
        world.until_reason("dev", "Frozen", &commit).await;
        world.apply("dev", "ada").await;
        let holder = held_by_ada(&world, "upgrade").await;
        let commit = world.push("dev", 2);
        world.until_reason("dev", "Held", &commit).await;
        // The controller looks at the cluster several times.
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        holder.release(None).await.unwrap();
        world.until_reason("dev", "Frozen", &commit).await;
        assert_eq!(world.machines("dev"), 2);
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_run_of_a_person_is_not_taken_for_one_that_the_controller_began() {
    on_one_thread(async {
        let world = World::new();
        let commit = world.push("dev", 1);
        let freezes = "apply = 'always'\nfreezes = [{ from = '2020-01-01', until = '2100-01-01' }]";
        let controller = world.applying(freezes).await;
        world.until_reason("dev", "Frozen", &commit).await;
        world.apply("dev", "ada").await;
        controller.stop().await;
        // As if the process had been killed after it wrote this and before it took the cluster.
        let name = ClusterName::new("dev").unwrap();
        let begun =
            |found: Option<Status>| found.map(|status| Status { applying: Some("x".into()), ..status });
        controllers::change(&world.backend(), &controllers::status(&name), begun).await.unwrap();
        let holder = held_by_ada(&world, "upgrade").await;
        let commit = world.push("dev", 2);
        let controller = world.applying(freezes).await;
        world.until_reason("dev", "Held", &commit).await;
        holder.release(None).await.unwrap();
        world.until_reason("dev", "Frozen", &commit).await;
        assert_eq!(world.machines("dev"), 2);
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_paused_cluster_is_planned_and_not_applied() {
    on_one_thread(async {
        let world = World::new();
        let commit = world.push("dev", 1);
        let controller = world.applying("apply = 'always'").await;
        world.until_reason("dev", "InSync", &commit).await;
        let pause = Pause {
            who: "ada@laptop".into(),
            since: Timestamp::now(),
            until: None,
            reason: "incident".into(),
        };
        board::pause(&world.backend(), "dev", pause).await.unwrap();
        let commit = world.push("dev", 2);
        let status = world.until_reason("dev", "Paused", &commit).await;
        assert!(status.plan.is_some_and(|plan| plan.facts.update > 0));
        assert_eq!(world.machines("dev"), 2);
        board::resume(&world.backend(), "dev", Timestamp::now()).await.unwrap();
        world.until_reason("dev", "InSync", &commit).await;
        assert_eq!(world.machines("dev"), 3);
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_cluster_that_a_person_deleted_is_not_created_again() {
    on_one_thread(async {
        let world = World::new();
        let commit = world.push("dev", 1);
        let controller = world.applying("apply = 'always'").await;
        world.until_reason("dev", "InSync", &commit).await;
        assert!(world.delete("dev", "ada").await, "the deletion did not end");
        let status = world.request("dev").await;
        assert!(status.ready().is_some_and(|ready| ready.reason == "Deleted"), "{status:#?}");
        assert_eq!(world.machines("dev"), 0);
        // Without a spec there is nothing left to report.
        world.repository.write("clusters/dev/spec.yaml", None);
        world.repository.push_file("clusters/README.md", "none");
        let begun = std::time::Instant::now();
        while world.status("dev").await.is_some() {
            assert!(begun.elapsed() < Duration::from_secs(20), "the status stays");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn what_a_person_does_for_a_waiting_cluster_is_noticed_by_the_next_poll() {
    on_one_thread(async {
        let world = World::new();
        let commit = world.push("dev", 1);
        let controller = world.applying("apply = 'never'").await;
        world.until_reason("dev", "PlanOnly", &commit).await;
        world.apply("dev", "ada").await;
        world.until_reason("dev", "InSync", &commit).await;
        let commit = world.push("dev", 2);
        world.until_reason("dev", "PlanOnly", &commit).await;
        // A cluster that stays as it is, is not planned again.
        let before = world.status("dev").await;
        tokio::time::sleep(Duration::from_millis(600)).await;
        assert_eq!(world.status("dev").await, before);
        assert!(world.delete("dev", "ada").await, "the deletion did not end");
        world.until_reason("dev", "Deleted", &commit).await;
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_plan_that_a_person_applies_during_a_freeze_does_not_wait_any_more() {
    on_one_thread(async {
        let world = World::new();
        let commit = world.push("dev", 1);
        let freezes = "apply = 'always'\nfreezes = [{ from = '2020-01-01', until = '2100-01-01' }]";
        let controller = world.applying(freezes).await;
        world.until_reason("dev", "Frozen", &commit).await;
        world.apply("dev", "ada").await;
        world.until_reason("dev", "InSync", &commit).await;
        let commit = world.push("dev", 2);
        world.until_reason("dev", "Frozen", &commit).await;
        // It is noticed also by a controller that starts afterwards.
        controller.stop().await;
        world.apply("dev", "ada").await;
        let controller = world.applying(freezes).await;
        world.until_reason("dev", "InSync", &commit).await;
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_deletion_that_has_begun_is_not_undone() {
    on_one_thread(async {
        let world = World::new();
        let commit = world.push("dev", 1);
        let controller = world.applying("apply = 'always'").await;
        world.until_reason("dev", "InSync", &commit).await;
        let fault =
            r#"[{ "method": "delete", "type": "sim_network", "kind": "fail-before", "class": "permanent" }]"#;
        std::fs::write(world.cloud("dev").join("faults.json"), fault).unwrap();
        assert!(!world.delete("dev", "ada").await, "the deletion ended");
        let status = world.request("dev").await;
        let ready = status.ready().unwrap();
        assert_eq!(ready.reason, "Deleted", "{status:#?}");
        assert!(ready.message.contains("ada@laptop has begun to delete"), "{}", ready.message);
        assert_eq!(world.machines("dev"), 0);

        // The same where the process of the deletion was killed.
        let holder = held_by_ada(&world, "delete").await;
        holder.close().await;
        let status = world.request("dev").await;
        assert_eq!(status.ready().unwrap().reason, "Deleted", "{status:#?}");
        assert_eq!(world.machines("dev"), 0);
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_store_that_is_away_delays_and_loses_nothing() {
    on_one_thread(async {
        let world = World::new();
        let commit = world.push("dev", 1);
        let controller = world.applying("apply = 'always'").await;
        world.until_reason("dev", "InSync", &commit).await;
        // A look reads and writes often; a run that fails at its first entry is tried again once a second.
        for (operation, times) in [(Operation::Get, 60), (Operation::Update, 60), (Operation::Create, 5)] {
            world.store.fail(Fault::new(operation, "", Failure::Permission).times(times));
        }
        let commit = world.push("dev", 2);
        world.until_reason("dev", "InSync", &commit).await;
        assert_eq!(world.machines("dev"), 3);
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn an_idle_controller_reads_two_objects_at_each_poll() {
    on_one_thread(async {
        let world = World::new();
        for name in ["a", "b", "c"] {
            world.push(name, 1);
        }
        let commit = world.push("d", 1);
        let controller = world.applying("apply = 'always'").await;
        for name in ["a", "b", "c", "d"] {
            world.until_reason(name, "InSync", &commit).await;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        let before = world.store.calls().len();
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        let calls = world.store.calls().split_off(before);
        let others: Vec<_> = calls
            .iter()
            .filter(|call| {
                !["_controller/board", "_controller/members/default", "_controller/sources/fleet"]
                    .contains(&call.key.as_str())
            })
            .collect();
        assert!(others.is_empty(), "{others:?}");
        // Ten polls, each with two reads and a write, and a look at the source's document after each of its seven reads.
        assert!(calls.len() < 60, "{} calls", calls.len());
        controller.stop().await;
    })
    .await;
}
