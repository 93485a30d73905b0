//! Many steps drawn as few nodes.

use std::collections::{BTreeSet, HashMap};

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::super::clean::{clean, plural};
use super::super::duration::duration;
use super::super::line::Style;
use super::super::roll::machine;
use super::{Drawing, Node, edges, reduce, style};
use crate::file::Plan;
use crate::step::{Step, StepAction};
use crate::titles::Titles;

/// How coarsely steps are gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grain {
    /// All gates of one machine are one node.
    Machines,
    /// All gates of one resource are one node.
    Gates,
    /// All steps of one kind on one type are one node.
    Types,
}

/// The steps in at most `nodes` nodes and chains of at most `depth`, as far as gathering by machine, by
/// resource and then by type can do it.
pub(in super::super) fn gathered(plan: &Plan, nodes: usize, depth: usize) -> Drawing {
    let all: Vec<&Step> = plan.steps.iter().collect();
    gathered_of(&all, edges(&plan.steps), nodes, depth, &Titles::of(plan))
}

/// The same of some steps with the edges between them: for each step the positions of those before it.
pub(in super::super) fn gathered_of(
    steps: &[&Step],
    before: Vec<Vec<usize>>,
    nodes: usize,
    depth: usize,
    titles: &Titles<'_>,
) -> Drawing {
    let few = |drawing: &Drawing| drawing.nodes.len() <= nodes;
    if steps.len() <= nodes {
        let all = Drawing::each(steps, before.clone(), titles);
        if longest(&all) <= depth {
            return all;
        }
    }
    let machines = gather(steps, &before, Grain::Machines, titles);
    if few(&machines) && longest(&machines) <= depth {
        return machines;
    }
    let gates = gather(steps, &before, Grain::Gates, titles);
    if few(&gates) { gates } else { gather(steps, &before, Grain::Types, titles) }
}

/// How many nodes the longest chain has.
fn longest(drawing: &Drawing) -> usize {
    drawing.levels().into_iter().max().map_or(0, |level| level + 1)
}

/// The key of a node: an action and its subject, or a single step.
#[derive(PartialEq, Eq, Hash)]
enum Key<'s> {
    Single(usize),
    Machine(&'s str, &'s str, String),
    Gates(&'s str, &'s str),
    Action(&'s str, &'s str),
}

fn key<'s>(position: usize, step: &'s Step, grain: Grain, titles: &Titles<'_>) -> Key<'s> {
    let StepAction::Operation { .. } = &step.action else {
        return match grain {
            Grain::Types => Key::Action(step.address.kind(), step.action.verb()),
            _ => Key::Single(position),
        };
    };
    let (kind, name) = (step.pool().kind(), step.pool().name());
    match (grain, named(step, titles)) {
        (Grain::Types, _) => Key::Gates(kind, ""),
        (Grain::Machines, Some(machine)) => Key::Machine(kind, name, machine),
        (Grain::Machines, None) => Key::Single(position),
        (Grain::Gates, _) => Key::Gates(kind, name),
    }
}

/// The machine that a gate is about, by the name that the plan gives to it.
fn named(step: &Step, titles: &Titles<'_>) -> Option<String> {
    titles.machine(step).map(|name| clean(name).into_owned()).or_else(|| machine(step))
}

