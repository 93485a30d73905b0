use slipway_resource::Identity;
use slipway_resource::provider::Member;

use super::*;
use crate::assemble::plain;
use crate::change::ResourceChange;
use crate::examples::workers;
use crate::step::StepAction;
use crate::step_graph::Graph;

/// A pool of workers whose machines stay or leave.
fn pool(name: &str, action: ChangeAction, size: u32, stays: &[bool]) -> Decision {
    let member = |(index, stays): (usize, &bool)| Member {
        name: format!("{name}-{index}"),
        identity: Identity::new(format!("id-{name}-{index}")),
        fate: if *stays { Fate::Keep } else { Fate::Retire { reason: "a".to_owned() } },
        ready: true,
        blockers: Vec::new(),
        node: None,
    };
    let rollout = Rollout { size, members: stays.iter().enumerate().map(member).collect(), ..workers() };
    let address = Address::new("pool", name);
    let change = ResourceChange { action, ..ResourceChange::bare(&address, "p", 1) };
    Decision { rollout: Some(rollout), ..plain(change) }
}

fn decided(pools: impl IntoIterator<Item = Decision>) -> Decided {
    let mut decided = Decided::default();
    pools.into_iter().for_each(|pool| decided.insert(pool));
    decided
}

#[test]
fn only_pools_that_are_created_or_grow_take_over() {
    let decided = decided([
        pool("created", ChangeAction::Create, 2, &[]),
        pool("gone", ChangeAction::Delete, 0, &[false]),
        pool("grows", ChangeAction::Update, 2, &[true]),
        pool("shrinks", ChangeAction::Update, 1, &[true, false]),
    ]);
    let mut graph = Graph::default();
    let nodes: BTreeMap<Address, Nodes> = decided
        .by_address
        .keys()
        .map(|address| {
            let arrival = Some(graph.add(address, StepAction::Update, None, 1));
            (address.clone(), Nodes { arrival, ..Nodes::default() })
        })
        .collect();
    let node = |name: &str| nodes.get(&Address::new("pool", name)).and_then(|own| own.arrival).unwrap();
    let found = arrivals(&nodes, &decided);
    assert_eq!(found.beside.get(WORKER), Some(&vec![node("created"), node("grows")]));
    assert!(found.exclusive.is_empty());
}

#[test]
fn control_planes_do_not_leave_as_whole_pools_without_a_majority() {
    let exclusive = |name: &str, action, size, members: &[bool]| {
        let mut decision = pool(name, action, size, members);
        if let Some(rollout) = &mut decision.rollout {
            (rollout.group, rollout.exclusive) = ("control-plane".to_owned(), true);
        }
        decision
    };
    let gone = |name: &str| exclusive(name, ChangeAction::Delete, 0, &[false]);
    let new = |name: &str| exclusive(name, ChangeAction::Create, 1, &[]);
    let stays = |name: &str| exclusive(name, ChangeAction::NoOp, 1, &[true]);
    let leaving = |pools: Vec<Decision>| leaving_control_planes(&decided(pools));
    let emptied = exclusive("emptied", ChangeAction::Update, 0, &[false]);
    for pools in [
        vec![gone("a"), new("b")],
        vec![gone("a")],
        vec![emptied, new("b")],
        vec![gone("a"), gone("b"), stays("c"), new("d"), new("e")],
    ] {
        let found = leaving(pools).map(Error::from);
        assert!(matches!(found, Some(Error::ControlPlanesLeave { .. })), "{found:?}");
    }
    for pools in [
        vec![gone("a"), stays("b"), stays("c"), new("d")],
        vec![gone("a"), stays("b")],
        vec![new("a"), new("b")],
        vec![pool("workers", ChangeAction::Delete, 0, &[false])],
    ] {
        assert!(leaving(pools).is_none());
    }
}

#[test]
fn the_end_of_the_last_workers_is_noted() {
    let gone = || pool("gone", ChangeAction::Delete, 0, &[false]);
    let note = last_workers(&decided([gone()])).unwrap();
    assert!(
        note.message.contains("no worker will be left") && note.message.contains("pool.gone"),
        "{note:?}"
    );
    let emptied = pool("emptied", ChangeAction::Update, 0, &[false]);
    assert!(last_workers(&decided([emptied, gone()])).unwrap().message.contains("pool.emptied, pool.gone"));

    let new = pool("new", ChangeAction::Create, 1, &[]);
    let unchanged = pool("unchanged", ChangeAction::NoOp, 1, &[true]);
    let replaced = pool("replaced", ChangeAction::ReplaceCreateFirst, 0, &[false]);
    for other in [new, unchanged, replaced] {
        let name = other.change.address.to_string();
        assert!(last_workers(&decided([gone(), other])).is_none(), "{name}");
    }
    let mut deferred = pool("deferred", ChangeAction::Deferred, 0, &[]);
    deferred.rollout = None;
    assert!(last_workers(&decided([gone(), deferred])).is_none());
    assert!(last_workers(&decided([])).is_none());
}

#[test]
fn a_roll_of_the_only_control_plane_is_an_outage() {
    let control_plane = |name: &str, leaves: bool, max_surge: u32| {
        let mut decision = pool(name, ChangeAction::NoOp, 1, &[!leaves]);
        if let Some(rollout) = &mut decision.rollout {
            (rollout.group, rollout.exclusive) = ("control-plane".to_owned(), true);
            (rollout.max_surge, rollout.max_unavailable) = (max_surge, 1 - max_surge);
            if let Some(member) = rollout.members.first_mut().filter(|_| leaves) {
                member.fate = Fate::Replace { reason: "its image changes".to_owned(), path: None };
            }
        }
        decision
    };
    let disruption = |pools: Vec<Decision>| {
        let mut decided = decided(pools);
        let machines = machines(&decided);
        name_outages(&mut decided, &machines);
        decided.by_address.values().map(|decision| decision.change.disruption).max()
    };
    assert_eq!(disruption(vec![control_plane("a", true, 0)]), Some(Disruption::Outage));
    // Another one is started first, or others continue to serve the API.
    assert_eq!(disruption(vec![control_plane("a", true, 1)]), Some(Disruption::None));
    let three = vec![control_plane("a", true, 0), control_plane("b", true, 0), control_plane("c", false, 0)];
    assert_eq!(disruption(three), Some(Disruption::None));
    let unchanged = vec![control_plane("a", true, 0), control_plane("b", false, 0)];
    assert_eq!(disruption(unchanged), Some(Disruption::None));
}

#[test]
fn control_planes_that_all_leave_before_a_new_one_are_an_outage() {
    let disruption = |size: u32, stays: &[bool], others: usize| {
        let mut shrinks = pool("a", ChangeAction::Update, size, stays);
        if let Some(rollout) = &mut shrinks.rollout {
            (rollout.group, rollout.exclusive) = ("control-plane".to_owned(), true);
            (rollout.max_surge, rollout.max_unavailable) = (0, 1);
        }
        let mut decided = decided([shrinks]);
        let mut machines = machines(&decided);
        *machines.entry("control-plane".to_owned()).or_default() += others;
        name_outages(&mut decided, &machines);
        decided.by_address.values().map(|decision| decision.change.disruption).max()
    };
    assert_eq!(disruption(1, &[false, false, false], 0), Some(Disruption::Outage));
    assert_eq!(disruption(1, &[true, false, false], 0), Some(Disruption::None), "one stays");
    assert_eq!(disruption(2, &[false, false, false], 0), Some(Disruption::None), "the budget keeps one");
    assert_eq!(
        disruption(1, &[false, false, false], 1),
        Some(Disruption::None),
        "another pool serves the API"
    );
}
