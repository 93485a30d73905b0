//! What the lint notices about rolls that differ from the manner of their pool.

use super::*;

#[test]
fn a_machine_that_leaves_before_the_new_one_is_ready_is_noticed() {
    use crate::soundness::rolls::{fault, of, over_budget};
    let rollout =
        Rollout { size: 3, members: (0..3).map(|index| member(index, 1, true)).collect(), ..workers() };
    let changes = [shown(&rollout, &Gates::OfPool)];
    let whole = plan(&rollout);
    let mut noticed = 0;
    for verified in whole.iter().filter(|step| step.action.verb() == operation::VERIFY) {
        let mut steps = whole.clone();
        steps.iter_mut().for_each(|step| step.depends_on.retain(|needed| *needed != verified.id));
        let rolls = of(&changes, &steps);
        let over = rolls.values().find_map(|roll| over_budget(roll, &rollout));
        noticed += usize::from(over.or_else(|| fault(&changes, &steps)).is_some());
    }
    assert_eq!(noticed, 3);
}

#[test]
fn a_roll_in_another_manner_than_its_pool_asks_for_is_noticed() {
    use crate::derived::manner;
    use crate::soundness::rolls::of;
    let mut rollout = Rollout {
        size: 2,
        members: (0..3).map(|index| member(index, if index == 2 { 2 } else { 1 }, true)).collect(),
        drain_timeout_ms: 60_000,
        ready_timeout_ms: 90_000,
        settle_ms: 5_000,
        ..workers()
    };
    let gates = of_nodes(&mut rollout, &[]);
    let (change, whole) = (shown(&rollout, &gates), plan_with(&rollout, &gates));
    type Edit = fn(&mut crate::change::ResourceChange, &mut Vec<Step>);
    let fault = |edit: Edit| {
        let (mut change, mut steps) = (change.clone(), whole.clone());
        edit(&mut change, &mut steps);
        let changes = [change];
        let rolls = of(&changes, &steps);
        let roll = rolls.get(&changes[0].address);
        manner::fault(&steps, &changes[0], Some(&rollout), roll)
            .or_else(|| manner::timeouts(&changes, &steps))
    };
    fn argument(steps: &mut [Step], gate: &str, name: &str, value: Value) {
        let step = steps.iter_mut().find(|step| step.action.verb() == gate).unwrap();
        let StepAction::Operation { arguments, .. } = &mut step.action else { panic!("{step:?}") };
        arguments.set(&Path::key(name), value);
    }
    fn timeout(steps: &mut [Step], gate: &str, time: u64) {
        steps.iter_mut().find(|step| step.action.verb() == gate).unwrap().timeout_ms = time;
    }
    assert_eq!(fault(|_, _| ()), None);
    let edits: &[(&str, Edit)] = &[
        ("does not have m1, which leaves", |change, _| {
            change.machines.remove(1);
        }),
        ("has other, which the pool does not have", |change, _| {
            change.machines[0].identity = Identity::new("other");
        }),
        ("replaced of the machine m0", |change, _| change.machines[0].replaced = false),
        ("replaced of the machine m2", |change, _| change.machines[2].replaced = true),
        ("timeout_ms of drain", |_, steps| {
            argument(steps, operation::DRAIN, "timeout_ms", Value::Integer(0));
        }),
        ("timeout_ms of drain", |_, steps| timeout(steps, operation::DRAIN, 1)),
        ("ignore_budgets of drain", |_, steps| {
            argument(steps, operation::DRAIN, "ignore_budgets", Value::Bool(true));
        }),
        ("on_blocked of drain", |_, steps| {
            argument(steps, operation::DRAIN, "on_blocked", Value::from("force"));
        }),
        ("settle_ms of verify", |_, steps| {
            argument(steps, operation::VERIFY, "settle_ms", Value::Integer(1));
        }),
        ("timeout_ms of verify", |_, steps| timeout(steps, operation::VERIFY, 90_000)),
        ("timeout_ms of remove", |_, steps| timeout(steps, operation::REMOVE, 1)),
    ];
    for (wanted, edit) in edits {
        let found = fault(*edit);
        assert!(found.as_ref().is_some_and(|found| found.contains(wanted)), "{wanted}: {found:?}");
    }
}

