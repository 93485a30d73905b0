//! The node IPAM controller: each node gets ranges of the cluster for its pods.
//!
//! Which ranges are taken is read from the nodes each time: a node that is deleted frees its ranges.

pub mod allocator;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ipnet::IpNet;
use serde_json::json;
use slipway_controller::k8s_openapi::api::core::v1::Node;
use slipway_controller::{EventType, Events, Watched};
use tokio::time::{sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::backoff::Backoff;
use crate::context::Context;
use crate::node::{name, pod_ranges, reference, uid};
use crate::writing::Unwritten;
use allocator::{Allocator, Division};

/// How long further nodes are waited for after a change.
const GATHERING: Duration = Duration::from_millis(50);

/// How long nothing may be due. Changes come by the watch.
const IDLE: Duration = Duration::from_secs(3600);

/// The ranges that the controller gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The ranges of the cluster, of one family or of both.
    pub divisions: Vec<Division>,
    /// Ranges that no node gets: those of Services.
    pub reserved: Vec<IpNet>,
}

/// Runs the controller until the stop.
pub(crate) async fn run(context: &Context, plan: &Plan, mut nodes: Watched<Node>, stop: &CancellationToken) {
    let mut desk = Desk {
        context,
        events: context.events("cidrAllocator"),
        allocator: Allocator::new(&plan.divisions),
        plan,
        given: HashMap::new(),
        backoff: Backoff::default(),
    };
    loop {
        desk.look(&nodes).await;
        let next = desk.backoff.next().unwrap_or_else(|| Instant::now() + IDLE);
        tokio::select! {
            () = stop.cancelled() => return,
            () = nodes.changed() => sleep(GATHERING).await,
            () = sleep_until(next.into()) => {}
        }
    }
}

struct Desk<'a> {
    context: &'a Context,
    events: Events,
    plan: &'a Plan,
    allocator: Allocator,
    /// Ranges that were given to nodes, by uid, which the watch may not show yet.
    given: HashMap<String, Vec<IpNet>>,
    backoff: Backoff,
}

impl Desk<'_> {
    async fn look(&mut self, nodes: &Watched<Node>) {
        let all = nodes.all();
        let (served, mut waiting): (Vec<&Node>, Vec<&Node>) =
            all.iter().map(std::ops::Deref::deref).partition(|node| !pod_ranges(node).is_empty());
        waiting.retain(|node| node.metadata.deletion_timestamp.is_none());
        self.given.retain(|given, _| waiting.iter().any(|node| uid(node) == *given));
        self.backoff.keep(|waits| waiting.iter().any(|node| name(node) == waits));
        let taken = served.into_iter().flat_map(pod_ranges).chain(self.given.values().flatten().copied());
        let taken: Vec<IpNet> = taken.chain(self.plan.reserved.iter().copied()).collect();
        self.allocator.occupy(&taken);
        for node in waiting {
            if self.backoff.is_due(name(node), Instant::now()) {
                self.give(node).await;
            }
        }
    }

    async fn give(&mut self, node: &Node) {
        let given = self.given.get(&uid(node)).cloned();
        let Some(ranges) = given.or_else(|| self.allocator.allocate()) else {
            self.publish(node, "CIDRNotAvailable").await;
            let again_in = self.backoff.failed(name(node), Instant::now());
            tracing::warn!(node = name(node), ?again_in, "--cluster-cidr has no free range for the node");
            return;
        };
        // An answer may be lost: the node gets these ranges or none.
        self.given.insert(uid(node), ranges.clone());
        let texts: Vec<String> = ranges.iter().map(ToString::to_string).collect();
        let patch = json!({
            "metadata": {"resourceVersion": node.metadata.resource_version},
            "spec": {"podCIDR": texts.first(), "podCIDRs": texts},
        });
        match self.context.patch(node, &patch).await {
            Ok(_) => {
                tracing::info!(
                    node = name(node),
                    ranges = texts.join(","),
                    "the node has its ranges for pods"
                );
                self.backoff.succeeded(name(node), Instant::now());
            }
            Err(error) => {
                if !matches!(error, Unwritten::Changed) {
                    self.publish(node, "CIDRAssignmentFailed").await;
                }
                let again_in = self.backoff.failed(name(node), Instant::now());
                tracing::warn!(node = name(node), %error, ?again_in, "the node did not get ranges for pods");
            }
        }
    }

    async fn publish(&self, node: &Node, status: &str) {
        let note = format!("Node {} status is now: {status}", name(node));
        self.events.publish(&reference(node), EventType::Normal, status, note).await;
    }
}
