//! The rule holds for any type that declares it, over random states: none of them makes a plan lose what it does not name.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use slipway_resource::provider::Discovery;
use slipway_resource::{Observation, Observed, Value};

use super::*;
use crate::examples::record;
use crate::observations::Found;

const PRINT: &str = "print";

fn rule(refusal: &str) -> Irreplaceable {
    Irreplaceable { fingerprint: PRINT.to_owned(), refusal: refusal.to_owned() }
}

fn address(number: u8) -> Address {
    Address::new("any_vault", format!("v{number}"))
}

/// One resource of a random world: its record, its object, and the decision of the planner without the rule.
#[derive(Clone, Debug)]
struct Case {
    recorded: bool,
    there: Option<u8>,
    /// A second object under the same address.
    twin: Option<u8>,
    action: ChangeAction,
    /// The fingerprint that the plan promises; none for one that only apply will tell.
    after: Option<u8>,
}

fn print(number: u8) -> String {
    format!("sha256:{number}")
}

fn case() -> impl Strategy<Value = Case> {
    use ChangeAction::*;
    let present = prop_oneof![
        Just(NoOp),
        Just(Update),
        Just(ReplaceDeleteFirst),
        Just(ReplaceCreateFirst),
        Just(Delete),
        Just(Adopt),
        Just(Record),
        Just(Forget)
    ];
    let print = || prop::option::of(0..3_u8);
    let present = (any::<bool>(), 0..3_u8, print(), present, print()).prop_map(
        |(recorded, there, twin, action, after)| Case { recorded, there: Some(there), twin, action, after },
    );
    let absent = (any::<bool>(), print()).prop_map(|(recorded, after)| Case {
        recorded,
        there: None,
        twin: None,
        action: Create,
        after,
    });
    prop_oneof![4 => present, 1 => absent]
}

struct World {
    decided: Decided,
    records: BTreeMap<Address, Record>,
    forgotten: BTreeMap<Address, Vec<Identity>>,
    observations: Observations,
    overwrites: BTreeSet<String>,
}

fn world(cases: &[Case]) -> World {
    let (mut decided, mut records) = (Decided::default(), BTreeMap::new());
    let mut discovery = Discovery::default();
    for (number, case) in (0_u8..).zip(cases) {
        let at = address(number);
        let object = |name: &str, held: u8| Found {
            identity: Identity::new(format!("{name}-{number}")),
            attributes: Value::map([(PRINT, print(held))]),
            owned: true,
        };
        let own = case.there.map(|held| object("own", held));
        let twin = case.twin.map(|held| object("twin", held));
        if case.recorded {
            records.insert(at.clone(), record(&format!("own-{number}")));
        }
        for found in own.iter().chain(&twin) {
            discovery.observed.push(Observed {
                address: at.clone(),
                identity: found.identity.clone(),
                token: None,
                owner: None,
                observation: Observation::Present(found.attributes.clone()),
            });
        }
        let after = case.after.map_or(Value::Unknown, |after| print(after).into());
        let change = ResourceChange {
            action: case.action,
            identity: own.as_ref().map(|own| own.identity.clone()),
            before: own.map(|own| own.attributes).unwrap_or_default(),
            after: Value::map([(PRINT, after)]),
            ..ResourceChange::bare(&at, "any", 1)
        };
        let surplus = twin.into_iter().collect();
        decided.by_address.insert(at, Box::new(Decision { surplus, ..crate::assemble::plain(change) }));
    }
    let mut observations = Observations::default();
    observations.add_discovery(discovery);
    World { decided, records, forgotten: BTreeMap::new(), observations, overwrites: BTreeSet::new() }
}

fn enforce(world: &mut World, rule: &Irreplaceable, mode: Mode) -> Result<(), Error> {
    let rule_of = |_: &Address| Some(rule);
    let guard = Guard {
        cluster: "c",
        mode,
        records: &world.records,
        forgotten: &world.forgotten,
        observations: &world.observations,
        overwrites: &world.overwrites,
        rule_of: &rule_of,
        is_asked_for: &|_| true,
        is_key: &|_, path| *path == Path::key("key"),
        forgets: &|_| false,
        unread: &|_| None,
        depends_on: &BTreeMap::new(),
    };
    guard.enforce(&mut world.decided)
}

