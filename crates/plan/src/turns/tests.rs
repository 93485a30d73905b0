//! Steps of a plan are played in any order that their edges allow.

use slipway_resource::{Desired, Identity, Value};

use super::*;
use crate::assemble::plain;
use crate::change::ResourceChange;
use crate::graph;
use crate::step::{Step, StepAction};

const GROUP: &str = "nodes";

/// A file and a service of a host that are updated, in a turn of this rank and budget.
fn host(name: &str, rank: u32, at_once: u32) -> Vec<Desired> {
    let turn = Turn { group: GROUP.to_owned(), unit: name.to_owned(), rank, at_once };
    let make = |kind: &str, needs: &[&str]| {
        let mut desired = Desired::new(Address::new(kind, name), Value::map::<String, Value>([]));
        desired.lifecycle.turn = Some(turn.clone());
        desired.depends_on = needs.iter().map(|kind| Address::new(*kind, name)).collect();
        desired
    };
    vec![make("file", &[]), make("service", &["file"])]
}

/// The node that is drained for a resource that is marked so.
fn drained(resource: &Desired) -> Option<MachineNode> {
    resource.attributes.get("drains")?;
    let address = Address::new("node", resource.address.name());
    Some(MachineNode { identity: Identity::new(address.to_string()), address })
}

/// The steps of a plan that updates all of these; each of `prepared` has a gate.
fn steps(desired: &[Desired], prepared: &[&str]) -> Vec<Step> {
    let dependencies = graph::dependencies(desired).unwrap();
    let (mut graph, mut nodes, mut decided) = (Graph::default(), BTreeMap::new(), Decided::default());
    for resource in desired {
        let address = &resource.address;
        let identity = Some(Identity::new(address.to_string()));
        let node = graph.add(address, StepAction::Update, identity.clone(), 1);
        nodes.insert(address.clone(), Nodes { arrival: Some(node), ..Nodes::default() });
        let change = ResourceChange {
            action: ChangeAction::Update,
            identity,
            ..ResourceChange::bare(address, "p", 1)
        };
        let change = ResourceChange { drained: drained(resource), ..change };
        let is_prepared = prepared.contains(&address.to_string().as_str());
        let prepare = is_prepared.then(|| Value::map([("images", "one")]));
        decided.insert(crate::decide::Decision { prepare, ..plain(change) });
    }
    for (address, needs) in &dependencies.by_address {
        for needed in needs.iter().filter(|needed| !decide(&decided, &dependencies, needed, address)) {
            graph.edge(nodes[needed].arrival.unwrap(), nodes[address].arrival.unwrap());
        }
    }
    take(&mut graph, &nodes, &decided, &dependencies, &|_| Some(1));
    graph.finish().unwrap()
}

/// The waves in which hosts change when every step takes the same time and begins as early as it may.
fn waves(steps: &[Step]) -> Vec<Vec<String>> {
    let mut done: BTreeSet<usize> = BTreeSet::new();
    let mut waves: Vec<Vec<String>> = Vec::new();
    while done.len() < steps.len() {
        let ready: Vec<usize> = (0..steps.len())
            .filter(|index| !done.contains(index))
            .filter(|index| steps[*index].depends_on.iter().all(|needed| done.contains(&needed.index())))
            .collect();
        let mut names: Vec<String> =
            ready.iter().map(|index| steps[*index].address.name().to_owned()).collect();
        names.dedup();
        if waves.last() != Some(&names) {
            waves.push(names);
        }
        done.extend(ready);
    }
    waves
}

/// How many resources can never change when that of one address fails.
fn untouched(steps: &[Step], failed: &str) -> usize {
    let mut blocked: BTreeSet<usize> = BTreeSet::new();
    for (index, step) in steps.iter().enumerate() {
        let is_behind = step.depends_on.iter().any(|needed| blocked.contains(&needed.index()));
        if step.address.to_string() == failed || is_behind {
            blocked.insert(index);
        }
    }
    blocked.len()
}

#[test]
fn one_unit_changes_alone_then_as_many_as_the_budget_allows() {
    let hosts = ["cp-1", "cp-2"].map(|name| host(name, 0, 1));
    let workers = ["w-0", "w-1", "w-2", "w-3", "w-4"].map(|name| host(name, 2, 2));
    let last = host("cp-0", 3, 1);
    let all: Vec<Desired> = hosts.into_iter().chain(workers).flatten().chain(last).collect();
    let steps = steps(&all, &[]);
    assert_eq!(
        waves(&steps),
        [vec!["cp-1"], vec!["cp-2"], vec!["w-0", "w-1"], vec!["w-2", "w-3"], vec!["w-4"], vec!["cp-0"]]
            .map(|wave| wave.into_iter().map(str::to_owned).collect::<Vec<_>>())
    );
    // The first that fails stops all others: only its file was touched.
    assert_eq!(untouched(&steps, "service.cp-1"), steps.len() - 1);
}

