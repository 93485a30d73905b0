//! A roll is played in any order that its edges allow; the budget must hold all the way.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use slipway_resource::schema::{Durations, OwnershipKind};

use super::*;
use crate::step::{Step, StepAction};

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
            group: "worker".into(),
            exclusive: false,
            after: Vec::new(),
            size: u32::try_from(staying).unwrap() + missing,
            members,
            max_surge,
            max_unavailable: if max_surge == 0 { max_unavailable.max(1) } else { max_unavailable },
            drain_timeout_ms: 1,
            ready_timeout_ms: 1,
            prerequisites: Vec::new(),
            durations_ms: BTreeMap::new(),
            loses: None,
        }
    })
}

fn plan(rollout: &Rollout) -> Vec<Step> {
    let mut graph = Graph::default();
    let address = Address::new("sim_machine_pool", "workers");
    steps(&mut graph, &address, None, &kind(), (rollout, false), &[]);
    graph.finish().expect("no circle")
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
        let machine =
            subject("member").or_else(|| subject("slot").map(|slot| format!("slot-{slot}"))).unwrap();
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

#[test]
fn the_first_machine_goes_alone() {
    let members = (0..4).map(|index| member(index, 1, true)).collect();
    let rollout = Rollout {
        group: "worker".into(),
        exclusive: false,
        after: Vec::new(),
        size: 4,
        members,
        max_surge: 2,
        max_unavailable: 0,
        drain_timeout_ms: 1,
        ready_timeout_ms: 1,
        prerequisites: Vec::new(),
        durations_ms: BTreeMap::new(),
        loses: None,
    };
    let steps = plan(&rollout);
    let find = |name: &str, subject: &str| {
        steps
            .iter()
            .find(|step| step.title() == format!("{name} sim_machine_pool.workers ({subject})"))
            .unwrap()
    };
    let second = find("cordon", "m1");
    assert!(second.depends_on.contains(&find("remove", "m0").id));
    assert!(find("cordon", "m0").depends_on.contains(&find("verify", "slot 1").id));
}

#[test]
fn machines_that_are_not_drained_have_no_gates_for_it() {
    let members = (0..2).map(|index| member(index, 1, true)).collect();
    let rollout = Rollout {
        group: "worker".into(),
        exclusive: false,
        after: Vec::new(),
        size: 2,
        members,
        max_surge: 1,
        max_unavailable: 0,
        drain_timeout_ms: 0,
        ready_timeout_ms: 1,
        prerequisites: Vec::new(),
        durations_ms: BTreeMap::new(),
        loses: None,
    };
    let steps = plan(&rollout);
    assert!(
        steps.iter().all(|step| !step.title().starts_with("cordon") && !step.title().starts_with("drain"))
    );
    let find = |title: &str| steps.iter().find(|step| step.title() == title).unwrap();
    let removal = find("remove sim_machine_pool.workers (m0)");
    assert!(removal.depends_on.contains(&find("verify sim_machine_pool.workers (slot 1)").id));
}