proptest! {
    #[test]
    fn no_plan_loses_what_it_does_not_name(
        cases in prop::collection::vec(case(), 1..6),
        refuses in any::<bool>(),
        deletes in any::<bool>(),
    ) {
        let rule = rule(if refuses { "it cannot be" } else { "" });
        let mode = if deletes { Mode::Delete } else { Mode::Apply };
        let mut world = world(&cases);
        let before = world.decided.by_address.len();
        if enforce(&mut world, &rule, mode).is_err() {
            // A refused plan loses nothing.
            return Ok(());
        }
        prop_assert_eq!(world.decided.by_address.len(), before);
        let (mut kept, mut gone) = (BTreeSet::new(), BTreeMap::<String, bool>::new());
        for (at, decision) in &world.decided.by_address {
            let change = &decision.change;
            let named = change.confirmation.is_some();
            let held = |found: &Found| found.attributes.get(PRINT).and_then(Value::as_str).map(str::to_owned);
            let leaving: BTreeSet<&Identity> = decision.surplus.iter().map(|found| &found.identity).collect();
            match change.action {
                ChangeAction::Update => prop_assert_eq!(change.before.get(PRINT), change.after.get(PRINT)),
                action if action.is_replace() => prop_assert!(named && !refuses),
                ChangeAction::Create if world.records.contains_key(at) => prop_assert!(named && !refuses),
                _ => {}
            }
            for found in world.observations.objects(at) {
                let Some(print) = held(found) else { continue };
                let own = change.identity.as_ref() == Some(&found.identity);
                let goes = own && (change.action == ChangeAction::Delete || change.action.is_replace())
                    || leaving.contains(&found.identity);
                if goes {
                    // A replacement names what it loses itself.
                    let told = named && (change.action == ChangeAction::Delete || change.action.is_replace());
                    *gone.entry(print).or_default() |= told;
                    // Only the object that the state names may push others out.
                    prop_assert!(own || deletes || world.records.contains_key(at) && !refuses);
                } else {
                    kept.insert(print);
                }
            }
        }
        let deleted_only_surplus = |print: &String| {
            world.decided.by_address.values().any(|decision| {
                decision.surplus.iter().any(|found| found.attributes.get(PRINT).and_then(Value::as_str) == Some(print))
            })
        };
        for (print, told) in &gone {
            prop_assert!(*told || kept.contains(print) || deleted_only_surplus(print), "{print} is lost unnamed");
        }
    }
}

