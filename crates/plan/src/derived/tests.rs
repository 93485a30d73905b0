//! One edit of a change each: what does not follow from the rest is found.

use slipway_resource::schema::{Irreplaceable, OwnershipKind, Part, Role, attributes};
use slipway_resource::{Attribute, ClusterUid, Identity, Secret, Type};

use super::*;
use crate::examples;
use crate::reason::{Reason, ReasonCode};

fn kind() -> ResourceType {
    let own = [
        ("id", Attribute::computed(Type::String)),
        ("key", Attribute { key_material: true, ..Attribute::optional(Type::String).sensitive() }),
        ("print", Attribute::optional_computed(Type::String)),
        ("size", Attribute::required(Type::Integer)),
        ("zone", Attribute::optional(Type::String).immutable()),
    ];
    ResourceType { attributes: attributes(own), ..ResourceType::new("A thing.", OwnershipKind::Tags, "any") }
}

fn things(size: i64) -> Value {
    Value::map([("key", Value::from("old")), ("size", Value::Integer(size)), ("zone", Value::from("a"))])
}

fn seen(size: i64) -> Value {
    let mut seen = things(size);
    seen.set(&Path::key("id"), Value::from("thing-1"));
    seen.set(&Path::key("print"), Value::from("sha256:1"));
    seen
}

fn applied() -> Record {
    Record { applied: Some(things(1)), ..examples::record("thing-1") }
}

fn planned() -> Planned {
    Planned {
        normalised: things(2),
        disruption: Disruption::Brief,
        reasons: vec!["it restarts".to_owned()],
        ..Planned::default()
    }
}

/// An update of the size, as the planner makes it.
fn change() -> ResourceChange {
    let kind = kind();
    let (before, after) = (seen(1), seen(2));
    ResourceChange {
        action: ChangeAction::Update,
        identity: Some(Identity::new("thing-1")),
        changes: diff::diff(&kind, &before, &after, Some(&things(1))),
        precondition: Precondition::unchanged(&kind, &before, &[&things(2), &things(1)]),
        before,
        after,
        reasons: vec![Reason::new(ReasonCode::Provider, "it restarts")],
        disruption: Disruption::Brief,
        record: crate::change::RecordTemplate { applied: things(2), ..Default::default() },
        sensitive: vec![Path::key("key")],
        ..ResourceChange::bare(&Address::new("any_thing", "a"), "any", kind.version)
    }
}

fn plan(change: &ResourceChange) -> Plan {
    Plan { changes: vec![change.clone()], ..examples::plan() }
}

/// The fault of a change that is planned again with these answers.
fn found(change: &ResourceChange, planned: &Planned, has_dry_run: bool) -> Option<String> {
    let (kind, record) = (kind(), applied());
    let subject = ReadChange { change, kind: &kind, record: Some(&record), has_dry_run };
    let by_provider = || if has_dry_run { None } else { subject.by_provider(planned, &plan(change)) };
    subject.by_type().or_else(by_provider)
}

type Edit = fn(&mut ResourceChange);

fn edited(edit: Edit) -> ResourceChange {
    let mut change = change();
    edit(&mut change);
    change
}

#[test]
fn an_edited_change_is_not_what_follows_from_the_rest() {
    assert_eq!(change().changes.len(), 1, "the size alone");
    assert_eq!(found(&change(), &planned(), false), None);
    let edits: &[(&str, Edit)] = &[
        ("the desired value size", |change| {
            change.after.set(&Path::key("size"), Value::Integer(9));
        }),
        ("the desired value size", |change| {
            change.record.applied.set(&Path::key("size"), Value::Integer(9));
        }),
        ("the desired value key", |change| {
            change.after.set(&Path::key("key"), Value::Null);
        }),
        ("the difference size", |change| change.changes[0].after = Value::Integer(1)),
        ("the difference size", |change| change.changes[0].before = Value::Integer(9)),
        ("the difference size", |change| change.changes[0].replaces = true),
        ("the difference size", |change| change.changes[0].sensitive = true),
        ("the difference size", |change| change.changes.clear()),
        ("precondition", |change| change.precondition = Precondition::None),
        ("precondition", |change| {
            change.before.set(&Path::key("zone"), Value::Null);
            change.after.set(&Path::key("zone"), Value::Null);
            change.record.applied.set(&Path::key("zone"), Value::Null);
        }),
        ("before", |change| change.before = Value::Null),
        ("sensitive", |change| change.sensitive.clear()),
        ("sensitive", |change| change.sensitive.push(Path::key("size"))),
        ("schema_version", |change| change.schema_version += 1),
        ("disruption", |change| change.disruption = Disruption::None),
        ("reasons", |change| change.reasons.clear()),
        ("reasons", |change| change.record.retain = true),
        ("reasons", |change| change.record.protected = true),
    ];
    for (field, edit) in edits {
        let change = edited(*edit);
        // A provider answers for the desired attributes that it is asked about.
        let planned = Planned { normalised: change.record.applied.clone(), ..planned() };
        let fault = found(&change, &planned, false);
        let wanted = format!("{field} of any_thing.a is not what follows");
        assert!(fault.as_ref().is_some_and(|fault| fault.starts_with(&wanted)), "{wanted}: {fault:?}");
    }
}

