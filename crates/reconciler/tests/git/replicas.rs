//! Several replicas, and one that goes on where another one was.

use std::time::Duration;

use slipway_reconciler::Error;
use slipway_reconciler::members::Members;
use slipway_state_store::controllers;

use crate::world::{World, on_one_thread};

const ALWAYS: &str = "[[source.cluster]]\nname = '*'\napply = 'always'\n";

#[tokio::test]
async fn replicas_share_the_clusters_and_take_over() {
    on_one_thread(async {
        let world = World::new();
        let names = ["a", "b", "c", "d"];
        let first = world.start(world.configuration("a", "", ALWAYS)).await;
        let second = world.start(world.configuration("b", "", ALWAYS)).await;
        let mut commit = String::new();
        for name in names {
            commit = world.push(name, 1);
        }
        for name in names {
            world.until_reason(name, "InSync", &commit).await;
            assert_eq!(world.machines(name), 2);
        }
        let key = controllers::members("default").unwrap();
        let members = || async { controllers::read::<Members>(&*world.store, &key).await.unwrap().unwrap() };
        assert_eq!(members().await.replicas.len(), 2);
        second.kill();
        for name in names {
            commit = world.push(name, 2);
        }
        let begun = std::time::Instant::now();
        for name in names {
            world.until_reason(name, "InSync", &commit).await;
            assert_eq!(world.machines(name), 3);
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        assert_eq!(members().await.replicas.len(), 1);
        first.stop().await;
        let ended = members().await;
        assert!(ended.replicas.is_empty(), "who ends says so");
        assert!(ended.last_sign().is_some() && !ended.live(jiff::Timestamp::now()));
    })
    .await;
}

#[tokio::test]
async fn a_new_process_plans_nothing_again_that_did_not_change() {
    on_one_thread(async {
        let world = World::new();
        let commit = world.push("dev", 1);
        let first = world.start(world.configuration("a", "", ALWAYS)).await;
        let before = world.until_reason("dev", "InSync", &commit).await;
        first.stop().await;
        let second = world.start(world.configuration("a", "", ALWAYS)).await;
        tokio::time::sleep(Duration::from_millis(1_000)).await;
        assert_eq!(world.status("dev").await.unwrap(), before);
        let commit = world.push("dev", 2);
        world.until_reason("dev", "InSync", &commit).await;
        second.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_data_folder_has_one_controller() {
    on_one_thread(async {
        let world = World::new();
        let first = world.start(world.configuration("a", "", ALWAYS)).await;
        let environment = world.environment("controller");
        let second =
            slipway_reconciler::Controller::new(world.configuration("a", "", ALWAYS), environment).await;
        assert!(matches!(second.err(), Some(Error::Locked { .. })));
        first.stop().await;
    })
    .await;
}