#[test]
fn machines_that_leave_before_what_comes_first_are_noticed() {
    use slipway_resource::provider::Prerequisite;

    use crate::derived::manner;
    use crate::soundness::rolls::of;
    let gate = Prerequisite {
        address: Address::new("sim_backup_store", "main"),
        identity: None,
        operation: "snapshot".to_owned(),
        arguments: Value::Null,
    };
    let rollout = Rollout {
        size: 1,
        members: vec![member(0, 1, true)],
        prerequisites: vec![gate.clone()],
        ..workers()
    };
    let changes = [shown(&rollout, &Gates::OfPool)];
    let mut graph = Graph::default();
    let first = graph.operation(&gate.address, None, &gate.operation, gate.arguments, (1, 0), &[]);
    let (address, kind) = (Address::new("sim_machine_pool", "workers"), kind());
    let pool =
        Pool { address: &address, identity: None, kind: &kind, gates: &Gates::OfPool, nodes: Some(&kind) };
    steps(&mut graph, &pool, (&rollout, false), &[first]);
    let whole = graph.finish().expect("no circle");
    let fault = |steps: &[Step]| {
        let rolls = of(&changes, steps);
        manner::fault(steps, &changes[0], Some(&rollout), rolls.get(&address))
    };
    assert_eq!(fault(&whole), None);
    let snapshot = whole.iter().find(|step| step.action.verb() == "snapshot").unwrap().id;
    let mut early = whole.clone();
    early.iter_mut().for_each(|step| step.depends_on.retain(|needed| *needed != snapshot));
    assert!(fault(&early).is_some_and(|fault| fault.contains("does not wait for snapshot")));
    assert!(fault(&plan(&rollout)).is_some_and(|fault| fault.contains("no step does snapshot")));
}

/// The steps without one of them: those that waited for it wait for what it waited for.
fn without(steps: &[Step], dropped: &Step) -> Vec<Step> {
    let moved = |id: StepId| StepId(if id > dropped.id { id.0 - 1 } else { id.0 });
    let joined = |step: &Step| {
        let mut depends_on = step.depends_on.clone();
        if depends_on.contains(&dropped.id) {
            depends_on.retain(|id| *id != dropped.id);
            depends_on.extend(&dropped.depends_on);
        }
        let depends_on: BTreeSet<StepId> = depends_on.into_iter().map(moved).collect();
        Step { id: moved(step.id), depends_on: depends_on.into_iter().collect(), ..step.clone() }
    };
    steps.iter().filter(|step| step.id != dropped.id).map(joined).collect()
}

#[test]
fn a_roll_without_one_of_its_steps_is_noticed() {
    use crate::soundness::rolls::{fault, of, ungated};
    let members = (0..3).map(|index| member(index, 1, true)).collect();
    let mut rollout = Rollout { size: 3, members, drain_timeout_ms: 60_000, ..workers() };
    let nodes = of_nodes(&mut rollout, &[]);
    for gates in [&nodes, &Gates::OfPool] {
        let (changes, whole) = ([shown(&rollout, gates)], plan_with(&rollout, gates));
        assert_eq!(fault(&changes, &whole), None);
        for dropped in &whole {
            assert!(fault(&changes, &without(&whole, dropped)).is_some(), "{}", dropped.title());
        }
        let gate = |step: &Step| matches!(step.action.verb(), operation::SURGE | operation::REMOVE);
        let bare: Vec<Step> =
            whole.iter().filter(|step| !gate(step)).fold(whole.clone(), |steps, dropped| {
                let found = steps.iter().find(|step| step.title() == dropped.title()).unwrap().clone();
                without(&steps, &found)
            });
        let rolls = of(&changes, &bare);
        assert!(rolls.values().all(|roll| ungated(roll, &rollout, gates).is_some()), "no gate at all");
    }
}

