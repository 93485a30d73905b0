//! The graph of steps while it is being made.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::kosaraju_scc;
use petgraph::graph::DiGraph;
use slipway_resource::{Address, Identity, ResourceType, Value};

use crate::step::{Step, StepAction, StepId};
use crate::topology;

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
    roll: Option<Address>,
    after: BTreeSet<usize>,
    /// Steps that had better be done before, where nothing else speaks against it.
    preferably_after: BTreeSet<usize>,
    estimate_ms: u64,
    timeout_ms: u64,
}

/// How long a step may take when nothing else is said: a generous multiple of what it should.
const LEAST_TIMEOUT_MS: u64 = 15 * 60 * 1000;

/// How long a step with this expected duration may take when nothing else is said, both in milliseconds.
pub(crate) fn usual_timeout_ms(estimate_ms: u64) -> u64 {
    LEAST_TIMEOUT_MS.max(estimate_ms.saturating_mul(10))
}

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
            roll: None,
            after: BTreeSet::new(),
            preferably_after: BTreeSet::new(),
            estimate_ms,
            timeout_ms: usual_timeout_ms(estimate_ms),
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

    /// A gate on a node is part of the roll of a pool.
    pub fn part_of_roll(&mut self, gate: NodeId, pool: &Address) {
        if let Some(node) = self.nodes.get_mut(gate.0) {
            node.roll = Some(pool.clone());
        }
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

    /// The number of nodes so far.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// The nodes that were added since there were `size` nodes wait for `earlier`, unless that closes a circle.
    pub fn preference_since(&mut self, size: usize, earlier: NodeId) {
        for later in size..self.nodes.len() {
            self.preference(earlier, NodeId(later));
        }
    }

    /// The nodes that no other one waits for, but for some.
    pub fn ends(&self, but: &BTreeSet<NodeId>) -> Vec<NodeId> {
        let others = || (0..self.nodes.len()).map(NodeId).filter(|node| !but.contains(node));
        let waited: BTreeSet<usize> =
            others().filter_map(|node| self.nodes.get(node.0)).flat_map(|node| node.after.clone()).collect();
        others().filter(|node| !waited.contains(&node.0)).collect()
    }

    /// An order of units of nodes that keeps their dependencies, the earliest unit first where there is a
    /// choice. Units that wait for each other have no such order: they come last, and are also returned
    /// separately.
    pub fn order_of(&self, units: &[Vec<NodeId>]) -> (Vec<usize>, Vec<usize>) {
        // Each unit is one node here, after the nodes without a unit, so that nodes that wait only for those
        // are never held back.
        let first_unit = self.nodes.len();
        let mut place: Vec<usize> = (0..first_unit).collect();
        for (unit, members) in units.iter().enumerate() {
            for member in members {
                if let Some(place) = place.get_mut(member.0) {
                    *place = first_unit + unit;
                }
            }
        }
        let mut edges: BTreeSet<(usize, usize)> = BTreeSet::new();
        for (node, own) in self.nodes.iter().zip(&place) {
            let earlier = node.after.iter().filter_map(|earlier| place.get(*earlier));
            edges.extend(earlier.filter(|earlier| *earlier != own).map(|earlier| (*earlier, *own)));
        }
        let graph = topology::graph(first_unit + units.len(), edges.into_iter());
        let order = topology::ordered(&graph);
        let order: Vec<usize> = order.into_iter().filter_map(|node| node.checked_sub(first_unit)).collect();
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

    /// For each node, its strongly connected component when every preference is kept.
    fn components(&self) -> Vec<usize> {
        let graph = self.graph(|node| node.after.union(&node.preferably_after).copied().collect());
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

    /// The nodes, with edges from those that each waits for.
    fn graph(&self, waits_for: impl Fn(&Node) -> Vec<usize>) -> DiGraph<(), ()> {
        let edges = self
            .nodes
            .iter()
            .enumerate()
            .flat_map(|(own, node)| waits_for(node).into_iter().map(move |earlier| (earlier, own)));
        topology::graph(self.nodes.len(), edges)
    }

    fn order(self) -> Result<Vec<Step>, Vec<Address>> {
        // The order in which the nodes were added follows the addresses.
        let order = topology::ordered(&self.graph(|node| node.after.iter().copied().collect()));
        let mut place = vec![u32::MAX; self.nodes.len()];
        for (number, position) in (0_u32..).zip(&order) {
            if let Some(place) = place.get_mut(*position) {
                *place = number;
            }
        }
        if order.len() < self.nodes.len() {
            let stuck: BTreeSet<Address> = self
                .nodes
                .iter()
                .zip(&place)
                .filter(|(_, place)| **place == u32::MAX)
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
                    roll: node.roll,
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
