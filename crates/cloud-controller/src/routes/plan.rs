//! The routes to create and to delete: a decision about the nodes of the cluster and the routes of the cloud.
//!
//! The rules are those of `k8s.io/cloud-provider` 0.34 (`controllers/route/route_controller.go`).

use ipnet::IpNet;
use slipway_resource::provider::{NodeTarget, Route};

use crate::cidr::overlap;

/// A node with ranges for its pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutedNode {
    /// The node.
    pub target: NodeTarget,
    /// The uid of the node.
    pub uid: String,
    /// The ranges of its pods.
    pub ranges: Vec<IpNet>,
}

/// The changes that make the routes those of the nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Routes that lead to no node, or to another node than the one that has their range. They are deleted first.
    pub delete: Vec<Route>,
    /// Ranges without a route, with the position of their node.
    pub create: Vec<(usize, IpNet)>,
}

impl RoutedNode {
    /// Whether the node can have routes: it has ranges, and its instance is known. Until then nothing is created for it, and routes
    /// to its ranges stay as they are.
    #[must_use]
    pub fn is_routable(&self) -> bool {
        !self.ranges.is_empty() && self.target.provider_id.is_some()
    }

    /// Whether a route leads to the node.
    fn is_reached_by(&self, route: &Route) -> bool {
        let NodeTarget { node, provider_id, .. } = &self.target;
        self.ranges.contains(&route.destination)
            && route.target.as_ref().is_some_and(|target| target.is(node, provider_id.as_deref()))
    }
}

/// Plans the changes. Routes outside the ranges of the cluster belong to others.
#[must_use]
pub fn plan(nodes: &[RoutedNode], routes: &[Route], cluster: &[IpNet]) -> Plan {
    let leads = |route: &Route, node: &RoutedNode| !route.blackhole && node.is_reached_by(route);
    let may_lead = |route: &Route, node: &RoutedNode| {
        !route.blackhole && !node.is_routable() && node.ranges.contains(&route.destination)
    };
    let is_ours = |route: &&Route| cluster.iter().any(|range| range.contains(&route.destination));
    let is_stale = |route: &&Route| !nodes.iter().any(|node| leads(route, node) || may_lead(route, node));
    let delete = routes.iter().filter(is_ours).filter(is_stale).cloned().collect();
    let has = |node: &RoutedNode, range: &IpNet| {
        routes.iter().any(|route| route.destination == *range && leads(route, node))
    };
    let routable = nodes.iter().enumerate().filter(|(_, node)| node.is_routable());
    let wanted = routable.flat_map(|(at, node)| node.ranges.iter().map(move |range| (at, node, *range)));
    let create = wanted.filter(|(_, node, range)| !has(node, range)).map(|(at, _, range)| (at, range));
    Plan { delete, create: create.collect() }
}

/// Nodes with a range that another node has too, by position. Two routes for one range cannot exist.
#[must_use]
pub fn doubled(nodes: &[RoutedNode]) -> Vec<usize> {
    let overlaps = |left: &RoutedNode, right: &RoutedNode| {
        left.ranges.iter().any(|one| right.ranges.iter().any(|other| overlap(*one, *other)))
    };
    let is_doubled = |at: usize, node: &RoutedNode| {
        nodes.iter().enumerate().any(|(other_at, other)| other_at != at && overlaps(node, other))
    };
    nodes.iter().enumerate().filter(|(at, node)| is_doubled(*at, node)).map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests;
