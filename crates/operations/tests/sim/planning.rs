//! Plans.

use slipway_operations::{Error, Request};
use slipway_plan::Unfinished;

use crate::world::World;

#[tokio::test]
async fn a_plan_changes_nothing() {
    let world = World::new();
    let planned = world.opened(1).await.plan(&Request::apply()).await.unwrap();
    assert!(!planned.plan.is_empty() && planned.observed_at.is_some());
    assert!(planned.plan.steps.len() >= planned.plan.changes.len());
    assert_eq!(planned.plan.binding.generation, None);
    assert!(world.inventory().objects.is_empty(), "nothing is created");
    assert_eq!(world.generation().await, None, "nothing is written");
    let again = world.opened(1).await.plan(&Request::apply()).await.unwrap();
    assert_eq!(planned.plan.digest().unwrap(), again.plan.digest().unwrap());
}

#[tokio::test]
async fn a_change_is_planned_against_what_was_applied() {
    let world = World::new();
    world.applied(1).await;
    let planned = world.opened(2).await.plan(&Request::apply()).await.unwrap();
    let changed: Vec<String> = planned.plan.changes.iter().map(|change| change.address.to_string()).collect();
    assert!(!changed.is_empty() && changed.iter().all(|address| address.contains("workers")), "{changed:?}");
    assert_eq!(planned.plan.binding.generation, world.generation().await);
}

#[tokio::test]
async fn a_pool_that_does_not_exist_is_not_rolled() {
    let world = World::new();
    world.applied(1).await;
    let opened = world.opened(1).await;
    let refused = Request::roll(&opened, &["databases".to_owned()], Unfinished::Continue).unwrap_err();
    assert_eq!(refused.code(), Some("CLI0016"));
    assert_eq!(refused.hints(), ["its pools are control-plane, workers"]);
    let request = Request::roll(&opened, &["workers".to_owned()], Unfinished::Continue).unwrap();
    assert!(!opened.plan(&request).await.unwrap().plan.is_empty());
}

#[tokio::test]
async fn a_cluster_without_a_generation_is_not_rolled() {
    let opened = World::new().opened(1).await;
    let refused = Request::roll(&opened, &[], Unfinished::Continue).unwrap_err();
    assert!(matches!(refused, Error::NotMadeYet { verb: "roll", .. }), "{refused:?}");
}