#[test]
fn deletions_take_turns_as_updates_do() {
    let mut dependencies = graph::dependencies(&[]).unwrap();
    let (mut graph, mut nodes, mut decided) = (Graph::default(), BTreeMap::new(), Decided::default());
    for name in ["w-0", "w-1", "w-2"] {
        let address = Address::new("programs", name);
        let node = graph.add(&address, StepAction::Delete { surplus: false }, Some(Identity::new(name)), 1);
        nodes.insert(address.clone(), Nodes { removal: Some(node), ..Nodes::default() });
        let turn = Turn { group: GROUP.to_owned(), unit: name.to_owned(), rank: 0, at_once: 1 };
        dependencies.turns.insert(address.clone(), turn);
        let change =
            ResourceChange { action: ChangeAction::Delete, ..ResourceChange::bare(&address, "p", 1) };
        decided.insert(plain(change));
    }
    take(&mut graph, &nodes, &decided, &dependencies, &|_| Some(1));
    let steps = graph.finish().unwrap();
    assert_eq!(waves(&steps), [["w-0"], ["w-1"], ["w-2"]].map(|wave| wave.map(str::to_owned).to_vec()));
    assert_eq!(untouched(&steps, "programs.w-0"), 3);
}

#[test]
fn a_group_of_any_size_has_few_edges() {
    let edges = |count: usize| -> usize {
        let all: Vec<Desired> = (0..count).flat_map(|index| host(&format!("w-{index:04}"), 0, 3)).collect();
        steps(&all, &[]).iter().map(|step| step.depends_on.len()).sum()
    };
    assert!(edges(400) < 2 * edges(200) + 100, "{} {}", edges(200), edges(400));
}

#[test]
fn what_has_to_come_before_comes_before_in_its_turn_too() {
    // The service of the first host needs something that needs the last one.
    let mut all: Vec<Desired> = ["a", "b", "c"].into_iter().flat_map(|name| host(name, 0, 1)).collect();
    let mut between = Desired::new(Address::new("object", "token"), Value::map::<String, Value>([]));
    between.depends_on = vec![Address::new("service", "c")];
    all[1].depends_on.push(between.address.clone());
    all.push(between);
    let steps = steps(&all, &[]);
    let order: Vec<&str> = steps
        .iter()
        .filter(|step| step.address.kind() == "service")
        .map(|step| step.address.name())
        .collect();
    assert_eq!(order, ["b", "c", "a"]);
    assert_eq!(untouched(&steps, "service.b"), steps.len() - 1);
}

#[test]
fn everything_is_prepared_before_the_first_changes() {
    let mut all: Vec<Desired> = ["a", "b", "c"].into_iter().flat_map(|name| host(name, 0, 1)).collect();
    // The agent of a host is created before the provider uses the host.
    let agent = Desired::new(Address::new("agent", "c"), Value::map::<String, Value>([]));
    all.iter_mut().filter(|desired| desired.address.name() == "c").for_each(|desired| {
        desired.depends_on.push(agent.address.clone());
    });
    all.push(agent);
    let steps = steps(&all, &["service.b", "service.c"]);
    let titles: Vec<String> = steps.iter().map(Step::title).collect();
    let place = |title: &str| titles.iter().position(|found| found == title).unwrap();
    for gate in ["prepare service.b", "prepare service.c"] {
        assert!(place(gate) < place("update file.a"), "{titles:#?}");
        assert_eq!(untouched(&steps, gate.trim_start_matches("prepare ")), {
            // All of the group waits for either gate: it is the first to be played of its address.
            6 + 1
        });
    }
    assert!(place("update agent.c") < place("prepare service.c"), "{titles:#?}");
}

#[test]
fn a_node_is_drained_before_all_of_its_unit_and_the_next_unit_waits_for_it() {
    let mut all: Vec<Desired> = ["w-0", "w-1"].into_iter().flat_map(|name| host(name, 2, 1)).collect();
    for desired in all.iter_mut().filter(|desired| desired.address.kind() == "service") {
        desired.attributes = Value::map([("drains", true)]);
    }
    let steps = steps(&all, &[]);
    let titles: Vec<String> = steps.iter().map(Step::title).collect();
    let of = |name: &str| {
        [
            format!("cordon node.{name}"),
            format!("drain node.{name}"),
            format!("update file.{name}"),
            format!("update service.{name}"),
            format!("uncordon node.{name}"),
        ]
    };
    assert_eq!(titles, [of("w-0"), of("w-1")].concat());
    for (index, step) in steps.iter().enumerate().skip(1) {
        assert!(step.depends_on.contains(&steps[index - 1].id), "{} may run earlier", step.title());
    }
    let gates = steps.iter().filter(|step| step.address.kind() == "node");
    assert!(gates.into_iter().all(|step| step.roll.as_ref().is_some_and(|of| of.kind() == "service")));
}

#[test]
fn turns_decide_about_updates_of_different_units_that_take_no_value_from_each_other() {
    let turn =
        |unit: &str, rank| Some(Turn { group: GROUP.to_owned(), unit: unit.to_owned(), rank, at_once: 1 });
    // A pod needs the kubelet of its machine to begin with, and is upgraded before it.
    let mut pod = Desired::new(Address::new("pod", "cp"), Value::map::<String, Value>([]));
    pod.depends_on = vec![Address::new("service", "cp")];
    pod.lifecycle.turn = turn("cp", 0);
    let mut kubelet = Desired::new(Address::new("service", "cp"), Value::map::<String, Value>([]));
    kubelet.lifecycle.turn = turn("cp/node", 2);
    let order =
        |steps: Vec<Step>| steps.iter().map(|step| step.address.kind().to_owned()).collect::<Vec<_>>();
    assert_eq!(order(steps(&[pod.clone(), kubelet.clone()], &[])), ["pod", "service"]);
    kubelet.lifecycle.turn = turn("cp", 2);
    assert_eq!(order(steps(&[pod, kubelet], &[])), ["service", "pod"]);
}