#[test]
fn a_key_that_the_state_does_not_know_is_never_overwritten() {
    // As after the state was lost: the nodes hold the authority, and the plan would make another one.
    let lost =
        Case { recorded: false, there: Some(1), twin: None, action: ChangeAction::Update, after: None };
    let error = enforce(&mut world(std::slice::from_ref(&lost)), &rule(""), Mode::Apply).unwrap_err();
    assert_eq!(error.code(), "PLAN0020");
    assert!(
        error.to_string().contains("any_vault.v0 holds sha256:1, and would be overwritten by a new one"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("slipway state rebuild c"), "{error}");
    let other = Case { after: Some(2), ..lost.clone() };
    let error = enforce(&mut world(&[other]), &rule(""), Mode::Apply).unwrap_err();
    assert!(error.to_string().contains("would be overwritten by sha256:2"), "{error}");
    // The mode of the same key may change, and drift is only told.
    let same = Case { after: Some(1), ..lost.clone() };
    enforce(&mut world(&[same]), &rule(""), Mode::Apply).unwrap();
    enforce(&mut world(&[lost]), &rule(""), Mode::Drift).unwrap();
}

#[test]
fn a_rotation_overwrites_only_the_keys_that_it_names() {
    let case =
        Case { recorded: true, there: Some(1), twin: None, action: ChangeAction::Update, after: Some(2) };
    for (named, is_refused) in [(None, true), (Some(2), true), (Some(1), false)] {
        let mut world = world(std::slice::from_ref(&case));
        world.overwrites.extend(named.map(print));
        assert_eq!(enforce(&mut world, &rule(""), Mode::Apply).is_err(), is_refused, "{named:?}");
    }
}

#[test]
fn what_vanished_is_not_made_anew_in_silence() {
    let vanished =
        Case { recorded: true, there: None, twin: None, action: ChangeAction::Create, after: None };
    let error =
        enforce(&mut world(std::slice::from_ref(&vanished)), &rule("no way"), Mode::Apply).unwrap_err();
    assert_eq!(error.code(), "PLAN0020");
    let mut possible = world(std::slice::from_ref(&vanished));
    enforce(&mut possible, &rule(""), Mode::Apply).unwrap();
    assert!(possible.decided.by_address[&address(0)].change.confirmation.is_some());
    // Nothing was there before: it is made like anything else.
    let mut fresh = world(&[Case { recorded: false, ..vanished }]);
    enforce(&mut fresh, &rule("no way"), Mode::Apply).unwrap();
    assert_eq!(fresh.decided.by_address[&address(0)].change.confirmation, None);
}

#[test]
fn a_disk_that_was_not_found_is_made_anew_by_its_name_only() {
    let case = Case { recorded: false, there: None, twin: None, action: ChangeAction::Create, after: None };
    for is_lost in [true, false] {
        let mut world = world(std::slice::from_ref(&case));
        world.forgotten.extend(is_lost.then(|| (address(0), Vec::new())));
        enforce(&mut world, &Irreplaceable::default(), Mode::Apply).unwrap();
        assert_eq!(world.decided.by_address[&address(0)].change.confirmation.is_some(), is_lost);
    }
}

#[test]
fn a_replacement_names_the_fingerprint_or_is_refused_with_the_reason() {
    let replace = ChangeAction::ReplaceDeleteFirst;
    let case = Case { recorded: true, there: Some(1), twin: None, action: replace, after: None };
    let error = enforce(&mut world(std::slice::from_ref(&case)), &rule("all would be lost"), Mode::Apply)
        .unwrap_err();
    assert_eq!(error.code(), "PLAN0021");
    assert!(error.to_string().contains("cannot be replaced: all would be lost"), "{error}");
    let mut possible = world(&[case]);
    enforce(&mut possible, &rule(""), Mode::Apply).unwrap();
    let confirmation = possible.decided.by_address[&address(0)].change.confirmation.clone();
    assert_eq!(confirmation.as_deref(), Some("replacing it loses its data for good (sha256:1)"));
}

#[test]
fn a_copy_may_go_and_the_last_one_is_named() {
    let of = |action| Case { recorded: true, there: Some(1), twin: None, action, after: Some(1) };
    let confirmations = |world: &World| {
        let changes = world.decided.by_address.values().map(|decision| &decision.change);
        changes.filter(|change| change.confirmation.is_some()).count()
    };
    let mut copy = world(&[of(ChangeAction::Delete), of(ChangeAction::NoOp)]);
    enforce(&mut copy, &rule(""), Mode::Apply).unwrap();
    assert_eq!(confirmations(&copy), 0);
    // Both are deleted: the loss is named once.
    let mut both = world(&[of(ChangeAction::Delete), of(ChangeAction::Delete)]);
    enforce(&mut both, &rule(""), Mode::Apply).unwrap();
    assert_eq!(confirmations(&both), 1);
}

#[test]
fn of_two_keys_under_one_address_none_is_deleted_by_a_guess() {
    let twins =
        Case { recorded: false, there: Some(1), twin: Some(2), action: ChangeAction::Adopt, after: None };
    let error = enforce(&mut world(std::slice::from_ref(&twins)), &rule(""), Mode::Apply).unwrap_err();
    assert!(error.to_string().contains("has several objects (own-0, twin-0)"), "{error}");
    let mut known = world(&[Case { recorded: true, ..twins }]);
    enforce(&mut known, &rule("a key"), Mode::Apply).unwrap();
    assert!(known.decided.by_address[&address(0)].surplus.is_empty(), "the other one stays");
}

/// A missing file without a key is created again without a confirmation; one that had a key is named.
#[test]
fn what_is_gone_and_held_nothing_is_made_again() {
    let case = Case { recorded: true, there: None, twin: None, action: ChangeAction::Create, after: None };
    for (asked, is_named) in
        [(None, true), (Some(Value::map([("other", "x")])), false), (Some(Value::map([(PRINT, "x")])), true)]
    {
        let mut world = world(std::slice::from_ref(&case));
        world.records.get_mut(&address(0)).unwrap().applied = asked;
        enforce(&mut world, &rule(""), Mode::Apply).unwrap();
        let change = &world.decided.by_address[&address(0)].change;
        assert_eq!(change.confirmation.is_some(), is_named);
    }
}

#[test]
fn a_key_for_data_is_not_replaced_and_its_removal_is_confirmed_by_name() {
    let changed = |name: &str, before: Value, after: Value| -> Result<Option<String>, Error> {
        let mut world = world(&[Case {
            recorded: true,
            there: None,
            twin: None,
            action: ChangeAction::Update,
            after: None,
        }]);
        let decision = world.decided.by_address.get_mut(&address(0)).unwrap();
        decision.change.changes = vec![slipway_resource::diff::Change {
            path: Path::key(name),
            before,
            after,
            replaces: false,
            sensitive: true,
        }];
        enforce(&mut world, &rule(""), Mode::Apply)?;
        Ok(world.decided.by_address[&address(0)].change.confirmation.clone())
    };
    let refused: Error = changed("key", "old".into(), "new".into()).unwrap_err();
    assert_eq!(refused.code(), "PLAN0021");
    let text = "has key, which cannot be replaced: data encrypted with the previous key";
    assert!(refused.to_string().contains(text), "{refused}");
    let removed = changed("key", "old".into(), Value::Null).unwrap().unwrap();
    assert_eq!(removed, "it removes key: data encrypted with this key cannot be read any more");
    assert_eq!(changed("key", Value::Null, "new".into()).unwrap(), None, "the first key");
    assert_eq!(changed("label", "old".into(), "new".into()).unwrap(), None);
}

/// A key that is created, and an object that reads it: whether the plan needs a confirmation for the key.
fn is_named(reader: ChangeAction, record: Option<Record>) -> bool {
    let (key, group) = (address(0), Address::new("any_group", "masters"));
    let mut world = world(&[Case {
        recorded: false,
        there: None,
        twin: None,
        action: ChangeAction::Create,
        after: None,
    }]);
    let identity = (reader != ChangeAction::Create).then(|| Identity::new("g-1"));
    let change = ResourceChange { action: reader, identity, ..ResourceChange::bare(&group, "any", 1) };
    world.decided.by_address.insert(group.clone(), Box::new(crate::assemble::plain(change)));
    world.records.extend(record.map(|record| (group.clone(), record)));
    let rule = rule("it cannot be");
    let rule_of = |address: &Address| (address.kind() == "any_vault").then_some(&rule);
    let guard = Guard {
        cluster: "c",
        mode: Mode::Apply,
        records: &world.records,
        forgotten: &world.forgotten,
        observations: &world.observations,
        overwrites: &world.overwrites,
        rule_of: &rule_of,
        is_asked_for: &|_| true,
        is_key: &|_, _| false,
        forgets: &|_| false,
        unread: &|_| None,
        depends_on: &BTreeMap::from([(group, vec![key.clone()])]),
    };
    guard.enforce(&mut world.decided).unwrap();
    world.decided.by_address[&key].change.confirmation.is_some()
}

#[test]
fn a_new_key_for_objects_that_run_with_a_lost_one_is_named() {
    // Both are new.
    assert!(!is_named(ChangeAction::Create, None));
    // The state was lost, or does not know the object.
    for action in [ChangeAction::NoOp, ChangeAction::Update, ChangeAction::ReplaceDeleteFirst] {
        assert!(is_named(action, Some(record("g-1"))), "{action:?}");
        assert!(is_named(action, None), "{action:?}");
    }
    // The state knows what was applied: with this key, or without it.
    let applied = Record { applied: Some(Value::Null), ..record("g-1") };
    assert!(!is_named(ChangeAction::Update, Some(applied.clone())));
    let with_key = Record { depends_on: vec![address(0)], ..applied };
    assert!(is_named(ChangeAction::Update, Some(with_key)));
}