#[test]
fn a_pool_that_is_deleted_before_its_machines_is_noticed() {
    use crate::soundness::rolls::fault;
    let members = (0..2).map(|index| member(index, 2, true)).collect();
    let rollout = Rollout { size: 0, members, ..workers() };
    let (address, kind) = (Address::new("sim_machine_pool", "workers"), kind());
    let pool =
        Pool { address: &address, identity: None, kind: &kind, gates: &Gates::OfPool, nodes: Some(&kind) };
    let mut graph = Graph::default();
    let through = steps(&mut graph, &pool, (&rollout, false), &[]);
    let deletion = graph.add(&address, StepAction::Delete { surplus: false }, None, 1);
    through.iter().for_each(|end| graph.edge(*end, deletion));
    let whole = graph.finish().expect("no circle");
    let changes = [crate::change::ResourceChange {
        action: crate::change::ChangeAction::Delete,
        ..shown(&rollout, &Gates::OfPool)
    }];
    assert_eq!(fault(&changes, &whole), None);
    let mut early = whole.clone();
    early.last_mut().unwrap().depends_on.clear();
    assert!(fault(&changes, &early).is_some_and(|fault| fault.contains("does not wait for remove")));
    let alone = [Step { id: StepId(0), depends_on: Vec::new(), ..whole.last().unwrap().clone() }];
    assert!(fault(&changes, &alone).is_some_and(|fault| fault.contains("no step removes it")));
}

#[test]
fn a_roll_with_more_machines_at_once_than_its_pool_allows_is_noticed() {
    use crate::derived::manner;
    use crate::soundness::rolls::of;
    let members = (0..3).map(|index| member(index, 1, true)).collect();
    let rollout = Rollout { size: 3, members, max_surge: 1, max_unavailable: 0, ..workers() };
    let (change, whole) = (shown(&rollout, &Gates::OfPool), plan(&rollout));
    let fault = |steps: &[Step]| {
        let changes = [change.clone()];
        let rolls = of(&changes, steps);
        manner::fault(steps, &changes[0], Some(&rollout), rolls.get(&changes[0].address))
    };
    assert_eq!(fault(&whole), None);
    let removed: BTreeSet<StepId> =
        whole.iter().filter(|step| step.action.verb() == operation::REMOVE).map(|step| step.id).collect();
    let mut early = whole.clone();
    for step in early.iter_mut().filter(|step| step.action.verb() == operation::SURGE) {
        step.depends_on.retain(|id| !removed.contains(id));
    }
    assert!(fault(&early).is_some_and(|fault| fault.contains("until a machine is removed for it")));
    let surge = whole.iter().find(|step| step.action.verb() == operation::SURGE).unwrap();
    assert!(fault(&without(&whole, surge)).is_some_and(|fault| fault.contains("starts 2 machines")));
}

#[test]
fn pools_of_control_planes_that_are_rolled_at_once_are_noticed() {
    use crate::derived::order;
    use crate::soundness::rolls::of;
    let members = || -> Vec<Member> { (0..2).map(|index| member(index, 1, true)).collect() };
    let control_plane = Rollout { size: 2, members: members(), exclusive: true, ..workers() };
    let waiting = vec![control_plane.group.clone()];
    let other =
        Rollout { size: 2, members: members(), group: "other".to_owned(), after: waiting, ..workers() };
    let names = ["a", "b", "c"].map(|name| Address::new("sim_machine_pool", name));
    let kind = kind();
    let mut graph = Graph::default();
    let mut before = Vec::new();
    for (address, rollout) in names.iter().zip([&control_plane, &control_plane, &other]) {
        let pool = Pool { address, identity: None, kind: &kind, gates: &Gates::OfPool, nodes: Some(&kind) };
        before = steps(&mut graph, &pool, (rollout, false), &before);
    }
    let whole = graph.finish().expect("no circle");
    let changes: Vec<crate::change::ResourceChange> = names
        .iter()
        .map(|address| crate::change::ResourceChange {
            address: address.clone(),
            ..shown(&control_plane, &Gates::OfPool)
        })
        .collect();
    let rollouts: BTreeMap<&Address, &Rollout> =
        names.iter().zip([&control_plane, &control_plane, &other]).collect();
    let fault = |steps: &[Step]| order::fault(&of(&changes, steps), &rollouts);
    assert_eq!(fault(&whole), None);
    for own in &names {
        let mut early = whole.clone();
        for step in early.iter_mut().filter(|step| step.address == *own) {
            step.depends_on.retain(|id| whole[id.index()].address == *own);
        }
        assert_eq!(fault(&early).is_some(), own.name() != "a", "{own}");
    }
}