#[test]
fn a_change_that_needs_a_new_object_is_no_update() {
    let mut moved = change();
    moved.record.applied.set(&Path::key("zone"), Value::from("b"));
    moved.after.set(&Path::key("zone"), Value::from("b"));
    moved.changes = diff::diff(&kind(), &moved.before, &moved.after, Some(&things(1)));
    let planned = Planned { normalised: moved.record.applied.clone(), ..planned() };
    assert!(found(&moved, &planned, false).is_some_and(|fault| fault.starts_with("action of ")));
    assert!(
        found(&change(), &Planned { replace_paths: vec![Path::key("size")], ..self::planned() }, false)
            .is_some_and(|fault| fault.starts_with("the difference size"))
    );
}

#[test]
fn a_change_with_a_dry_run_shows_the_differences_of_its_attributes() {
    assert_eq!(found(&change(), &planned(), true), None);
    let edits: &[Edit] = &[
        |change| {
            change.after.set(&Path::key("size"), Value::Integer(9));
        },
        |change| {
            change.after.set(&Path::key("zone"), Value::from("b"));
        },
        |change| change.changes.clear(),
        |change| change.changes[0].before = Value::Integer(7),
    ];
    for (number, edit) in edits.iter().enumerate() {
        let fault = found(&edited(*edit), &planned(), true);
        assert!(fault.is_some_and(|fault| fault.starts_with("the difference ")), "{number}");
    }
}

/// The loss of a change that is edited, by a type that is edited.
fn is_unmarked(edit: impl Fn(&mut ResourceChange, &mut ResourceType), record: Option<&Record>) -> bool {
    let (mut kind, mut change) = (kind(), change());
    edit(&mut change, &mut kind);
    let of = |change: &ResourceChange| {
        let subject = ReadChange { change, kind: &kind, record, has_dry_run: false };
        unmarked::fault(&subject, None, &BTreeSet::new()).is_some()
    };
    let found = of(&change);
    change.confirm("it was asked for");
    assert!(!of(&change), "a loss that is confirmed by name");
    found
}

#[test]
fn a_loss_of_an_object_that_stays_needs_its_mark() {
    let record = applied();
    let key = |before: Value, after: Value| Change {
        path: Path::key("key"),
        before,
        after,
        replaces: false,
        sensitive: true,
    };
    assert!(!is_unmarked(|_, _| (), Some(&record)));
    assert!(is_unmarked(|change, _| change.changes.push(key("old".into(), "new".into())), Some(&record)));
    assert!(is_unmarked(|change, _| change.changes.push(key("old".into(), Value::Null)), Some(&record)));
    assert!(!is_unmarked(|change, _| change.changes.push(key(Value::Null, "new".into())), Some(&record)));
    let unknown = || Value::Secret(Box::new(Secret::new("env:KEY")));
    assert!(!is_unmarked(|change, _| change.changes.push(key(unknown(), "new".into())), Some(&record)));
    let second = |change: &mut ResourceChange| change.surplus = vec![Identity::new("thing-2")];
    assert!(!is_unmarked(|change, _| second(change), Some(&record)));
    let stateful = |change: &mut ResourceChange, kind: &mut ResourceType| {
        second(change);
        kind.stateful = true;
    };
    assert!(is_unmarked(stateful, Some(&record)));
    let holds = |kind: &mut ResourceType| {
        kind.irreplaceable =
            Some(Irreplaceable { fingerprint: "print".to_owned(), ..Irreplaceable::default() });
    };
    assert!(!is_unmarked(|_, kind| holds(kind), Some(&record)), "its data stays");
    let overwritten = |change: &mut ResourceChange, kind: &mut ResourceType| {
        holds(kind);
        change.after.set(&Path::key("print"), Value::from("sha256:2"));
    };
    assert!(is_unmarked(overwritten, Some(&record)));
    let anew = |change: &mut ResourceChange, kind: &mut ResourceType| {
        kind.irreplaceable = Some(Irreplaceable::default());
        change.action = ChangeAction::Create;
        change.changes.clear();
    };
    assert!(is_unmarked(anew, Some(&record)), "the state knows it, and it is gone");
    assert!(!is_unmarked(anew, None), "a new one");
}

