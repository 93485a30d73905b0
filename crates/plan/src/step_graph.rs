//! The graph of steps while it is being made.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use slipway_resource::{Address, Identity, ResourceType, Value};

use crate::step::{Step, StepAction, StepId};

/// A node of the growing graph; its final position is not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeId(usize);

/// Steps and edges. [`Graph::finish`] orders them.
#[derive(Default)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
    gates: BTreeMap<(Address, String, String), NodeId>,
    rate_class: BTreeMap<String, String>,
}

struct Node {
    address: Address,
    action: StepAction,
    identity: Option<Identity>,
    after: BTreeSet<usize>,
    /// Steps that had better be done before, where nothing else speaks against it.
    preferably_after: BTreeSet<usize>,
    estimate_ms: u64,
    timeout_ms: u64,
}

/// How long a step may take when nothing else is said: a generous multiple of what it should.
const LEAST_TIMEOUT_MS: u64 = 15 * 60 * 1000;

impl Graph {
    /// Says which rate class the calls of a type count against.
    pub fn declare(&mut self, kind: &str, declared: &ResourceType) {
        self.rate_class.insert(kind.to_owned(), declared.rate_class.clone());
    }

    /// Adds a step.
    pub fn add(
        &mut self,
        address: &Address,
        action: StepAction,
        identity: Option<Identity>,
        estimate_ms: u64,
    ) -> NodeId {
        self.nodes.push(Node {
            address: address.clone(),
            action,
            identity,
            after: BTreeSet::new(),
            preferably_after: BTreeSet::new(),
            estimate_ms,
            timeout_ms: LEAST_TIMEOUT_MS.max(estimate_ms.saturating_mul(10)),
        });
        NodeId(self.nodes.len() - 1)
    }

    /// Adds a gate; the same gate with the same arguments is one step. `times` are the expected duration and
    /// the time-out in milliseconds, 0 for the usual one.
    pub fn operation(
        &mut self,
        address: &Address,
        identity: Option<&Identity>,
        name: &str,
        arguments: Value,
        times: (u64, u64),
        after: &[NodeId],
    ) -> NodeId {
        let key = (address.clone(), name.to_owned(), arguments.to_json().to_string());
        let node = match self.gates.get(&key) {
            Some(node) => *node,
            None => {
                let action = StepAction::Operation { name: name.to_owned(), arguments };
                let node = self.add(address, action, identity.cloned(), times.0);
                if let Some(added) = self.nodes.get_mut(node.0)
                    && times.1 > 0
                {
                    added.timeout_ms = times.1;
                }
                self.gates.insert(key, node);
                node
            }
        };
        for earlier in after {
            self.edge(*earlier, node);
        }
        node
    }

    /// `later` waits for `earlier`.
    pub fn edge(&mut self, earlier: NodeId, later: NodeId) {
        if earlier != later
            && let Some(node) = self.nodes.get_mut(later.0)
        {
            node.after.insert(earlier.0);
        }
    }

    /// `later` waits for `earlier`, unless that closes a circle.
    pub fn preference(&mut self, earlier: NodeId, later: NodeId) {
        if earlier != later
            && let Some(node) = self.nodes.get_mut(later.0)
        {
            node.preferably_after.insert(earlier.0);
        }
    }

    /// The nodes that no other one waits for, but for some.
    pub fn ends(&self, but: &BTreeSet<NodeId>) -> Vec<NodeId> {
        let others = || (0..self.nodes.len()).map(NodeId).filter(|node| !but.contains(node));
        let waited: BTreeSet<usize> =
            others().filter_map(|node| self.nodes.get(node.0)).flat_map(|node| node.after.clone()).collect();
        others().filter(|node| !waited.contains(&node.0)).collect()
    }

    /// An order of units of nodes that what they wait for allows, the earliest unit first wherever there is a choice. Units that
    /// wait for each other have no such order: they come last, and are returned beside it.
    pub fn order_of(&self, units: &[Vec<NodeId>]) -> (Vec<usize>, Vec<usize>) {
        // A unit is one node here; nodes of no unit come first, so that what waits only for them is never held back.
        let mut place: Vec<(bool, usize)> = (0..self.nodes.len()).map(|position| (false, position)).collect();
        for (unit, members) in units.iter().enumerate() {
            for member in members {
                if let Some(place) = place.get_mut(member.0) {
                    *place = (true, unit);
                }
            }
        }
        let mut waits: BTreeMap<(bool, usize), BTreeSet<(bool, usize)>> = BTreeMap::new();
        for (node, own) in self.nodes.iter().zip(&place) {
            let earlier =
                node.after.iter().filter_map(|earlier| place.get(*earlier)).filter(|other| *other != own);
            waits.entry(*own).or_default().extend(earlier);
        }
        let mut dependents: BTreeMap<(bool, usize), Vec<(bool, usize)>> = BTreeMap::new();
        for (own, earlier) in &waits {
            for earlier in earlier {
                dependents.entry(*earlier).or_default().push(*own);
            }
        }
        let mut left: BTreeMap<(bool, usize), usize> =
            waits.iter().map(|(own, earlier)| (*own, earlier.len())).collect();
        let is_ready =
            |(own, count): (&(bool, usize), &usize)| (*count == 0).then_some(std::cmp::Reverse(*own));
        let mut ready: BinaryHeap<_> = left.iter().filter_map(is_ready).collect();
        let mut order = Vec::with_capacity(units.len());
        while let Some(std::cmp::Reverse(next)) = ready.pop() {
            if next.0 {
                order.push(next.1);
            }
            for dependent in dependents.get(&next).into_iter().flatten() {
                if let Some(count) = left.get_mut(dependent) {
                    *count -= 1;
                    if *count == 0 {
                        ready.push(std::cmp::Reverse(*dependent));
                    }
                }
            }
        }
        let ordered: BTreeSet<usize> = order.iter().copied().collect();
        let entwined = (0..units.len()).filter(|unit| !ordered.contains(unit)).collect();
        (order, entwined)
    }

