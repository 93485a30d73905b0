//! The order in which resources stand on each other.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use slipway_resource::{Address, Desired, Turn};

use crate::error::Error;

/// The dependencies of the desired resources.
pub(crate) struct Dependencies {
    /// By address: what it stands on, sorted.
    pub by_address: BTreeMap<Address, Vec<Address>>,
    /// The addresses in layers: each stands only on earlier ones.
    pub levels: Vec<Vec<Address>>,
    /// By address: whose update is done before its own.
    pub in_turn: BTreeMap<Address, Vec<Address>>,
    /// By address: the turn in which it is updated.
    pub turns: BTreeMap<Address, Turn>,
    /// Those that are made only together with what depends on them.
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

/// Kahn's algorithm by layers, in the order of the addresses within each.
fn levels(by_address: &BTreeMap<Address, Vec<Address>>) -> Result<Vec<Vec<Address>>, Error> {
    let mut waiting: HashMap<&Address, usize> = HashMap::with_capacity(by_address.len());
    let mut dependents: HashMap<&Address, Vec<&Address>> = HashMap::new();
    for (address, depends_on) in by_address {
        waiting.insert(address, depends_on.len());
        for needed in depends_on {
            dependents.entry(needed).or_default().push(address);
        }
    }
    let mut current: Vec<&Address> =
        by_address.keys().filter(|address| waiting.get(*address) == Some(&0)).collect();
    let mut levels = Vec::new();
    let mut placed = 0;
    while !current.is_empty() {
        placed += current.len();
        let mut next = Vec::new();
        for address in &current {
            for dependent in dependents.get(*address).into_iter().flatten() {
                if let Some(count) = waiting.get_mut(*dependent) {
                    *count -= 1;
                    if *count == 0 {
                        next.push(*dependent);
                    }
                }
            }
        }
        next.sort();
        levels.push(current.into_iter().cloned().collect());
        current = next;
    }
    if placed == by_address.len() { Ok(levels) } else { Err(Error::Cycle(cycle(by_address))) }
}

/// One circle of the graph, in the order in which each stands on the next.
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
    // Walk inside the component until a node comes again: that is the circle. Nodes are numbered in the order of
    // their addresses, so that the same circle is told in the same words.
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
