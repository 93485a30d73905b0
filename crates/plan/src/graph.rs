//! The dependencies between resources.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use slipway_resource::{Address, Desired, Turn};

use crate::error::Error;
use crate::topology;

/// The dependencies of the desired resources.
pub(crate) struct Dependencies {
    /// The sorted dependencies of each address.
    pub by_address: BTreeMap<Address, Vec<Address>>,
    /// The addresses in layers: each depends only on earlier ones.
    pub levels: Vec<Vec<Address>>,
    /// For each address, the addresses whose update is done before.
    pub in_turn: BTreeMap<Address, Vec<Address>>,
    /// For each address, the turn in which it is updated.
    pub turns: BTreeMap<Address, Turn>,
    /// Resources that are created only together with their dependents.
    pub on_demand: BTreeSet<Address>,
}

/// Orders the desired resources.
///
/// # Errors
/// On a circle, on a reference to nothing, on two resources of one address.
pub(crate) fn dependencies(desired: &[Desired]) -> Result<Dependencies, Error> {
    let mut by_address = BTreeMap::new();
    for resource in desired {
        if by_address.insert(resource.address.clone(), resource.dependencies()).is_some() {
            return Err(Error::DuplicateAddress(resource.address.clone()));
        }
    }
    for (address, depends_on) in &by_address {
        if let Some(missing) = depends_on.iter().find(|needed| !by_address.contains_key(*needed)) {
            return Err(Error::DanglingReference { from: address.clone(), to: missing.clone() });
        }
    }
    let levels = levels(&by_address)?;
    let in_turn = desired
        .iter()
        .filter(|resource| !resource.lifecycle.update_after.is_empty())
        .map(|resource| (resource.address.clone(), resource.lifecycle.update_after.clone()))
        .collect();
    let turn = |resource: &Desired| Some((resource.address.clone(), resource.lifecycle.turn.clone()?));
    let turns = desired.iter().filter_map(turn).collect();
    let on_demand = desired.iter().filter(|resource| resource.lifecycle.on_demand);
    let on_demand = on_demand.map(|resource| resource.address.clone()).collect();
    Ok(Dependencies { by_address, levels, in_turn, turns, on_demand })
}

/// The addresses in layers, in their order within each.
fn levels(by_address: &BTreeMap<Address, Vec<Address>>) -> Result<Vec<Vec<Address>>, Error> {
    let places: HashMap<&Address, usize> =
        by_address.keys().enumerate().map(|(place, address)| (address, place)).collect();
    let edges = by_address.values().enumerate().flat_map(|(own, depends_on)| {
        let places = &places;
        depends_on.iter().filter_map(move |needed| Some((*places.get(needed)?, own)))
    });
    let mut levels: Vec<Vec<Address>> = Vec::new();
    let layers = topology::layers(&topology::graph(by_address.len(), edges));
    for (address, layer) in by_address.keys().zip(layers) {
        let Some(layer) = layer else { return Err(Error::Cycle(cycle(by_address))) };
        if levels.len() <= layer {
            levels.resize_with(layer + 1, Vec::new);
        }
        if let Some(level) = levels.get_mut(layer) {
            level.push(address.clone());
        }
    }
    Ok(levels)
}

/// The addresses of a circle, each of which depends on the next one; none if there is no circle. Dependencies on other addresses than
/// the given ones do not count.
pub(crate) fn circle(by_address: &BTreeMap<Address, Vec<Address>>) -> Option<Vec<Address>> {
    match levels(by_address) {
        Err(Error::Cycle(circle)) => Some(circle),
        _ => None,
    }
}

/// One cycle of the graph, in the order in which each resource depends on the next.
fn cycle(by_address: &BTreeMap<Address, Vec<Address>>) -> Vec<Address> {
    let mut graph = DiGraph::<&Address, ()>::new();
    let nodes: BTreeMap<&Address, NodeIndex> =
        by_address.keys().map(|address| (address, graph.add_node(address))).collect();
    for (address, depends_on) in by_address {
        for needed in depends_on {
            if let (Some(from), Some(to)) = (nodes.get(address), nodes.get(needed)) {
                graph.add_edge(*from, *to, ());
            }
        }
    }
    let component = kosaraju_scc(&graph)
        .into_iter()
        .find(|component| {
            component.len() > 1 || component.iter().any(|node| graph.contains_edge(*node, *node))
        })
        .unwrap_or_default();
    // Walk inside the component until a node repeats: that is the cycle. Nodes are numbered in the order of
    // their addresses, so that the same cycle has the same message.
    let mut walk: Vec<NodeIndex> = component.iter().min().copied().into_iter().collect();
    while let Some(last) = walk.last().copied() {
        let Some(next) = graph.neighbors(last).find(|next| component.contains(next)) else {
            break;
        };
        if let Some(start) = walk.iter().position(|node| *node == next) {
            walk.drain(..start);
            break;
        }
        walk.push(next);
    }
    walk.into_iter().filter_map(|node| graph.node_weight(node).map(|address| (*address).clone())).collect()
}

#[cfg(test)]
mod tests {
    use slipway_resource::Value;

    use super::*;

    fn resource(name: &str, needs: &[&str]) -> Desired {
        let mut desired = Desired::new(Address::new("t", name), Value::map::<String, Value>([]));
        desired.depends_on = needs.iter().map(|name| Address::new("t", *name)).collect();
        desired
    }

    #[test]
    fn a_circle_is_named() {
        let desired =
            [resource("a", &["b"]), resource("b", &["c"]), resource("c", &["b"]), resource("d", &[])];
        let error = dependencies(&desired).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("resources depend on each other in a circle: t.b → t.c → t.b"));
    }

    #[test]
    fn layers_stand_on_earlier_ones() {
        let desired =
            [resource("a", &["b", "c"]), resource("b", &["c"]), resource("c", &[]), resource("d", &[])];
        let layers = dependencies(&desired).map(|dependencies| dependencies.levels).unwrap();
        let names: Vec<Vec<&str>> =
            layers.iter().map(|layer| layer.iter().map(Address::name).collect()).collect();
        assert_eq!(names, [vec!["c", "d"], vec!["b"], vec!["a"]]);
    }
}
