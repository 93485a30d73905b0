//! A roll is played in any order that its edges allow; the budget must hold all the way.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use slipway_resource::provider::NodeReference;
use slipway_resource::schema::{Durations, OwnershipKind};

use super::*;
use crate::change::MachineNode;
use crate::examples::workers;
use crate::step::{Step, StepAction, StepId};

fn kind() -> ResourceType {
    ResourceType {
        version: 1,
        description: String::new(),
        attributes: BTreeMap::new(),
        ownership: OwnershipKind::Tags,
        rate_class: "compute".into(),
        idempotent_create: true,
        stateful: false,
        irreplaceable: None,
        create_before_delete: false,
        import_id: String::new(),
        removed_with: None,
        roles: Vec::new(),
        read_by_identity: false,
        exclusive: Vec::new(),
        operations: BTreeMap::new(),
        durations: Durations::default(),
    }
}

fn member(index: usize, fate: u8, ready: bool) -> Member {
    let reason = "image changed".to_owned();
    Member {
        name: format!("m{index}"),
        identity: Identity::new(format!("m{index}")),
        fate: match fate {
            0 => Fate::Keep,
            1 => Fate::Replace { reason, path: None },
            _ => Fate::Retire { reason },
        },
        ready,
        blockers: Vec::new(),
        node: None,
    }
}

fn rollouts() -> impl Strategy<Value = Rollout> {
    let members = prop::collection::vec((0u8..3, prop::bool::weighted(0.8)), 1..9);
    (members, 0u32..3, 0u32..3, 0u32..3).prop_map(|(members, max_surge, max_unavailable, missing)| {
        let members: Vec<Member> = members
            .into_iter()
            .enumerate()
            .map(|(index, (fate, ready))| member(index, fate, ready))
            .collect();
        let staying = members.iter().filter(|member| !matches!(member.fate, Fate::Retire { .. })).count();
        Rollout {
            size: u32::try_from(staying).unwrap() + missing,
            members,
            max_surge,
            max_unavailable: if max_surge == 0 { max_unavailable.max(1) } else { max_unavailable },
            ..workers()
        }
    })
}

fn plan(rollout: &Rollout) -> Vec<Step> {
    plan_with(rollout, &Gates::OfPool)
}

fn plan_with(rollout: &Rollout, gates: &Gates) -> Vec<Step> {
    let mut graph = Graph::default();
    let (address, kind) = (Address::new("sim_machine_pool", "workers"), kind());
    let pool = Pool { address: &address, identity: None, kind: &kind, gates, nodes: Some(&kind) };
    steps(&mut graph, &pool, (rollout, false), &[]);
    graph.finish().expect("no circle")
}

/// The gates of a roll whose machines are nodes, but for those that have not joined the cluster.
fn of_nodes(rollout: &mut Rollout, missing: &[usize]) -> Gates {
    let mut by_member = BTreeMap::new();
    for (index, member) in rollout.members.iter_mut().enumerate() {
        member.node = Some(NodeReference::Name(member.name.clone()));
        if missing.contains(&index) {
            member.ready = false;
            continue;
        }
        let address = Address::new("some_node", member.name.as_str());
        let node = MachineNode { address, identity: Identity::new(format!("Node//{}", member.name)) };
        by_member.insert(member.identity.clone(), node);
    }
    Gates::OfNodes { kind: "some_node".to_owned(), by_member }
}

/// Plays the steps in an order chosen by `seed`, checking the budget after each; returns how many machines
/// there are at the end.
fn play(rollout: &Rollout, steps: &[Step], mut seed: u64) -> usize {
    let ready_at_start = rollout.members.iter().filter(|member| member.ready).count();
    let floor = (rollout.size as usize).saturating_sub(rollout.max_unavailable as usize).min(ready_at_start);
    let ceiling = (rollout.size as usize + rollout.max_surge as usize).max(rollout.members.len());
    let mut ready: BTreeSet<String> =
        rollout.members.iter().filter(|member| member.ready).map(|member| member.name.clone()).collect();
    let mut existing: BTreeSet<String> = rollout.members.iter().map(|member| member.name.clone()).collect();
    let mut done = vec![false; steps.len()];
    loop {
        let open: Vec<&Step> = steps
            .iter()
            .filter(|step| {
                !done[step.id.index()] && step.depends_on.iter().all(|needed| done[needed.index()])
            })
            .collect();
        if open.is_empty() {
            break;
        }
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let step = open[(seed >> 33) as usize % open.len()];
        done[step.id.index()] = true;
        let StepAction::Operation { name, arguments } = &step.action else { panic!("only gates") };
        let subject = |key: &str| arguments.get(key).map(Value::to_plain_text);
        let machine = subject("member")
            .or_else(|| subject("slot").map(|slot| format!("slot-{slot}")))
            .unwrap_or_else(|| step.address.name().to_owned());
        match name.as_str() {
            operation::SURGE => assert!(existing.insert(machine)),
            operation::VERIFY => {
                ready.insert(machine);
            }
            operation::CORDON => {
                ready.remove(&machine);
            }
            operation::REMOVE => assert!(existing.remove(&machine)),
            _ => {}
        }
        assert!(existing.len() <= ceiling, "{} machines where {ceiling} are allowed", existing.len());
        assert!(ready.len() >= floor, "{} ready machines where {floor} are needed", ready.len());
    }
    assert!(done.iter().all(|done| *done), "some step never became ready");
    assert!(existing.is_superset(&ready));
    existing.len()
}

