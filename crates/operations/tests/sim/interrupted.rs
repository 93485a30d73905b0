//! Runs that are stopped, and their outcome.

use std::sync::atomic::{AtomicUsize, Ordering};

use slipway_engine::{Event as StepEvent, StopSignal};
use slipway_operations::{Applied, Approve, Event, Manner, Outcome, Plannable as _, Request, Terms, bring};

use crate::world::World;

/// The event of the steps at which a run is stopped, and the number of signals.
struct Stopping {
    is_time: fn(&StepEvent) -> bool,
    signals: usize,
}

/// Applies a spec with two workers, and tells the run to stop meanwhile.
async fn stopped(Stopping { is_time, signals }: Stopping) -> (World, Applied) {
    let (stop, seen) = (StopSignal::default(), AtomicUsize::new(0));
    let raised = stop.clone();
    let world = World::new().timed().following(Box::new(move |event| {
        if let Event::Step(step) = event
            && is_time(step)
            && seen.fetch_add(1, Ordering::Relaxed) == 0
        {
            for _ in 0..signals {
                raised.raise();
            }
        }
    }));
    world.slow_down();
    let opened = world.opened(2).await;
    let (terms, approve) = (Terms::default(), Approve::default());
    let manner = Manner { stop, ..Manner::new(&terms, &approve) };
    let outcome = bring(&world.environment, &opened, &Request::apply(), manner).await.unwrap();
    world.speed_up();
    let Outcome::Applied(applied) = outcome else { panic!("{outcome:?}") };
    (world, applied)
}

/// The steps that began and did not end.
fn under_way(world: &World) -> usize {
    let events = world.events.lock().unwrap();
    let count = |is: fn(&StepEvent) -> bool| {
        events.iter().filter(|event| matches!(event, Event::Step(step) if is(step))).count()
    };
    count(|step| matches!(step, StepEvent::Started(_)))
        - count(|step| matches!(step, StepEvent::Done(..) | StepEvent::Failed(..)))
}

#[tokio::test]
async fn a_first_signal_lets_running_steps_end() {
    let stop = Stopping { is_time: |step| matches!(step, StepEvent::Done(..)), signals: 1 };
    let (world, applied) = stopped(stop).await;
    let report = &applied.report;
    assert!(report.stopped && !applied.is_complete());
    assert!(report.failures.is_empty() && report.done > 0 && report.not_begun > 0);
    assert_eq!(report.done + report.not_begun, applied.plan.steps.len());
    assert_eq!(under_way(&world), 0);
    // The next apply continues from there: no step has to be resolved, and nothing is created twice.
    world.applied(2).await;
    let recovered = world.events.lock().unwrap().iter().any(|event| matches!(event, Event::Recovered(_)));
    assert!(!recovered);
}

#[tokio::test]
async fn a_run_that_ended_at_once_is_recovered_by_the_next_one() {
    let stop = Stopping { is_time: |step| matches!(step, StepEvent::Started(_)), signals: 2 };
    let (world, applied) = stopped(stop).await;
    assert!(applied.report.stopped && !applied.is_complete());
    let left = under_way(&world);
    assert!(left > 0, "no step was under way");
    let report = &applied.report;
    assert!(report.under_way >= left, "{report:?}");
    assert_eq!(report.done + report.under_way + report.not_begun, applied.plan.steps.len(), "{report:?}");
    let opened = world.opened(2).await;
    assert!(opened.state.as_ref().unwrap().is_interrupted());
    world.applied(2).await;
    let events = world.events.lock().unwrap();
    let recovered = events.iter().filter(|event| matches!(event, Event::Recovered(_))).count();
    assert!(recovered >= left, "{recovered} of {left} steps were recovered");
}

#[tokio::test]
async fn an_interrupted_run_is_recovered_before_a_cluster_is_deleted() {
    let stop = Stopping { is_time: |step| matches!(step, StepEvent::Started(_)), signals: 2 };
    let (world, _) = stopped(stop).await;
    let spec = slipway_operations::state::recorded(&world.environment, crate::world::CLUSTER).await.unwrap();
    let opened = slipway_operations::Opened::leaving(&world.environment, spec).await.unwrap();
    let approve = Approve { names: [crate::world::CLUSTER.to_owned()].into() };
    let terms = Terms::default();
    let manner = Manner::new(&terms, &approve);
    let outcome = bring(&world.environment, &opened, &Request::delete(true, false), manner).await.unwrap();
    assert!(outcome.is_complete(), "{outcome:?}");
    assert!(world.inventory().objects.is_empty(), "nothing is left over");
}

/// The first key or object of a cluster may be what was interrupted. The state has no record of it then.
#[tokio::test]
async fn steps_of_keys_and_objects_can_be_recovered_in_any_cluster() {
    let world = World::new();
    let opened = world.opened(1).await;
    let recovering = opened.recovering().await.unwrap();
    for provider in ["secrets", "kubernetes"] {
        assert!(recovering.get(provider).is_some(), "{provider}");
    }
}
