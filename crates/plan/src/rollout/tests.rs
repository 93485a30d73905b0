//! A roll is played in any order that its edges allow; the budget must hold all the way.

mod noticed;

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

/// The machines of a roll at one moment.
struct Played {
    existing: BTreeSet<String>,
    /// Those that are ready and take pods.
    ready: BTreeSet<String>,
}

/// Plays the steps in an order chosen by `seed`, checking the budget after each; returns how many machines
/// there are at the end.
fn play(rollout: &Rollout, steps: &[Step], seed: u64) -> usize {
    play_until(rollout, steps, seed, steps.len()).existing.len()
}

/// The same for a run that is interrupted after `limit` steps.
fn play_until(rollout: &Rollout, steps: &[Step], mut seed: u64, limit: usize) -> Played {
    let ready_at_start = rollout.members.iter().filter(|member| member.ready).count();
    let floor = (rollout.size as usize).saturating_sub(rollout.max_unavailable as usize).min(ready_at_start);
    let ceiling = (rollout.size as usize + rollout.max_surge as usize).max(rollout.members.len());
    let mut ready: BTreeSet<String> =
        rollout.members.iter().filter(|member| member.ready).map(|member| member.name.clone()).collect();
    let mut existing: BTreeSet<String> = rollout.members.iter().map(|member| member.name.clone()).collect();
    let mut done = vec![false; steps.len()];
    for _ in 0..limit {
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
    let carried_out = done.iter().filter(|done| **done).count();
    assert_eq!(carried_out, limit.min(steps.len()), "some step never became ready");
    assert!(existing.is_superset(&ready));
    Played { existing, ready }
}

/// The roll as its provider sees it after an interruption: machines that were started stay, and cordoned ones are not ready.
fn continued(rollout: &Rollout, played: &Played, round: usize) -> Rollout {
    let is_there = |member: &&Member| played.existing.contains(&member.name);
    let seen = |member: &Member| Member { ready: played.ready.contains(&member.name), ..member.clone() };
    let mut members: Vec<Member> = rollout.members.iter().filter(is_there).map(seen).collect();
    let is_new = |name: &&String| !rollout.members.iter().any(|member| member.name == **name);
    for slot in played.existing.iter().filter(is_new) {
        let name = format!("{slot}-{round}");
        let identity = Identity::new(name.as_str());
        members.push(Member { name, identity, ..member(0, 0, played.ready.contains(slot)) });
    }
    Rollout { members, ..rollout.clone() }
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
    /// A machine that was cordoned leaves first, and the machines that take pods are never fewer than the budget says.
    #[test]
    fn the_budget_holds_over_interruptions(
        mut rollout in rollouts(),
        cuts in prop::collection::vec((any::<u64>(), 0_usize..12), 1..4),
        seed in any::<u64>(),
    ) {
        let ready = rollout.members.iter().filter(|member| member.ready).count();
        let floor = (rollout.size as usize).saturating_sub(rollout.max_unavailable as usize).min(ready);
        for (round, (seed, limit)) in cuts.into_iter().enumerate() {
            let steps = plan(&rollout);
            let played = play_until(&rollout, &steps, seed, limit.min(steps.len()));
            prop_assert!(played.ready.len() >= floor);
            rollout = continued(&rollout, &played, round);
        }
        let leaves = |member: &&Member| member.fate != Fate::Keep;
        let leaving: Vec<Member> = rollout.members.iter().filter(leaves).cloned().collect();
        let steps = plan(&rollout);
        let first = steps.iter().find(|step| step.action.verb() == operation::REMOVE);
        let has_cordoned = leaving.iter().any(|member| !member.ready);
        if let Some(first) = first.filter(|_| has_cordoned) {
            let StepAction::Operation { arguments, .. } = &first.action else { panic!("{first:?}") };
            let name = arguments.get("member").map(Value::to_plain_text);
            let is_first = |member: &&Member| Some(&member.name) == name.as_ref();
            prop_assert!(leaving.iter().find(is_first).is_some_and(|member| !member.ready));
        }
        play(&rollout, &steps, seed);
    }
}

#[test]
fn the_order_stays_when_one_machine_is_to_be_removed_without_a_replacement() {
    // After a surge, one machine more is there than are replaced.
    let mut members: Vec<Member> =
        (0..3).map(|index| member(index, if index == 0 { 2 } else { 1 }, true)).collect();
    members.push(member(3, 0, true));
    let rollout = Rollout { size: 3, members, max_surge: 1, ..workers() };
    let steps = plan(&rollout);
    let removals: Vec<String> = steps
        .iter()
        .filter(|step| step.action.verb() == operation::REMOVE)
        .map(|step| match &step.action {
            StepAction::Operation { arguments, .. } => {
                arguments.get("member").map(Value::to_plain_text).unwrap_or_default()
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(removals, ["m0", "m1", "m2"]);
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