proptest! {
    #[test]
    fn the_budget_holds_in_every_order(rollout in rollouts(), seed in any::<u64>()) {
        let steps = plan(&rollout);
        let goes = rollout.members.iter().any(|member| member.fate != Fate::Keep);
        prop_assert_eq!(goes, !steps.is_empty());
        let left = play(&rollout, &steps, seed);
        if goes {
            let kept = rollout.members.iter().filter(|member| member.fate == Fate::Keep).count();
            prop_assert_eq!(left, kept.max(rollout.size as usize));
        }
    }
}

proptest! {
    #[test]
    fn the_budget_holds_with_gates_on_nodes(
        mut rollout in rollouts(),
        missing in prop::collection::vec(0_usize..9, 0..3),
        seed in any::<u64>(),
    ) {
        let gates = of_nodes(&mut rollout, &missing);
        let steps = plan_with(&rollout, &gates);
        let left = play(&rollout, &steps, seed);
        if rollout.has_leaving() {
            let kept = rollout.members.iter().filter(|member| member.fate == Fate::Keep).count();
            prop_assert_eq!(left, kept.max(rollout.size as usize));
        }
        let drained: BTreeSet<&str> = steps
            .iter()
            .filter(|step| step.action.verb() == operation::DRAIN)
            .map(|step| step.address.name())
            .collect();
        for (index, member) in rollout.members.iter().enumerate() {
            let is_node = member.fate != Fate::Keep && !missing.contains(&index);
            prop_assert_eq!(drained.contains(member.name.as_str()), is_node, "{}", member.name);
        }
    }
}

#[test]
fn gates_on_nodes_are_steps_on_the_nodes_and_know_their_pool() {
    let members = (0..2).map(|index| member(index, 1, true)).collect();
    let mut rollout = Rollout {
        size: 2,
        members,
        drain_timeout_ms: 900_000,
        ready_timeout_ms: 600_000,
        settle_ms: 5_000,
        ignore_budgets: true,
        on_blocked: OnBlocked::Force,
        ..workers()
    };
    let gates = of_nodes(&mut rollout, &[1]);
    let steps = plan_with(&rollout, &gates);
    let titles: BTreeSet<String> = steps.iter().map(Step::title).collect();
    let expected = [
        "cordon some_node.m0",
        "drain some_node.m0",
        "remove sim_machine_pool.workers (m0)",
        "remove sim_machine_pool.workers (m1)",
        "surge sim_machine_pool.workers (new machine 1)",
        "surge sim_machine_pool.workers (new machine 2)",
        "verify sim_machine_pool.workers (new machine 1)",
        "verify sim_machine_pool.workers (new machine 2)",
    ];
    assert_eq!(titles, expected.map(str::to_owned).into());
    let find = |title: &str| steps.iter().find(|step| step.title() == title).unwrap();
    let pool = Address::new("sim_machine_pool", "workers");
    let verify = find("verify sim_machine_pool.workers (new machine 1)");
    assert_eq!(verify.new_machine(), Some((&pool, "1".to_owned())));
    assert_eq!((verify.identity.as_ref(), verify.timeout_ms), (None, 605_000));
    let StepAction::Operation { arguments, .. } = &verify.action else { panic!("{verify:?}") };
    let number = |name: &str| arguments.get(name).and_then(Value::as_integer);
    assert_eq!((number("timeout_ms"), number("settle_ms")), (Some(600_000), Some(5_000)));
    let drain = find("drain some_node.m0");
    assert_eq!((drain.roll.as_ref(), drain.identity.as_ref().unwrap().as_str()), (Some(&pool), "Node//m0"));
    assert_eq!(drain.new_machine(), None);
    let StepAction::Operation { arguments, .. } = &drain.action else { panic!("{drain:?}") };
    assert_eq!(arguments.get("on_blocked").and_then(Value::as_str), Some("force"));
    assert_eq!(arguments.get("ignore_budgets"), Some(&Value::Bool(true)));
    assert!(find("remove sim_machine_pool.workers (m0)").depends_on.contains(&drain.id));

    // Nothing is known of the nodes: machines come and go.
    let verbs = |gates: &Gates| -> BTreeSet<String> {
        plan_with(&rollout, gates).iter().map(|step| step.action.verb().to_owned()).collect()
    };
    assert_eq!(verbs(&Gates::None), ["remove".to_owned(), "surge".to_owned()].into());
}

