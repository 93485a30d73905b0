//! Model check of all courses of acquiring, holding, losing and taking over a cluster.
//!
//! The processes of this model make no decisions. The state machines that run in production decide:
//! [`Contender`](crate::head::contend::Contender), [`Belief`](crate::head::belief::Belief) over
//! [`protocol::apply`](crate::head::protocol::apply), [`Tenure`](crate::head::tenure::Tenure),
//! [`End`](crate::journal::fence::End), [`Sealing`](crate::journal::fence::Sealing) and
//! [`Put`](crate::write::put::Put). The model adds the world: a store with create-if-absent and
//! compare-and-swap, requests and answers that take any time, abandoned requests that arrive nevertheless or
//! never, a clock for each process, and pauses of any length.
//!
//! There are two kinds of clocks. *Honest* clocks all run at one pace, each from its own start, and a process
//! with a valid lease must be the holder. With *wild* clocks a contender may at any moment believe that a
//! term has ended: leases guarantee nothing then, and fencing alone must keep every promise.
//!
//! [`Mutation`](mutation::Mutation) breaks one rule at a time; the checker must detect each.

mod mutation;
mod process;
mod properties;
mod store;
mod work;
mod world;

use std::time::Instant;

use stateright::{Checker, HasDiscoveries, Model};

use mutation::Mutation;
use world::World;

/// The number of threads of the checker.
const THREADS: usize = 2;

/// Checks all states: every promise must hold, and every interesting course must occur.
fn explore(name: &str, world: World) {
    let begun = Instant::now();
    let checker = world.checker().threads(THREADS).spawn_bfs().join();
    println!(
        "{name}: {} states, {} distinct, {} steps deep, in {:.1} s",
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth(),
        begun.elapsed().as_secs_f32()
    );
    checker.assert_properties();
}

/// Whether the checker detects a broken rule in a world, and by which promise.
fn noticed(world: World) -> Option<String> {
    let begun = Instant::now();
    let mutation = world.mutation;
    let checker =
        world.checker().threads(THREADS).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let broken = checker
        .discoveries()
        .into_iter()
        .find(|(name, _)| checker.model().property(name).expectation == stateright::Expectation::Always);
    let (name, path) = broken?;
    let mutation = mutation.map(|mutation| format!("{mutation:?}")).unwrap_or_default();
    println!(
        "{mutation}: found after {} states in {:.1} s: \"{name}\" is broken by {:?}",
        checker.state_count(),
        begun.elapsed().as_secs_f32(),
        path.into_actions()
    );
    Some(name.to_owned())
}

#[test]
fn fencing_holds_whatever_clocks_say() {
    explore("two processes, paused at will", World::paused());
}

#[test]
fn fencing_holds_whatever_gets_lost() {
    explore("two processes, requests lost and late", World::lossy());
}

#[test]
fn fencing_holds_among_three() {
    explore("three processes, paused at will", World::three());
}

#[test]
fn who_relies_on_its_lease_is_the_holder() {
    explore("two processes, honest clocks", World::honest());
}

#[test]
fn somebody_always_gets_through() {
    explore("two processes that never give up", World::stubborn());
}

#[test]
fn every_broken_rule_is_found() {
    for mutation in Mutation::ALL {
        let world = World { mutation: Some(mutation), ..mutation.shows_in() };
        assert!(noticed(world).is_some(), "{mutation:?} is not noticed");
    }
}