/// The whole machine is confirmed by the name of its member of etcd: its keys and files come from the state.
#[test]
fn what_was_on_a_machine_without_data_is_confirmed_by_its_member() {
    let file = ResourceType { irreplaceable: Some(Irreplaceable::default()), ..kind() };
    let member = ResourceType { roles: vec![Role::of_all(Part::EtcdMember)], ..kind() };
    let record = applied();
    let made = |address: Address| ResourceChange {
        action: ChangeAction::Create,
        changes: Vec::new(),
        address,
        ..change()
    };
    let key = made(Address::new("any_file", "cp-1/ca.key"));
    let is_lost = |machine: &str, is_confirmed: bool| {
        let mut joins = made(Address::new("any_member", format!("{machine}/etcd")));
        joins.confirmation = is_confirmed.then(|| "a new member joins the others".to_owned());
        let subject = |change, kind| ReadChange { change, kind, record: Some(&record), has_dry_run: false };
        let subjects = [subject(&key, &file), subject(&joins, &member)];
        let emptied = unmarked::emptied(&subjects);
        unmarked::fault(&subjects[0], None, &emptied).is_some()
    };
    assert!(!is_lost("cp-1", true));
    assert!(is_lost("cp-1", false), "nobody said that the machine has no data");
    assert!(is_lost("cp-2", true), "that is another machine");
}

#[test]
fn a_deferred_change_is_not_compared() {
    // What looks unchanged has neither what was observed nor the paths that are hidden.
    let deferred = edited(|change| {
        change.action = ChangeAction::Deferred;
        change.before = Value::Null;
        change.changes.clear();
        change.sensitive.clear();
        change.precondition = Precondition::None;
    });
    for has_dry_run in [false, true] {
        let (kind, record) = (kind(), applied());
        let subject = ReadChange { change: &deferred, kind: &kind, record: Some(&record), has_dry_run };
        assert_eq!((subject.by_type(), subject.is_asked()), (None, false), "{has_dry_run}");
    }
}

/// What the file and the state tell of dependencies.
fn dependencies_fault(plan: &Plan, prior: &Snapshot) -> Option<String> {
    dependencies::of_file(plan).or_else(|| dependencies::fault(plan, Some(prior)))
}

#[test]
fn recorded_dependencies_have_what_is_referred_to_and_no_circle() {
    let [own, other, third] = ["a", "b", "c"].map(|name| Address::new("any_thing", name));
    let depends = |refers: bool, depends_on: &[&Address], recorded: &[(&Address, &Address)]| {
        let mut change = change();
        if refers {
            change.record.applied.set(&Path::key("zone"), Value::reference(other.clone(), "zone"));
        }
        change.record.depends_on = depends_on.iter().map(|needed| (*needed).clone()).collect();
        let record = |needed: &Address| Record { depends_on: vec![needed.clone()], ..applied() };
        let records = recorded.iter().map(|(address, needed)| ((*address).clone(), record(needed)));
        let prior =
            Snapshot { resources: records.collect(), ..Snapshot::empty("demo", ClusterUid::new("u")) };
        dependencies_fault(&plan(&change), &prior)
    };
    assert_eq!(depends(true, &[&other], &[]), None);
    assert_eq!(depends(true, &[&third], &[(&third, &other)]), None, "through another one");
    assert_eq!(depends(false, &[&other], &[(&other, &third), (&own, &third)]), None);
    let missing = depends(true, &[&third], &[(&third, &third)]);
    let wanted = "depends_on of any_thing.a does not have any_thing.b, to which it refers";
    assert_eq!(missing.as_deref(), Some(wanted));
    let circle = depends(false, &[&own], &[]);
    assert!(circle.is_some_and(|fault| fault.contains("closes a circle")), "it depends on itself");
    assert_eq!(depends(false, &[&other], &[(&other, &own)]), None, "the record of another spec");
}

#[test]
fn dependencies_of_what_does_not_change_are_of_a_record_and_close_no_circle() {
    type Edit = fn(&mut Plan);
    let [own, other] = ["a", "b"].map(|name| Address::new("any_thing", name));
    let found = |depends_on: &Address, is_recorded: bool, edit: fn(&mut Plan)| {
        let mut change = change();
        change.record.depends_on = vec![other.clone()];
        let mut plan = plan(&change);
        plan.dependencies = BTreeMap::from([(other.clone(), vec![depends_on.clone()])]);
        edit(&mut plan);
        let mut prior = Snapshot::empty("demo", ClusterUid::new("u"));
        prior.resources.insert(own.clone(), applied());
        if is_recorded {
            prior.resources.insert(other.clone(), applied());
        }
        dependencies_fault(&plan, &prior)
    };
    let third = Address::new("any_thing", "c");
    assert_eq!(found(&third, true, |_| ()), None);
    let circle = found(&own, true, |_| ());
    assert!(circle.is_some_and(|fault| fault.contains("closes a circle: any_thing.a → any_thing.b")));
    let strays: [(bool, Edit); 3] = [
        (false, |_| ()),
        (true, |plan| plan.mode = Mode::Delete),
        (true, |plan| plan.changes[0].address = Address::new("any_thing", "b")),
    ];
    for (is_recorded, edit) in strays {
        let stray = found(&third, is_recorded, edit);
        let wanted = "dependencies of any_thing.b are not those of a record that stays as it is";
        assert_eq!(stray.as_deref(), Some(wanted));
    }
}
