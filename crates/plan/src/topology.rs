//! An order of a graph's nodes in which each comes after those that it waits for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use petgraph::Direction::Incoming;
use petgraph::graph::{DiGraph, NodeIndex};

/// A graph of so many nodes, whose edges lead from a node to one that waits for it.
pub(crate) fn graph(nodes: usize, edges: impl Iterator<Item = (usize, usize)>) -> DiGraph<(), ()> {
    let mut graph = DiGraph::with_capacity(nodes, nodes);
    for _ in 0..nodes {
        graph.add_node(());
    }
    for (earlier, later) in edges.filter(|(earlier, later)| earlier.max(later) < &nodes) {
        graph.add_edge(NodeIndex::new(earlier), NodeIndex::new(later), ());
    }
    graph
}

/// The nodes in an order in which each comes after those that it waits for; wherever there is a choice, by their numbers.
/// Nodes of a circle, and those behind one, are left out.
///
/// The orders of petgraph (`toposort`, `Topo`) leave the choice to a search in depth: the same plan with one resource more
/// would then give all of its steps other numbers.
pub(crate) fn ordered(graph: &DiGraph<(), ()>) -> Vec<usize> {
    let mut waits: Vec<usize> =
        graph.node_indices().map(|node| graph.neighbors_directed(node, Incoming).count()).collect();
    let mut ready: BinaryHeap<Reverse<usize>> =
        waits.iter().enumerate().filter(|(_, waits)| **waits == 0).map(|(node, _)| Reverse(node)).collect();
    let mut order = Vec::with_capacity(waits.len());
    while let Some(Reverse(node)) = ready.pop() {
        order.push(node);
        for later in graph.neighbors(NodeIndex::new(node)) {
            if let Some(waits) = waits.get_mut(later.index()) {
                *waits -= 1;
                if *waits == 0 {
                    ready.push(Reverse(later.index()));
                }
            }
        }
    }
    order
}

/// By node: the layer in which it is. A node's layer is the one after the last of those that it waits for; none has those
/// of a circle, and those behind one.
pub(crate) fn layers(graph: &DiGraph<(), ()>) -> Vec<Option<usize>> {
    let mut layers: Vec<Option<usize>> = vec![None; graph.node_count()];
    for node in ordered(graph) {
        let earlier = graph.neighbors_directed(NodeIndex::new(node), Incoming);
        let last = earlier.filter_map(|earlier| layers.get(earlier.index()).copied().flatten()).max();
        if let Some(layer) = layers.get_mut(node) {
            *layer = Some(last.map_or(0, |last| last + 1));
        }
    }
    layers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_may_comes_next() {
        let edges = [(3, 0), (0, 1), (4, 2)];
        let graph = graph(5, edges.into_iter());
        assert_eq!(ordered(&graph), [3, 0, 1, 4, 2]);
        assert_eq!(layers(&graph), [Some(1), Some(2), Some(1), Some(0), Some(0)]);
    }

    #[test]
    fn a_circle_and_what_is_behind_it_have_no_order() {
        let edges = [(0, 1), (1, 2), (2, 1), (2, 3), (0, 9)];
        let graph = graph(5, edges.into_iter());
        assert_eq!(ordered(&graph), [0, 4]);
        assert_eq!(layers(&graph), [Some(0), None, None, None, Some(0)]);
    }
}