fn gather(steps: &[&Step], before: &[Vec<usize>], grain: Grain, titles: &Titles<'_>) -> Drawing {
    let mut numbers: HashMap<Key<'_>, usize> = HashMap::new();
    let group: Vec<usize> = steps
        .iter()
        .enumerate()
        .map(|(position, step)| {
            let next = numbers.len();
            *numbers.entry(key(position, step, grain, titles)).or_insert(next)
        })
        .collect();
    let mut graph: DiGraph<(), ()> = DiGraph::with_capacity(numbers.len(), numbers.len());
    let nodes: Vec<NodeIndex> = (0..numbers.len()).map(|_| graph.add_node(())).collect();
    let mut pairs: BTreeSet<(usize, usize)> = BTreeSet::new();
    for (before, own) in before.iter().zip(&group) {
        pairs.extend(before.iter().filter_map(|earlier| group.get(*earlier)).map(|earlier| (*earlier, *own)));
    }
    for (earlier, later) in pairs.iter().filter(|(earlier, later)| earlier != later) {
        if let (Some(earlier), Some(later)) = (nodes.get(*earlier), nodes.get(*later)) {
            graph.add_edge(*earlier, *later, ());
        }
    }
    // Groups that wait for each other become one. The result is in the reverse of their order.
    let mut together = tarjan_scc(&graph);
    together.reverse();
    let mut place = vec![0; numbers.len()];
    for (position, groups) in together.iter().enumerate() {
        for group in groups {
            if let Some(place) = place.get_mut(group.index()) {
                *place = position;
            }
        }
    }
    let of = |group: &usize| place.get(*group).copied().unwrap_or(0);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); together.len()];
    for (position, group) in group.iter().enumerate() {
        if let Some(members) = members.get_mut(of(group)) {
            members.push(position);
        }
    }
    let mut before: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); together.len()];
    for (earlier, later) in &pairs {
        let (earlier, later) = (of(earlier), of(later));
        if let Some(before) = before.get_mut(later).filter(|_| earlier < later) {
            before.insert(earlier);
        }
    }
    Drawing {
        nodes: members.iter().map(|members| node(&chosen(steps, members), titles)).collect(),
        before: reduce(before.into_iter().map(|set| set.into_iter().collect()).collect()),
        members,
    }
}

/// The steps at some positions.
pub(in super::super) fn chosen<'s>(steps: &[&'s Step], positions: &[usize]) -> Vec<&'s Step> {
    positions.iter().filter_map(|position| steps.get(*position).copied()).collect()
}

fn node(steps: &[&Step], titles: &Titles<'_>) -> Node {
    if let [single] = steps {
        return super::node(single, titles);
    }
    let gates = steps.iter().all(|step| matches!(step.action, StepAction::Operation { .. }));
    let machines: BTreeSet<Option<String>> = steps.iter().map(|step| named(step, titles)).collect();
    let mut verbs: Vec<&str> = steps.iter().map(|step| step.action.verb()).collect();
    verbs.dedup();
    let one_machine = machines.len() == 1 && machines.iter().all(Option::is_some);
    if !one_machine {
        verbs.sort_unstable();
        verbs.dedup();
    }
    let verb = if gates && !one_machine && verbs.len() > 1 {
        "roll".to_owned()
    } else {
        verbs.iter().take(4).map(|verb| clean(verb)).collect::<Vec<_>>().join(", ")
    };
    let kinds: BTreeSet<&str> = steps.iter().map(|step| step.pool().kind()).collect();
    let addresses: BTreeSet<_> = steps.iter().map(|step| step.pool()).collect();
    let subject = match (addresses.first(), addresses.len(), kinds.first(), kinds.len()) {
        (Some(address), 1, ..) => match machines.into_iter().next().flatten() {
            Some(machine) if one_machine => format!("{} ({machine})", clean(&address.to_string())),
            _ => clean(&address.to_string()).into_owned(),
        },
        (_, count, Some(kind), 1) => format!("{} × {count}", clean(kind)),
        (_, count, ..) => format!("{} of {} types", plural(count, "resource", "resources"), kinds.len()),
    };
    let work: u64 = steps.iter().map(|step| step.estimate_ms).fold(0, u64::saturating_add);
    let remark = match (one_machine, work) {
        (true, 0) => String::new(),
        (true, _) => duration(work),
        (false, 0) => plural(steps.len(), "step", "steps"),
        (false, _) => format!("{}, {}", plural(steps.len(), "step", "steps"), duration(work)),
    };
    let mut styles = steps.iter().map(|step| style(&step.action));
    let first = styles.next().unwrap_or_default();
    Node {
        verb,
        subject,
        remark,
        style: if styles.all(|style| style == first) { first } else { Style::Plain },
    }
}
