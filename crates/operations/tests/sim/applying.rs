//! Plans that are carried out, and plans for a state that changes in between.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use async_trait::async_trait;
use slipway_operations::{
    Approve, Decide, Declined, Event, Manner, Occasion, Outcome, Request, Saved, Terms,
};
use slipway_plan::Plan;

use crate::world::World;

#[tokio::test]
async fn an_apply_brings_the_cluster_to_its_spec() {
    let world = World::new();
    let outcome = world.apply(1, &Approve::default()).await.unwrap();
    let Outcome::Applied(applied) = &outcome else { panic!("{outcome:?}") };
    assert!(outcome.is_complete());
    assert_eq!(applied.report.done, applied.plan.steps.len());
    assert_eq!(world.generation().await, applied.report.generation.map(|generation| generation.0));
    world.at_rest(1).await;
    let events = world.events.lock().unwrap();
    assert!(
        matches!(events.first(), Some(Event::RunBegins(plan)) if plan.steps.len() == applied.plan.steps.len())
    );
    assert!(matches!(events.last(), Some(Event::RunEnded)));
    let done = events.iter().filter(|event| matches!(event, Event::Step(slipway_engine::Event::Done(..))));
    assert_eq!(done.count(), applied.report.done, "every step is reported");
}

/// How many steps ran at the same time at most.
fn at_once(events: &[Event]) -> usize {
    let (mut running, mut most) = (BTreeSet::new(), 0);
    for event in events {
        match event {
            Event::Step(slipway_engine::Event::Started(id)) => drop(running.insert(*id)),
            Event::Step(slipway_engine::Event::Done(id, _)) => drop(running.remove(id)),
            _ => {}
        }
        most = most.max(running.len());
    }
    most
}

#[tokio::test]
async fn an_apply_runs_no_more_steps_at_once_than_the_caller_allows() {
    for limit in [None, NonZeroUsize::new(2), NonZeroUsize::new(1)] {
        let mut world = World::new();
        world.environment = world.environment.clone().with_parallelism(limit);
        world.applied(1).await;
        let most = at_once(&world.events.lock().unwrap());
        match limit {
            Some(limit) => assert_eq!(most, limit.get()),
            None => assert!(most > 2, "{most} steps at once"),
        }
    }
}

#[tokio::test]
async fn a_second_apply_has_nothing_to_do() {
    let world = World::new();
    world.applied(1).await;
    let generation = world.generation().await;
    let outcome = world.apply(1, &Approve::default()).await.unwrap();
    assert!(matches!(outcome, Outcome::Nothing), "{outcome:?}");
    assert_eq!(world.generation().await, generation, "nothing is committed");
}

/// Approves plans. Before it approves the first one, another process applies another spec.
struct Overtaken<'a> {
    world: &'a World,
    workers: u32,
    is_over: Cell<bool>,
    reviewed: RefCell<Vec<(Occasion, usize)>>,
}

#[async_trait(?Send)]
impl Decide for Overtaken<'_> {
    async fn review(&self, plan: &Plan, occasion: Occasion) -> Result<(), Declined> {
        self.reviewed.borrow_mut().push((occasion, plan.changes.len()));
        Ok(())
    }

    async fn approve(&self, _plan: &Plan) -> Result<(), Declined> {
        if !self.is_over.replace(true) {
            self.world.applied(self.workers).await;
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_plan_for_a_state_that_moved_is_made_and_decided_about_again() {
    let world = World::new();
    world.applied(1).await;
    let decide =
        Overtaken { world: &world, workers: 2, is_over: Cell::default(), reviewed: RefCell::default() };
    let outcome = world.apply(3, &decide).await.unwrap();
    assert!(outcome.is_complete(), "{outcome:?}");
    let reviewed = decide.reviewed.take();
    assert_eq!(
        reviewed.iter().map(|(occasion, _)| *occasion).collect::<Vec<_>>(),
        [Occasion::First, Occasion::Changed]
    );
    world.at_rest(3).await;
}

#[tokio::test]
async fn a_plan_that_became_empty_meanwhile_is_not_carried_out() {
    let world = World::new();
    world.applied(1).await;
    let decide =
        Overtaken { world: &world, workers: 2, is_over: Cell::default(), reviewed: RefCell::default() };
    let outcome = world.apply(2, &decide).await.unwrap();
    assert!(matches!(outcome, Outcome::Nothing), "{outcome:?}");
    assert_eq!(world.generation().await, Some(2), "no empty generation");
    world.at_rest(2).await;
}

#[tokio::test]
async fn a_saved_plan_is_carried_out_as_it_is_and_once() {
    let world = World::new();
    let opened = world.opened(1).await;
    let planned = opened.plan(&Request::apply()).await.unwrap();
    let bytes = Saved::to_bytes(&opened, &planned).await.unwrap();
    let (terms, approve) = (Terms::default(), Approve::default());
    let saved = || Saved::from_bytes(&bytes).unwrap();
    let outcome = saved().apply(&world.environment, Manner::new(&terms, &approve)).await.unwrap();
    assert!(outcome.is_complete(), "{outcome:?}");
    world.at_rest(1).await;
    let stale = saved().apply(&world.environment, Manner::new(&terms, &approve)).await.unwrap_err();
    assert_eq!(stale.code(), Some("RUN0004"), "{stale}");
}
