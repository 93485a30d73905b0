//! Many steps drawn as few nodes.

use std::collections::{BTreeSet, HashMap};

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::super::clean::{clean, plural};
use super::super::duration::duration;
use super::super::line::Style;
use super::{Drawing, Node, edges, reduce, style};
use crate::step::{Step, StepAction};

/// How coarsely steps are gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grain {
    /// All gates of one resource are one node.
    Gates,
    /// All steps of one kind on one type are one node.
    Types,
}

/// The steps in at most `limit` nodes, as far as gathering by resource and then by type can do it.
pub(in super::super) fn gathered(steps: &[Step], limit: usize) -> Drawing {
    if steps.len() <= limit {
        return Drawing::of(steps);
    }
    let by_gates = gather(steps, Grain::Gates);
    if by_gates.nodes.len() <= limit {
        return by_gates;
    }
    gather(steps, Grain::Types)
}

/// What becomes one node: an action and what it is done to, or a single step.
#[derive(PartialEq, Eq, Hash)]
enum Key<'s> {
    Single(usize),
    Gates(&'s str, &'s str),
    Action(&'s str, &'s str),
}

fn key(step: &Step, grain: Grain) -> Key<'_> {
    let is_gate = matches!(step.action, StepAction::Operation { .. });
    let kind = step.address.kind();
    match (grain, is_gate) {
        (Grain::Gates, true) => Key::Gates(kind, step.address.name()),
        (Grain::Gates, false) => Key::Single(step.id.index()),
        (Grain::Types, true) => Key::Gates(kind, ""),
        (Grain::Types, false) => Key::Action(kind, step.action.verb()),
    }
}

fn gather(steps: &[Step], grain: Grain) -> Drawing {
    let mut numbers: HashMap<Key<'_>, usize> = HashMap::new();
    let group: Vec<usize> = steps
        .iter()
        .map(|step| {
            let next = numbers.len();
            *numbers.entry(key(step, grain)).or_insert(next)
        })
        .collect();
    let mut graph: DiGraph<(), ()> = DiGraph::with_capacity(numbers.len(), numbers.len());
    let nodes: Vec<NodeIndex> = (0..numbers.len()).map(|_| graph.add_node(())).collect();
    let mut pairs: BTreeSet<(usize, usize)> = BTreeSet::new();
    for (before, own) in edges(steps).iter().zip(&group) {
        pairs.extend(before.iter().filter_map(|earlier| group.get(*earlier)).map(|earlier| (*earlier, *own)));
    }
    for (earlier, later) in pairs.iter().filter(|(earlier, later)| earlier != later) {
        if let (Some(earlier), Some(later)) = (nodes.get(*earlier), nodes.get(*later)) {
            graph.add_edge(*earlier, *later, ());
        }
    }
    // Groups that wait for each other become one; the answer stands in the reverse of their order.
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
    let mut members: Vec<Vec<&Step>> = vec![Vec::new(); together.len()];
    for (step, group) in steps.iter().zip(&group) {
        if let Some(members) = members.get_mut(of(group)) {
            members.push(step);
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
        nodes: members.iter().map(|members| node(members)).collect(),
        before: reduce(before.into_iter().map(|set| set.into_iter().collect()).collect()),
    }
}

fn node(steps: &[&Step]) -> Node {
    if let [single] = steps {
        return super::node(single);
    }
    let verbs: BTreeSet<&str> = steps.iter().map(|step| step.action.verb()).collect();
    let gates = steps.iter().all(|step| matches!(step.action, StepAction::Operation { .. }));
    let verb = match (verbs.first(), verbs.len()) {
        (Some(only), 1) => clean(only).into_owned(),
        _ if gates => "roll".to_owned(),
        _ => verbs.iter().take(3).map(|verb| clean(verb)).collect::<Vec<_>>().join(", "),
    };
    let kinds: BTreeSet<&str> = steps.iter().map(|step| step.address.kind()).collect();
    let addresses: BTreeSet<_> = steps.iter().map(|step| &step.address).collect();
    let subject = match (addresses.first(), addresses.len(), kinds.first(), kinds.len()) {
        (Some(address), 1, ..) => clean(&address.to_string()).into_owned(),
        (_, count, Some(kind), 1) => format!("{} × {count}", clean(kind)),
        (_, count, ..) => format!("{} of {} types", plural(count, "resource", "resources"), kinds.len()),
    };
    let work: u64 = steps.iter().map(|step| step.estimate_ms).fold(0, u64::saturating_add);
    let mut remark = plural(steps.len(), "step", "steps");
    if work > 0 {
        remark.push_str(&format!(", {} of work", duration(work)));
    }
    let mut styles = steps.iter().map(|step| style(&step.action));
    let first = styles.next().unwrap_or_default();
    Node {
        verb,
        subject,
        remark,
        style: if styles.all(|style| style == first) { first } else { Style::Plain },
    }
}
