use std::collections::BTreeSet;

use slipway_resource::{ClusterUid, ErrorClass, Ownership};

use super::*;

fn record(identity: &str) -> Record {
    Record {
        provider: "sim".into(),
        schema_version: 1,
        identity: Identity::new(identity),
        applied: Some(Value::map([("name", "a")])),
        depends_on: Vec::new(),
        retain: false,
        protected: false,
        existing: false,
        as_found: BTreeMap::new(),
        untagged: false,
        deposed: Vec::new(),
    }
}

fn address() -> Address {
    Address::new("sim_network", "a")
}

fn put(previous: Option<Address>) -> Effect {
    Effect::Put { address: address(), record: Box::new(record("")), previous }
}

fn begin(step: u32, effect: Effect) -> Entry {
    Entry::Begin(Box::new(Begin { step: StepId(step), provider: "sim".into(), request: None, effect }))
}

fn end(step: u32, result: EndResult) -> Entry {
    Entry::End(End { step: StepId(step), result })
}

fn done(identity: &str) -> EndResult {
    EndResult::Done {
        identity: Some(Identity::new(identity)),
        remembered: BTreeMap::new(),
        as_found: BTreeMap::new(),
        node: NewNode::Unnamed,
    }
}

fn replay(entries: Vec<Entry>) -> (Snapshot, Replayed) {
    let mut snapshot = Snapshot::empty("c", ClusterUid::new("u"));
    let mut replayed = Replayed::default();
    entries.into_iter().for_each(|entry| replayed.apply(&mut snapshot, entry));
    (snapshot, replayed)
}

#[test]
fn a_step_that_began_and_did_not_end_is_open_with_what_is_known_of_it() {
    let named = Entry::Identity { step: StepId(1), identity: Identity::new("net-1") };
    let (snapshot, replayed) = replay(vec![begin(1, put(None)), named]);
    assert!(snapshot.resources.is_empty());
    assert_eq!(replayed.open[&StepId(1)].identity, Some(Identity::new("net-1")));
}

#[test]
fn a_replaced_object_is_remembered_until_it_is_deleted() {
    let surplus = Effect::RemoveSurplus { address: address(), identity: Identity::new("net-1") };
    let mut entries =
        vec![begin(1, put(None)), end(1, done("net-1")), begin(2, put(None)), end(2, done("net-2"))];
    let (snapshot, _) = replay(entries.clone());
    assert_eq!(snapshot.resources[&address()].identity, Identity::new("net-2"));
    assert_eq!(snapshot.resources[&address()].deposed, [Identity::new("net-1")]);
    entries.extend([begin(3, surplus), end(3, EndResult::nothing())]);
    assert!(replay(entries).0.resources[&address()].deposed.is_empty());
}

#[test]
fn an_object_that_was_only_used_is_not_remembered_for_deletion() {
    let used = Record { existing: true, ..record("") };
    let used = Effect::Put { address: address(), record: Box::new(used), previous: None };
    let entries = vec![begin(1, used), end(1, done("net-1")), begin(2, put(None)), end(2, done("net-2"))];
    let (snapshot, _) = replay(entries);
    assert_eq!(snapshot.resources[&address()].identity, Identity::new("net-2"));
    assert!(snapshot.resources[&address()].deposed.is_empty());
}

#[test]
fn what_was_half_made_is_known_and_not_as_it_was_asked_for() {
    let failed = EndResult::Failed {
        class: ErrorClass::Permanent,
        message: String::new(),
        identity: Some(Identity::new("net-1")),
    };
    let (snapshot, _) = replay(vec![begin(1, put(None)), end(1, failed)]);
    assert_eq!(snapshot.resources[&address()].applied, None);
}

#[test]
fn what_the_server_set_is_remembered_beside_what_was_asked_for() {
    let remembered = BTreeMap::from([("digest".to_owned(), Value::from("d-1"))]);
    let remembers = EndResult::Done {
        identity: Some(Identity::new("net-1")),
        remembered,
        as_found: BTreeMap::new(),
        node: NewNode::Unnamed,
    };
    let (snapshot, _) = replay(vec![begin(1, put(None)), end(1, remembers)]);
    let applied = snapshot.resources[&address()].applied.as_ref().unwrap();
    assert_eq!(*applied, Value::map([("name", "a"), ("digest", "d-1")]));
}

