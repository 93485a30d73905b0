use slipway_resource::Identity;
use slipway_resource::schema::OwnershipKind;

use super::*;
use crate::assemble::plain;
use crate::change::ResourceChange;
use crate::step::{Step, StepAction};

/// A route is deleted with its table and releases its gateway. A rule is deleted with its group, unless it
/// refers to another.
fn type_of(kind: &str) -> Option<&'static ResourceType> {
    let with = |kind: &str, attribute: &str, unless: &[&str], lets_go| RemovedWith {
        kind: kind.to_owned(),
        attribute: attribute.to_owned(),
        unless: unless.iter().map(|name| (*name).to_owned()).collect(),
        lets_go,
    };
    let removed_with = match kind {
        "route" => Some(with("table", "table_id", &[], true)),
        "association" => Some(with("subnet", "subnet_id", &[], false)),
        "rule" => Some(with("group", "group_id", &["source_id"], false)),
        _ => None,
    };
    let declared = ResourceType::new("", OwnershipKind::Tags, "any");
    Some(Box::leak(Box::new(ResourceType { removed_with, ..declared })))
}

struct Leaving {
    decided: Decided,
    standing_on: BTreeMap<Address, BTreeSet<Address>>,
}

/// A deleted object: its address, attributes, and dependencies.
type Object<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [&'a str]);

fn leaving(objects: &[Object<'_>]) -> Leaving {
    let mut leaving = Leaving { decided: Decided::default(), standing_on: BTreeMap::new() };
    for (address, attributes, needs) in objects {
        let address: Address = address.parse().unwrap();
        let before = Value::map(attributes.iter().map(|(name, value)| (*name, Value::from(*value))));
        leaving.decided.insert(plain(ResourceChange {
            action: ChangeAction::Delete,
            identity: Some(Identity::new(address.name())),
            before,
            ..ResourceChange::bare(&address, "cloud", 1)
        }));
        let needs = needs.iter().map(|needed| needed.parse().unwrap()).collect();
        leaving.standing_on.insert(address, needs);
    }
    leaving
}

fn parents(leaving: &Leaving) -> Vec<String> {
    let cascades = Cascades::find(&leaving.decided, &type_of);
    cascades.0.iter().map(|(address, cascade)| format!("{address} with {}", cascade.parent)).collect()
}

const NETWORK: &[Object<'_>] = &[
    ("table.t", &[], &[]),
    ("subnet.s", &[], &[]),
    ("gateway.g", &[], &["subnet.s"]),
    ("association.s", &[("subnet_id", "s"), ("table_id", "t")], &["subnet.s", "table.t"]),
    ("route.r", &[("table_id", "t"), ("gateway_id", "g")], &["table.t", "gateway.g"]),
];

#[test]
fn what_goes_with_its_parent_is_found_by_the_parents_type_and_identity() {
    // The association has the identity of its subnet.
    assert_eq!(parents(&leaving(NETWORK)), ["association.s with subnet.s", "route.r with table.t"]);
}

#[test]
fn what_stays_takes_nobody_along() {
    assert!(parents(&leaving(&NETWORK[4..])).is_empty());
}

#[test]
fn what_stands_in_the_way_of_others_is_deleted_by_a_call() {
    let rule = |source: &'static str| {
        leaving(&[
            ("group.a", &[], &[]),
            ("rule.r", Box::leak(Box::new([("group_id", "a"), ("source_id", source)])), &["group.a"]),
        ])
    };
    assert_eq!(parents(&rule("")), ["rule.r with group.a"]);
    assert!(parents(&rule("b")).is_empty());
}

#[test]
fn the_order_of_removals_has_no_circle_and_holds_what_is_in_use() {
    let leaving = leaving(NETWORK);
    let cascades = Cascades::find(&leaving.decided, &type_of);
    let mut order: Vec<String> = Vec::new();
    for (dependent, needs) in &leaving.standing_on {
        for needed in needs {
            let pairs = cascades.order(dependent, needed);
            order.extend(pairs.into_iter().map(|(earlier, later)| format!("{earlier} before {later}")));
        }
    }
    order.extend(cascades.behind_parents().map(|(earlier, later)| format!("{earlier} before {later}")));
    // The gateway waits neither for the table nor for its route: it may be in the subnet that it serves.
    assert_eq!(
        order,
        [
            "association.s before table.t",
            "gateway.g before subnet.s",
            "subnet.s before association.s",
            "table.t before route.r",
        ]
    );
}

#[test]
fn who_stands_on_what_goes_with_a_parent_keeps_the_parent() {
    let leaving = leaving(&[
        ("table.t", &[], &[]),
        ("route.r", &[("table_id", "t")], &["table.t"]),
        ("machine.m", &[], &["route.r"]),
    ]);
    let cascades = Cascades::find(&leaving.decided, &type_of);
    let machine: Address = "machine.m".parse().unwrap();
    let route: Address = "route.r".parse().unwrap();
    let order: Vec<String> = cascades
        .order(&machine, &route)
        .into_iter()
        .map(|(earlier, later)| format!("{earlier} before {later}"))
        .collect();
    assert_eq!(order, ["machine.m before route.r", "machine.m before table.t"]);
}

#[test]
fn a_step_without_a_call_says_with_what_it_goes() {
    let parent: Address = "table.t".parse().unwrap();
    let step = Step {
        id: crate::StepId(0),
        address: "route.r".parse().unwrap(),
        action: StepAction::RemovedWithParent { parent },
        identity: None,
        roll: None,
        depends_on: Vec::new(),
        rate_class: String::new(),
        estimate_ms: 0,
        timeout_ms: 0,
    };
    assert_eq!(step.title(), "delete route.r (with table.t)");
    assert!(!step.action.is_call());
    let json = serde_json::to_value(&step).unwrap();
    assert_eq!(serde_json::from_value::<Step>(json).unwrap(), step);
}
