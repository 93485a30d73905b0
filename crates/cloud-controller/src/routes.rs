//! The route controller: routes of the cloud to the pods of nodes, and the condition `NetworkUnavailable` of nodes.
//!
//! The routes are listed in each period, and at once when nodes come, go, or get ranges.

pub mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};
use ipnet::IpNet;
use jiff::Timestamp;
use serde_json::{Value as Json, json};
use slipway_controller::k8s_openapi::api::core::v1::Node;
use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use slipway_controller::kube::api::{Patch, PatchParams};
use slipway_controller::{EventType, Events, Watched};
use slipway_resource::ProviderError;
use slipway_resource::provider::NewRoute;
use tokio::time::{MissedTickBehavior, sleep};
use tokio_util::sync::CancellationToken;

use crate::balanced_nodes::target;
use crate::context::Context;
use crate::node::{condition, name, pod_ranges, reference, uid};
use plan::{RoutedNode, doubled, plan};

/// How long further nodes are waited for after a change.
const GATHERING: Duration = Duration::from_millis(200);

/// How many routes are created or deleted at the same time.
const AT_ONCE: usize = 32;

/// The condition of a node without routes to its pods.
const CONDITION: &str = "NetworkUnavailable";

/// Runs the controller until the stop.
pub(crate) async fn run(
    context: &Context,
    cluster: &[IpNet],
    mut nodes: Watched<Node>,
    stop: &CancellationToken,
) {
    let router = Router { context, events: context.events("route_controller"), cluster };
    let mut period = tokio::time::interval(context.arguments.network.route_reconciliation_period);
    period.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut seen = None;
    loop {
        let is_due = tokio::select! {
            () = stop.cancelled() => return,
            _ = period.tick() => true,
            () = nodes.changed() => {
                sleep(GATHERING).await;
                false
            }
        };
        let all = nodes.all();
        let all: Vec<&Node> = all.iter().map(std::ops::Deref::deref).collect();
        let routed: Vec<RoutedNode> = all.iter().map(|node| routed(node)).collect();
        let now_seen = ranges_by_uid(&routed);
        if is_due || seen.as_ref() != Some(&now_seen) {
            router.reconcile(&all, &routed).await;
            seen = Some(now_seen);
        }
    }
}

/// The part of the nodes whose change cannot wait for the next period.
fn ranges_by_uid(nodes: &[RoutedNode]) -> BTreeMap<String, (Option<String>, Vec<IpNet>)> {
    let entry =
        |node: &RoutedNode| (node.uid.clone(), (node.target.provider_id.clone(), node.ranges.clone()));
    nodes.iter().map(entry).collect()
}

fn routed(node: &Node) -> RoutedNode {
    RoutedNode { target: target(node), uid: uid(node), ranges: pod_ranges(node) }
}

struct Router<'a> {
    context: &'a Context,
    events: Events,
    cluster: &'a [IpNet],
}

impl Router<'_> {
    /// Brings routes and conditions into their state. Without a complete list of the routes, nothing is known and nothing happens.
    async fn reconcile(&self, nodes: &[&Node], routed: &[RoutedNode]) {
        let routes = match self.context.cloud.routes().await {
            Ok(routes) => routes,
            Err(error) => {
                tracing::warn!(%error, "the provider does not list the routes");
                return;
            }
        };
        let doubled: BTreeSet<usize> = doubled(routed).into_iter().collect();
        for node in doubled.iter().filter_map(|at| routed.get(*at)) {
            tracing::warn!(node = node.target.node, "another node has a range of its pods too");
        }
        let plan = plan(routed, &routes, self.cluster);
        stream::iter(&plan.delete)
            .for_each_concurrent(AT_ONCE, |route| async move {
                match self.context.cloud.delete_route(route).await {
                    Ok(()) => tracing::info!(route = route.name, "the route is deleted"),
                    Err(error) => tracing::warn!(route = route.name, %error, "the route was not deleted"),
                }
            })
            .await;
        let creating = plan.create.iter().map(|(at, range)| self.create(*at, nodes, routed, *range));
        let failed: BTreeSet<usize> =
            stream::iter(creating).buffer_unordered(AT_ONCE).filter_map(std::future::ready).collect().await;
        stream::iter(nodes.iter().zip(routed).enumerate())
            .for_each_concurrent(AT_ONCE, |(at, (node, routed))| {
                self.report(node, routed, !failed.contains(&at))
            })
            .await;
    }

    /// Creates a route; returns the position of its node if it was not created.
    async fn create(&self, at: usize, nodes: &[&Node], routed: &[RoutedNode], range: IpNet) -> Option<usize> {
        let (node, routed) = (nodes.get(at)?, routed.get(at)?);
        let route =
            NewRoute { name_hint: routed.uid.clone(), destination: range, target: routed.target.clone() };
        let begun = Instant::now();
        match self.context.cloud.create_route(&route).await {
            Ok(()) => {
                tracing::info!(node = name(node), %range, "the route is created");
                None
            }
            Err(error) => {
                self.warn(node, &route, begun.elapsed(), &error).await;
                Some(at)
            }
        }
    }

    async fn warn(&self, node: &Node, route: &NewRoute, after: Duration, error: &ProviderError) {
        let NewRoute { name_hint, destination, .. } = route;
        tracing::warn!(node = name(node), range = %destination, %error, "the route was not created");
        let note = format!(
            "Could not create route {name_hint} {destination} for node {} after {after:?}: {error}",
            name(node)
        );
        self.events.publish(&reference(node), EventType::Warning, "FailedToCreateRoute", note).await;
    }

    /// Sets the condition of a node that can have routes, if it is another one.
    async fn report(&self, node: &Node, routed: &RoutedNode, has_routes: bool) {
        let wanted = if has_routes { "False" } else { "True" };
        if !routed.is_routable() || condition(node, CONDITION) == Some(wanted) {
            return;
        }
        let patch = condition_patch(has_routes, &Time(Timestamp::now()));
        // Other conditions, which the kubelet writes often, stay as they are.
        let patch = Patch::Strategic(&patch);
        let parameters = PatchParams::default();
        if let Err(error) = self.context.nodes.patch_status(name(node), &parameters, &patch).await {
            tracing::warn!(node = name(node), %error, "the condition NetworkUnavailable was not set");
        }
    }
}

/// The strategic merge patch of the condition.
fn condition_patch(has_routes: bool, now: &Time) -> Json {
    let (status, reason, message) = if has_routes {
        ("False", "RouteCreated", "RouteController created a route")
    } else {
        ("True", "NoRouteCreated", "RouteController failed to create a route")
    };
    json!({"status": {"conditions": [{
        "type": CONDITION, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": now, "lastHeartbeatTime": now,
    }]}})
}