#[test]
fn a_rename_moves_the_record() {
    let old = Address::new("sim_network", "old");
    let first = Effect::Put { address: old.clone(), record: Box::new(record("")), previous: None };
    let entries =
        vec![begin(1, first), end(1, done("net-1")), begin(2, put(Some(old.clone()))), end(2, done("net-1"))];
    let (snapshot, _) = replay(entries);
    assert!(!snapshot.resources.contains_key(&old));
    assert!(snapshot.resources[&address()].deposed.is_empty());
}

#[test]
fn an_object_is_forgotten_until_it_has_a_record_whatever_its_address_was() {
    let other = Address::new("sim_network", "other");
    let forgotten = |address: &Address, objects: &[&str]| {
        let objects = objects.iter().map(|object| Identity::new(*object)).collect::<Vec<_>>();
        BTreeMap::from([(address.clone(), objects)])
    };
    let after = |forgotten: BTreeMap<Address, Vec<Identity>>, recorded: Option<&str>| {
        let mut snapshot = Snapshot::empty("c", ClusterUid::new("u"));
        snapshot.forgotten = forgotten;
        let recorded = recorded.map(|identity| (address(), record(identity)));
        snapshot.resources.extend(recorded);
        take_effect(&mut snapshot, put(None), &done("net-1"));
        snapshot.forgotten
    };
    // At the address of the record, what was forgotten is taken over, or is gone.
    assert!(after(forgotten(&address(), &["net-1"]), None).is_empty());
    assert!(after(forgotten(&address(), &["net-2"]), None).is_empty());
    assert!(after(forgotten(&address(), &[]), Some("net-1")).is_empty());
    // Beside a record of another object, it stays forgotten.
    let beside = forgotten(&address(), &["net-2"]);
    assert_eq!(after(beside.clone(), Some("net-1")), beside);
    // The object of the record was forgotten at another address.
    assert_eq!(after(forgotten(&other, &["net-1", "net-2"]), None), forgotten(&other, &["net-2"]));
    assert!(after(forgotten(&other, &["net-1"]), None).is_empty());
    // Data is still missing at another address.
    assert_eq!(after(forgotten(&other, &[]), None), forgotten(&other, &[]));
}

/// The first step of a plan with a call of its own.
fn called(token: &str, address: Address) -> Entry {
    let effect = Effect::Put { address: address.clone(), record: Box::new(record("")), previous: None };
    let ownership = Ownership { uid: ClusterUid::new("u"), cluster: "c".to_owned(), address };
    let action = Action::Create { desired: Value::map([("name", "a")]) };
    let request = ApplyRequest { token: Token::new(token), ownership, action, timeout_ms: 1 };
    Entry::Begin(Box::new(Begin { step: StepId(0), provider: "sim".into(), request: Some(request), effect }))
}

fn plan(bytes: &[u8]) -> Entry {
    rolling(bytes, &[])
}

/// A run of a plan that replaces these machines of a pool on request.
fn rolling(bytes: &[u8], machines: &[&str]) -> Entry {
    let left: BTreeSet<Identity> = machines.iter().map(|machine| Identity::new(*machine)).collect();
    let rolls = (!machines.is_empty()).then(|| (address(), left)).into_iter().collect();
    let plan = Digest::of_bytes(bytes);
    Entry::RunBegin(RunBegin { plan, epoch: 1, spec: serde_json::Value::Null, rolls })
}

#[test]
fn a_step_that_nobody_could_be_asked_about_outlives_its_plan() {
    let (one, other) = (Address::new("sim_network", "one"), Address::new("sim_network", "other"));
    let named = Entry::Identity { step: StepId(0), identity: Identity::new("net-1") };
    let mut entries = vec![plan(b"a"), called("t-1", one.clone()), named, plan(b"b")];
    // The other plan has a step of the same number.
    entries.extend([called("t-2", other.clone()), end(0, done("net-2"))]);
    let (snapshot, replayed) = replay(entries.clone());
    assert!(replayed.open.is_empty());
    assert_eq!(replayed.unsettled[&Token::new("t-1")].identity, Some(Identity::new("net-1")));
    assert_eq!(snapshot.resources.keys().collect::<Vec<_>>(), [&other]);
    entries.push(Entry::Settled(Settled { token: Token::new("t-1"), result: done("net-1") }));
    let (snapshot, replayed) = replay(entries);
    assert!(replayed.unsettled.is_empty());
    assert_eq!(snapshot.resources[&one].identity, Identity::new("net-1"));
    assert!(replayed.run.is_some_and(|run| run.done.len() == 1), "it is no step of the later plan");
}