    /// The steps, each behind those that it waits for; among equals by address and action.
    ///
    /// Returns the addresses of a circle when there is one. Preferences that would close a circle are dropped.
    pub fn finish(mut self) -> Result<Vec<Step>, Vec<Address>> {
        if self.nodes.iter().any(|node| !node.preferably_after.is_empty()) {
            let component = self.components();
            let of = |position: usize| component.get(position).copied();
            for (position, node) in self.nodes.iter_mut().enumerate() {
                let harmless = node.preferably_after.iter().filter(|earlier| of(**earlier) != of(position));
                let harmless: Vec<usize> = harmless.copied().collect();
                node.after.extend(harmless);
            }
        }
        self.order()
    }

    /// By node: the strongly connected component in which it lies when every preference is kept.
    fn components(&self) -> Vec<usize> {
        let mut graph = DiGraph::<(), ()>::with_capacity(self.nodes.len(), self.nodes.len());
        let indices: Vec<NodeIndex> = self.nodes.iter().map(|_| graph.add_node(())).collect();
        for (node, index) in self.nodes.iter().zip(&indices) {
            for earlier in node.after.union(&node.preferably_after) {
                if let Some(earlier) = indices.get(*earlier) {
                    graph.add_edge(*earlier, *index, ());
                }
            }
        }
        let mut component = vec![0; self.nodes.len()];
        for (number, members) in kosaraju_scc(&graph).into_iter().enumerate() {
            for member in members {
                if let Some(place) = component.get_mut(member.index()) {
                    *place = number;
                }
            }
        }
        component
    }

    fn order(self) -> Result<Vec<Step>, Vec<Address>> {
        let count = self.nodes.len();
        let mut waiting: Vec<usize> = self.nodes.iter().map(|node| node.after.len()).collect();
        let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); count];
        for (position, node) in self.nodes.iter().enumerate() {
            for earlier in &node.after {
                if let Some(list) = dependents.get_mut(*earlier) {
                    list.push(position);
                }
            }
        }
        // Stable: the order in which the nodes were added follows the addresses.
        let mut ready: BinaryHeap<std::cmp::Reverse<usize>> = waiting
            .iter()
            .enumerate()
            .filter(|(_, count)| **count == 0)
            .map(|(position, _)| std::cmp::Reverse(position))
            .collect();
        let mut order = Vec::with_capacity(count);
        let mut place = vec![u32::MAX; count];
        while let Some(std::cmp::Reverse(position)) = ready.pop() {
            if let (Some(mark), Ok(number)) = (place.get_mut(position), u32::try_from(order.len())) {
                *mark = number;
            }
            order.push(position);
            for dependent in dependents.get(position).into_iter().flatten() {
                if let Some(count) = waiting.get_mut(*dependent) {
                    *count -= 1;
                    if *count == 0 {
                        ready.push(std::cmp::Reverse(*dependent));
                    }
                }
            }
        }
        if order.len() < count {
            let stuck: BTreeSet<Address> = self
                .nodes
                .iter()
                .zip(&waiting)
                .filter(|(_, count)| **count > 0)
                .map(|(node, _)| node.address.clone())
                .collect();
            return Err(stuck.into_iter().collect());
        }
        let mut steps: Vec<(u32, Step)> = self
            .nodes
            .into_iter()
            .enumerate()
            .map(|(position, node)| {
                let number = |position: usize| place.get(position).copied().unwrap_or(u32::MAX);
                let mut depends_on: Vec<StepId> =
                    node.after.iter().map(|earlier| StepId(number(*earlier))).collect();
                depends_on.sort();
                let rate_class = self.rate_class.get(node.address.kind()).cloned().unwrap_or_default();
                let id = StepId(number(position));
                let step = Step {
                    id,
                    address: node.address,
                    action: node.action,
                    identity: node.identity,
                    depends_on,
                    rate_class,
                    estimate_ms: node.estimate_ms,
                    timeout_ms: node.timeout_ms,
                };
                (id.0, step)
            })
            .collect();
        steps.sort_by_key(|(number, _)| *number);
        Ok(steps.into_iter().map(|(_, step)| step).collect())
    }
}