#[test]
fn a_machine_that_stays_and_has_not_joined_is_waited_for() {
    let mut rollout = Rollout { size: 2, members: vec![member(0, 1, true), member(1, 0, true)], ..workers() };
    let gates = of_nodes(&mut rollout, &[1]);
    let steps = plan_with(&rollout, &gates);
    let verify = steps.iter().find(|step| step.title() == "verify some_node.m1").unwrap();
    let StepAction::Operation { arguments, .. } = &verify.action else { panic!("{verify:?}") };
    let named = NodeReference::of_value(arguments.get(operation::NODE).unwrap());
    assert_eq!(named, Some(NodeReference::Name("m1".to_owned())));
}

#[test]
fn the_first_machine_goes_alone() {
    let members = (0..4).map(|index| member(index, 1, true)).collect();
    let rollout = Rollout { size: 4, members, max_surge: 2, ..workers() };
    let steps = plan(&rollout);
    let find = |name: &str, subject: &str| {
        steps
            .iter()
            .find(|step| step.title() == format!("{name} sim_machine_pool.workers ({subject})"))
            .unwrap()
    };
    let second = find("cordon", "m1");
    assert!(second.depends_on.contains(&find("remove", "m0").id));
    assert!(find("cordon", "m0").depends_on.contains(&find("verify", "new machine 1").id));
}

#[test]
fn machines_that_are_not_drained_have_no_gates_for_it() {
    let members = (0..2).map(|index| member(index, 1, true)).collect();
    let rollout = Rollout { size: 2, members, drain_timeout_ms: 0, ..workers() };
    let steps = plan(&rollout);
    assert!(
        steps.iter().all(|step| !step.title().starts_with("cordon") && !step.title().starts_with("drain"))
    );
    let find = |title: &str| steps.iter().find(|step| step.title() == title).unwrap();
    let removal = find("remove sim_machine_pool.workers (m0)");
    assert!(removal.depends_on.contains(&find("verify sim_machine_pool.workers (new machine 1)").id));
}

/// The change of a pool that shows the machines which leave.
fn shown(rollout: &Rollout, gates: &Gates) -> crate::change::ResourceChange {
    let leaving = rollout.members.iter().filter(|member| member.fate != Fate::Keep);
    let machines = leaving.map(|member| crate::change::MachineChange {
        name: member.name.clone(),
        identity: member.identity.clone(),
        node: match gates {
            Gates::OfNodes { by_member, .. } => by_member.get(&member.identity).cloned(),
            Gates::None | Gates::OfPool => None,
        },
        replaced: matches!(member.fate, Fate::Replace { .. }),
        reason: String::new(),
        blockers: Vec::new(),
    });
    let address = Address::new("sim_machine_pool", "workers");
    crate::change::ResourceChange {
        action: crate::change::ChangeAction::Update,
        machines: machines.collect(),
        ..crate::change::ResourceChange::bare(&address, "sim", 1)
    }
}

proptest! {
    /// A plan file is read only if its rolls keep their order.
    #[test]
    fn a_roll_without_its_order_is_noticed(mut rollout in rollouts(), nodes in prop::bool::ANY) {
        use crate::derived::manner;
        use crate::soundness::rolls::{fault, of, over_budget, ungated};
        let gates = if nodes { of_nodes(&mut rollout, &[]) } else { Gates::OfPool };
        let changes = [shown(&rollout, &gates)];
        let mut steps = plan_with(&rollout, &gates);
        prop_assert_eq!(fault(&changes, &steps), None);
        for roll in of(&changes, &steps).values() {
            prop_assert_eq!(over_budget(roll, &rollout), None);
            prop_assert_eq!(ungated(roll, &rollout, &gates), None);
            prop_assert_eq!(manner::fault(&steps, roll.change, Some(&rollout), Some(roll)), None);
        }
        prop_assert_eq!(manner::timeouts(&changes, &steps), None);
        let is_rolled = !changes[0].machines.is_empty();
        steps.iter_mut().for_each(|step| step.depends_on.clear());
        prop_assert_eq!(fault(&changes, &steps).is_some(), is_rolled);
        // A file that names no nodes drains none of them.
        let (changes, steps) = ([shown(&rollout, &Gates::None)], plan_with(&rollout, &Gates::None));
        for roll in of(&changes, &steps).values() {
            prop_assert!(ungated(roll, &rollout, &gates).is_some());
        }
    }
}

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
fn a_new_machine_is_verified_on_a_node_of_its_own_pool() {
    use crate::soundness::rolls::fault;
    let mut rollout = Rollout { size: 1, members: vec![member(0, 1, true)], ..workers() };
    let gates = of_nodes(&mut rollout, &[]);
    let changes = [shown(&rollout, &gates)];
    for address in ["some_node.workers/2", "some_node.general/1", "sim_network.main"] {
        let mut steps = plan_with(&rollout, &gates);
        let verify = steps.iter_mut().find(|step| step.action.verb() == operation::VERIFY).unwrap();
        verify.address = address.parse().unwrap();
        let found = fault(&changes, &steps);
        assert!(
            found.as_ref().is_some_and(|found| found.contains("is on no node of")),
            "{address}: {found:?}"
        );
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