#[test]
fn a_step_that_begins_again_keeps_the_name_of_its_object() {
    let named = Entry::Identity { step: StepId(0), identity: Identity::new("net-1") };
    let entries = vec![plan(b"a"), called("t-1", address()), named, plan(b"a"), called("t-1", address())];
    assert_eq!(replay(entries).1.open[&StepId(0)].identity, Some(Identity::new("net-1")));
}

#[test]
fn a_run_that_is_taken_up_knows_the_nodes_of_its_new_machines() {
    use slipway_resource::provider::NodeReference;
    let node = NewNode::Named(NodeReference::Name("workers-4".to_owned()));
    let surged = EndResult::Done {
        identity: Some(Identity::new("pool-1")),
        remembered: BTreeMap::new(),
        as_found: BTreeMap::new(),
        node: node.clone(),
    };
    let entries = vec![plan(b"a"), begin(1, Effect::None), end(1, surged), plan(b"a")];
    assert_eq!(replay(entries.clone()).1.run.unwrap().nodes[&StepId(1)], node);
    assert!(replay([entries, vec![plan(b"b")]].concat()).1.run.unwrap().nodes.is_empty(), "another plan");
}

#[test]
fn the_same_run_taken_up_keeps_what_it_has_done() {
    let entries = vec![plan(b"a"), begin(1, put(None)), end(1, done("net-1")), plan(b"a")];
    let (_, replayed) = replay(entries.clone());
    assert!(replayed.run.is_some_and(|run| run.done.contains_key(&StepId(1))));
    let (snapshot, replayed) = replay([entries, vec![plan(b"b")]].concat());
    assert!(replayed.run.is_some_and(|run| run.done.is_empty()), "another plan");
    assert_eq!(snapshot.resources.len(), 1);
}

/// The removal of a machine from the pool.
fn removal(step: u32, machine: &str) -> Entry {
    let ownership = Ownership { uid: ClusterUid::new("u"), cluster: "c".to_owned(), address: address() };
    let action = Action::Operation {
        identity: Identity::new("pool-1"),
        name: operation::REMOVE.to_owned(),
        arguments: Value::map([("member", machine)]),
    };
    let token = Token::new(format!("t-{step}"));
    let request = Some(ApplyRequest { token, ownership, action, timeout_ms: 1 });
    let (step, effect) = (StepId(step), Effect::None);
    Entry::Begin(Box::new(Begin { step, provider: "sim".into(), request, effect }))
}

#[test]
fn a_requested_roll_has_the_machines_that_are_not_removed_yet() {
    let left = |entries: &[Entry]| -> Vec<String> {
        let (snapshot, _) = replay(entries.to_vec());
        let left = snapshot.rolls.get(&address()).into_iter().flatten();
        left.map(ToString::to_string).collect()
    };
    let mut entries = vec![rolling(b"a", &["m-1", "m-2", "m-3"]), removal(0, "m-1")];
    assert_eq!(left(&entries), ["m-1", "m-2", "m-3"], "the removal has not ended");
    entries.push(end(0, EndResult::nothing()));
    assert_eq!(left(&entries), ["m-2", "m-3"]);
    // The same plan is taken up.
    entries.push(rolling(b"a", &["m-1", "m-2", "m-3"]));
    assert_eq!(left(&entries), ["m-2", "m-3"]);
    // The removal ends after another plan has begun.
    entries.extend([removal(1, "m-2"), rolling(b"b", &["m-2", "m-3"])]);
    entries.push(Entry::Settled(Settled { token: Token::new("t-1"), result: EndResult::nothing() }));
    assert_eq!(left(&entries), ["m-3"]);
    // A removal that had no effect changes nothing.
    entries.extend([removal(2, "m-3"), end(2, EndResult::NotDone)]);
    assert_eq!(left(&entries), ["m-3"]);
    // A plan without a request for the pool leaves it open.
    entries.push(rolling(b"c", &[]));
    assert_eq!(left(&entries), ["m-3"]);
}
