//! Nodes in layers, each behind all that it waits for.

use super::super::graph::Drawing;

/// Something in a layer: a node, or the place where an edge over several layers passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// The node; `None` for the place of an edge.
    pub(super) node: Option<usize>,
    /// Items of the layer before that lead here.
    pub(super) before: Vec<usize>,
    /// Items of the next layer that this leads to.
    pub(super) after: Vec<usize>,
}

/// Items, and which of them each layer holds, from top to bottom.
#[derive(Clone, Debug, Default)]
pub(super) struct Layers {
    /// All items.
    pub(super) items: Vec<Item>,
    /// Positions of items, by layer.
    pub(super) layers: Vec<Vec<usize>>,
}

impl Layers {
    fn add(&mut self, node: Option<usize>, layer: usize) -> usize {
        let item = self.items.len();
        self.items.push(Item { node, before: Vec::new(), after: Vec::new() });
        if self.layers.len() <= layer {
            self.layers.resize_with(layer + 1, Vec::new);
        }
        if let Some(layer) = self.layers.get_mut(layer) {
            layer.push(item);
        }
        item
    }

    fn link(&mut self, earlier: usize, later: usize) {
        if let Some(item) = self.items.get_mut(earlier) {
            item.after.push(later);
        }
        if let Some(item) = self.items.get_mut(later) {
            item.before.push(earlier);
        }
    }
}

/// Places each node as far left as possible, and then as near to its dependents as possible.
pub(super) fn layers(drawing: &Drawing) -> Layers {
    let ranks = ranks(drawing);
    let rank = |node: usize| ranks.get(node).copied().unwrap_or(0);
    let mut layers = Layers::default();
    let items: Vec<usize> = (0..drawing.nodes.len()).map(|node| layers.add(Some(node), rank(node))).collect();
    // Edges out of one node share their way: it branches only where it must.
    let mut ways: Vec<Vec<usize>> = items.iter().map(|item| vec![*item]).collect();
    for (node, before) in drawing.before.iter().enumerate() {
        for earlier in before {
            let (Some(way), Some(end)) = (ways.get_mut(*earlier), items.get(node)) else { continue };
            let hops = rank(node).saturating_sub(rank(*earlier) + 1);
            while way.len() <= hops {
                let layer = rank(*earlier) + way.len();
                let passed = layers.add(None, layer);
                if let Some(last) = way.last() {
                    layers.link(*last, passed);
                }
                way.push(passed);
            }
            if let Some(start) = way.get(hops) {
                layers.link(*start, *end);
            }
        }
    }
    layers
}

fn ranks(drawing: &Drawing) -> Vec<usize> {
    let mut ranks = drawing.levels();
    // A node without predecessors moves right, next to the first that needs it: short edges read better.
    let mut first_needed: Vec<Option<usize>> = vec![None; drawing.nodes.len()];
    for (node, before) in drawing.before.iter().enumerate() {
        let rank = ranks.get(node).copied().unwrap_or(0);
        for earlier in before {
            if let Some(first) = first_needed.get_mut(*earlier) {
                *first = Some(first.map_or(rank, |first: usize| first.min(rank)));
            }
        }
    }
    for (node, before) in drawing.before.iter().enumerate() {
        if let (true, Some(Some(first)), Some(rank)) =
            (before.is_empty(), first_needed.get(node), ranks.get_mut(node))
        {
            *rank = first.saturating_sub(1);
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_edge_passes_through_every_layer() {
        let drawing = Drawing {
            nodes: vec![
                super::super::super::graph::Node {
                    verb: String::new(),
                    subject: String::new(),
                    remark: String::new(),
                    style: Default::default(),
                };
                4
            ],
            before: vec![vec![], vec![0], vec![1], vec![0, 2]],
            members: vec![Vec::new(); 4],
        };
        let layers = layers(&drawing);
        assert_eq!(layers.layers, [vec![0], vec![1, 4], vec![2, 5], vec![3]]);
        assert_eq!(layers.items[3].before, [5, 2]);
    }
}
