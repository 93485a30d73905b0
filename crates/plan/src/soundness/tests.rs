//! A plan whose steps and changes differ is refused, also with a matching digest.

use super::*;
use crate::change::{MachineChange, MachineNode};
use crate::error::Error;
use crate::examples;

fn change(name: &str, action: ChangeAction) -> ResourceChange {
    ResourceChange {
        action,
        identity: (action != ChangeAction::Create).then(|| Identity::new(format!("id-{name}"))),
        ..ResourceChange::bare(&Address::new("any_thing", name), "any", 1)
    }
}

fn step(id: u32, name: &str, action: StepAction) -> Step {
    let is_new = action == StepAction::Create;
    Step {
        id: StepId(id),
        address: Address::new("any_thing", name),
        action,
        identity: (!is_new).then(|| Identity::new(format!("id-{name}"))),
        roll: None,
        depends_on: Vec::new(),
        rate_class: String::new(),
        estimate_ms: 1,
        timeout_ms: 1,
    }
}

const DELETE: StepAction = StepAction::Delete { surplus: false };

fn plan() -> Plan {
    Plan {
        changes: vec![
            change("made", ChangeAction::Create),
            change("changed", ChangeAction::Update),
            change("gone", ChangeAction::Delete),
        ],
        steps: vec![
            step(0, "made", StepAction::Create),
            step(1, "changed", StepAction::Update),
            step(2, "gone", DELETE),
        ],
        estimate_ms: 3,
        critical_path_ms: 1,
        ..examples::plan()
    }
}

fn refused(edit: impl FnOnce(&mut Plan)) -> String {
    let mut plan = plan();
    edit(&mut plan);
    match Plan::from_bytes(&plan.to_bytes().unwrap()) {
        Err(Error::Unsound { fault }) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_plan_whose_steps_do_what_its_changes_say_is_read() {
    assert_eq!(Plan::from_bytes(&plan().to_bytes().unwrap()).unwrap(), plan());
}

#[test]
fn a_step_that_no_change_shows_is_refused() {
    let other = "shows something else";
    let extra = |name: &'static str, action: StepAction| {
        move |plan: &mut Plan| plan.steps.push(step(3, name, action))
    };
    assert!(refused(extra("changed", DELETE)).contains(other));
    assert!(refused(extra("made", StepAction::Create)).contains("created by two steps"));
    assert!(refused(extra("changed", StepAction::Delete { surplus: true })).contains(other));
    assert!(refused(extra("changed", StepAction::Forget)).contains(other));
    assert!(refused(extra("elsewhere", DELETE)).contains("no change of this resource"));
    assert!(refused(extra("elsewhere", StepAction::Update)).contains("no change of this resource"));
    let parent = Address::new("any_thing", "changed");
    assert!(refused(extra("gone", StepAction::RemovedWithParent { parent })).contains(other));
    for name in [operation::REMOVE, operation::DRAIN, operation::CORDON, operation::SURGE] {
        let arguments = Value::map([("member", Value::from("m-1"))]);
        let gate = StepAction::Operation { name: name.to_owned(), arguments };
        assert!(refused(extra("changed", gate)).contains(other), "{name}");
        let gate = StepAction::Operation { name: name.to_owned(), arguments: Value::Null };
        assert!(refused(extra("elsewhere", gate)).contains("no change of this resource"), "{name}");
    }
    // A machine that an interrupted roll has made is verified by the next plan.
    let mut resumed = plan();
    let arguments = Value::map([("member", Value::from("m-1"))]);
    let gate = StepAction::Operation { name: operation::VERIFY.to_owned(), arguments };
    resumed.steps.push(step(3, "changed", gate));
    assert!(Plan::from_bytes(&resumed.to_bytes().unwrap()).is_ok());
    let to_another = |plan: &mut Plan| {
        let found = plan.steps.iter_mut().find(|step| step.action == DELETE).unwrap();
        found.identity = Some(Identity::new("id-changed"));
    };
    assert!(refused(to_another).contains(other));
}

/// A plan with the roll of one machine, and a gate of this name on this node: one of the roll, or an additional one.
fn gated(name: &str, node: &str, identity: &str) -> Plan {
    let mut plan = plan();
    let address = Address::new("any_node", "m-1");
    plan.changes[1].machines = vec![MachineChange {
        name: "m-1".to_owned(),
        identity: Identity::new("i-1"),
        node: Some(MachineNode { address: address.clone(), identity: Identity::new("Node//m-1") }),
        replaced: true,
        reason: "its image changes".to_owned(),
        blockers: Vec::new(),
    }];
    let gate = |id: u32, name: &str, arguments: Value| {
        let action = StepAction::Operation { name: name.to_owned(), arguments };
        step(id, "changed", action)
    };
    let on_node = |step: Step, earlier: u32| Step {
        address: address.clone(),
        identity: Some(Identity::new("Node//m-1")),
        roll: Some(Address::new("any_thing", "changed")),
        depends_on: vec![StepId(earlier)],
        ..step
    };
    let limit = Value::map([("timeout_ms", Value::Integer(1))]);
    let member = Value::map([("member", Value::from("i-1"))]);
    plan.steps.push(on_node(gate(3, operation::CORDON, Value::Null), 1));
    plan.steps.push(on_node(gate(4, operation::DRAIN, limit), 3));
    plan.steps.push(Step { depends_on: vec![StepId(4)], ..gate(5, operation::REMOVE, member) });
    if plan.steps.iter().all(|step| step.action.verb() != name) {
        plan.steps.push(on_node(gate(6, name, Value::Null), 1));
    }
    let found = plan.steps.iter_mut().find(|step| step.action.verb() == name).unwrap();
    found.address = Address::new("any_node", node);
    found.identity = Some(Identity::new(identity));
    plan
}

#[test]
fn a_gate_on_a_node_is_one_of_a_machine_that_its_roll_names() {
    let read = |plan: &Plan| Plan::from_bytes(&plan.to_bytes().unwrap());
    for name in [operation::CORDON, operation::DRAIN] {
        let good = gated(name, "m-1", "Node//m-1");
        assert_eq!(read(&good).unwrap(), good);
        for bad in [gated(name, "m-2", "Node//m-1"), gated(name, "m-1", "Node//m-2")] {
            assert!(
                matches!(read(&bad), Err(Error::Unsound { fault }) if fault.contains("no roll")),
                "{name}"
            );
        }
    }
    assert!(read(&gated(operation::VERIFY, "m-2", "Node//m-2")).is_ok());
    assert!(read(&gated("delete-everything", "m-1", "Node//m-1")).is_err());
    let mut elsewhere = gated(operation::DRAIN, "m-1", "Node//m-1");
    elsewhere.steps[3].roll = Some(Address::new("any_thing", "made"));
    assert!(read(&elsewhere).is_err());
}

#[test]
fn a_step_with_another_limit_or_mark_than_its_change_shows_is_refused() {
    let edited = |edit: &dyn Fn(&mut Plan)| {
        let mut plan = gated(operation::DRAIN, "m-1", "Node//m-1");
        edit(&mut plan);
        match Plan::from_bytes(&plan.to_bytes().unwrap()) {
            Ok(_) => None,
            Err(Error::Unsound { fault }) => Some(fault),
            Err(other) => panic!("{other:?}"),
        }
    };
    let argument = |step: &mut Step, name: &str, value: Value| {
        let StepAction::Operation { arguments, .. } = &mut step.action else { panic!("{step:?}") };
        arguments.set(&slipway_resource::Path::key(name), value);
    };
    assert_eq!(edited(&|_| ()), None);
    let retired = |plan: &mut Plan| argument(&mut plan.steps[5], "retire", Value::Bool(true));
    for (wanted, fault) in [
        ("retires a machine that the plan shows as replaced", edited(&retired)),
        ("does not retire", edited(&|plan| plan.changes[1].machines[0].replaced = false)),
        ("has 2 ms", edited(&|plan| plan.steps[4].timeout_ms = 2)),
        (
            "argument timeout_ms is 0",
            edited(&|plan| argument(&mut plan.steps[4], "timeout_ms", Value::Integer(0))),
        ),
        ("has no time", edited(&|plan| plan.steps[1].timeout_ms = 0)),
        ("shows something else", edited(&|plan| plan.steps[5].identity = Some(Identity::new("id-gone")))),
    ] {
        assert!(fault.as_ref().is_some_and(|fault| fault.contains(wanted)), "{wanted}: {fault:?}");
    }
}

#[test]
fn a_difference_with_another_value_than_its_step_sends_is_refused() {
    use slipway_resource::diff::Change;
    let difference = |after: Value| Change {
        path: slipway_resource::Path::key("size"),
        before: Value::Integer(1),
        after,
        replaces: false,
        sensitive: false,
    };
    let with = |sent: Value, shown: Value| {
        let mut plan = plan();
        plan.changes[1].after = Value::map([("size", sent)]);
        plan.changes[1].changes = vec![difference(shown)];
        plan
    };
    let read = |plan: &Plan| Plan::from_bytes(&plan.to_bytes().unwrap()).is_ok();
    assert!(read(&with(Value::Integer(2), Value::Integer(2))));
    assert!(read(&with(Value::Null, Value::Integer(2))), "2 is the default");
    assert!(read(&with(Value::Integer(1), Value::Unknown)), "the server sets it again");
    let hidden = |plan: &mut Plan| *plan = with(Value::Integer(9), Value::Integer(2));
    assert_eq!(refused(hidden), "any_thing.changed shows another value of size than its step sends");
    let replaced = |plan: &mut Plan| {
        *plan = with(Value::Integer(2), Value::Integer(2));
        plan.changes[1].changes[0].replaces = true;
    };
    assert!(refused(replaced).contains("the plan only updates it"));
    let idle = |plan: &mut Plan| plan.changes[0].changes = vec![difference(Value::Integer(2))];
    assert!(refused(idle).contains("no step changes the object"));
    assert!(refused(|plan| plan.changes[1].record.existing = true).contains("only uses"));
}

#[test]
fn a_change_that_no_step_does_is_refused() {
    for dropped in 0..3 {
        let fault = refused(|plan| {
            plan.steps.remove(dropped);
            for (position, step) in (0..).zip(&mut plan.steps) {
                step.id = StepId(position);
            }
        });
        assert!(fault.starts_with("no step does what the change of any_thing."), "{fault}");
    }
}

#[test]
fn a_graph_that_cannot_be_carried_out_is_refused() {
    let waits = |for_step: u32| move |plan: &mut Plan| plan.steps[1].depends_on = vec![StepId(for_step)];
    assert!(refused(waits(1)).contains("comes later"));
    assert!(refused(waits(2)).contains("comes later"));
    assert!(refused(waits(7)).contains("does not exist"));
    assert!(refused(|plan| plan.steps[0].id = StepId(5)).contains("is the number 0 of the plan"));
    assert!(refused(|plan| plan.changes.push(change("gone", ChangeAction::Delete))).contains("two changes"));
}

#[test]
fn a_loss_that_the_plan_does_not_mark_is_found() {
    let mut kind = ResourceType::new("A thing.", slipway_resource::schema::OwnershipKind::Tags, "any");
    kind.stateful = true;
    let fault = |plan: &Plan, kind: &ResourceType| hidden_loss(plan, &|_| Some(kind), None);
    assert!(fault(&plan(), &kind).is_some_and(|fault| fault.starts_with("any_thing.gone loses")));
    let mut marked = plan();
    marked.changes[2].confirmation = Some("deleting it loses its data".to_owned());
    assert_eq!(fault(&marked, &kind), None);
    kind.stateful = false;
    assert_eq!(fault(&plan(), &kind), None);
    kind.irreplaceable = Some(slipway_resource::schema::Irreplaceable::default());
    let mut holding = plan();
    holding.changes[2].before = Value::map([("any", Value::from("thing"))]);
    assert!(fault(&holding, &kind).is_some());
}
