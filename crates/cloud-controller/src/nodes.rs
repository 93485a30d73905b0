//! The node controller: it initialises nodes, and keeps the addresses of the others up to date.

use std::time::{Duration, Instant, SystemTime};

use futures_util::{StreamExt as _, stream};
use serde_json::json;
use slipway_controller::k8s_openapi::api::core::v1::{Node, NodeAddress};
use slipway_controller::{EventType, Events, Watched};
use slipway_resource::provider::{Instance, InstanceAnswer};
use tokio::time::{MissedTickBehavior, interval_at, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::addresses::{self, AddressError, PROVIDED_NODE_IP};
use crate::backoff::Backoff;
use crate::context::Context;
use crate::initialise;
use crate::node::{name, query, reference};
use crate::writing::Unwritten;

/// How long further nodes are waited for after a change, so that one call asks for all of them.
const GATHERING: Duration = Duration::from_millis(50);

/// A node was not initialised.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the cloud has no instance of this node")]
    NoInstance,
    #[error("its instance cannot be read: {0}")]
    Unreadable(String),
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error(transparent)]
    Unwritten(#[from] Unwritten),
}

/// Runs the controller until the stop.
pub(crate) async fn run(context: &Context, mut nodes: Watched<Node>, stop: &CancellationToken) {
    let events = context.events("cloud-node-controller");
    let every = context.arguments.node_status_update_frequency;
    let mut refresh = interval_at(tokio::time::Instant::now() + every, every);
    refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut backoff = Backoff::default();
    loop {
        initialise_all(context, &events, &nodes, &mut backoff).await;
        let again = backoff.next().unwrap_or_else(|| Instant::now() + every).into();
        tokio::select! {
            () = stop.cancelled() => return,
            () = nodes.changed() => sleep(GATHERING).await,
            () = sleep_until(again) => {}
            _ = refresh.tick() => refresh_all(context, &nodes).await,
        }
    }
}

async fn initialise_all(context: &Context, events: &Events, nodes: &Watched<Node>, backoff: &mut Backoff) {
    let all = nodes.all();
    let waiting: Vec<&Node> =
        all.iter().map(std::ops::Deref::deref).filter(|node| initialise::is_needed(node)).collect();
    backoff.keep(|failed| waiting.iter().any(|node| name(node) == failed));
    let now = Instant::now();
    let due: Vec<&Node> = waiting.into_iter().filter(|node| backoff.is_due(name(node), now)).collect();
    if due.is_empty() {
        return;
    }
    for node in due.iter().filter(|node| backoff.is_new(name(node))) {
        context.metrics.sync_delay.observe(age(node));
    }
    let answers = context.cloud.instances(due.iter().map(|node| query(node)).collect()).await;
    let answers = match answers {
        Ok(answers) => answers,
        Err(error) => due.iter().map(|_| InstanceAnswer::Unreadable(error.clone())).collect(),
    };
    let width = usize::from(context.arguments.concurrent_node_syncs.max(1));
    let work = due
        .into_iter()
        .zip(answers)
        .map(|(node, answer)| async move { (node, initialise_one(context, events, node, answer).await) });
    let outcomes: Vec<(&Node, Result<(), Failure>)> =
        stream::iter(work).buffer_unordered(width).collect().await;
    for (node, outcome) in outcomes {
        match outcome {
            Ok(()) => backoff.succeeded(name(node), Instant::now()),
            Err(error) => {
                let wait = backoff.failed(name(node), Instant::now());
                tracing::warn!(node = name(node), %error, again_in = ?wait, "the node was not initialised");
            }
        }
    }
}

/// Initialises a node. It gets its addresses before the taint is removed, so that pods placed on it find
/// them.
async fn initialise_one(
    context: &Context,
    events: &Events,
    node: &Node,
    answer: InstanceAnswer,
) -> Result<(), Failure> {
    let instance = match answer {
        InstanceAnswer::Present(instance) => instance,
        InstanceAnswer::Absent => return Err(Failure::NoInstance),
        InstanceAnswer::Unreadable(error) => return Err(Failure::Unreadable(error.to_string())),
    };
    let patched = set_addresses(context, node, &instance).await?;
    let node = patched.as_ref().unwrap_or(node);
    context.patch(node, &initialise::patch(node, &instance)).await?;
    context.metrics.taint_delay.observe(age(node));
    tracing::info!(node = name(node), instance = %instance.provider_id, "the node is initialised");
    events
        .publish(&reference(node), EventType::Normal, "Synced", "Node synced successfully".to_owned())
        .await;
    Ok(())
}

/// Refreshes the addresses of all nodes that are initialised.
async fn refresh_all(context: &Context, nodes: &Watched<Node>) {
    let all = nodes.all();
    let known: Vec<&Node> =
        all.iter().map(std::ops::Deref::deref).filter(|node| !initialise::is_needed(node)).collect();
    if known.is_empty() {
        return;
    }
    let Ok(answers) = context.cloud.instances(known.iter().map(|node| query(node)).collect()).await else {
        return;
    };
    let width = usize::from(context.arguments.concurrent_node_syncs.max(1));
    stream::iter(known.into_iter().zip(answers))
        .for_each_concurrent(width, |(node, answer)| async move {
            let InstanceAnswer::Present(instance) = answer else { return };
            match set_addresses(context, node, &instance).await {
                Ok(_) | Err(Failure::Unwritten(Unwritten::Changed)) => {}
                Err(error) => tracing::warn!(node = name(node), %error, "the addresses were not refreshed"),
            }
        })
        .await;
}

/// Sets the addresses if they are others; returns the node after that.
async fn set_addresses(context: &Context, node: &Node, instance: &Instance) -> Result<Option<Node>, Failure> {
    let existing: &[NodeAddress] =
        node.status.as_ref().and_then(|status| status.addresses.as_deref()).unwrap_or_default();
    let annotations = node.metadata.annotations.as_ref();
    let provided = annotations.and_then(|annotations| annotations.get(PROVIDED_NODE_IP)).map(String::as_str);
    match addresses::wanted(existing, provided, &instance.addresses)? {
        Some(wanted) if wanted != existing => {
            let version = &node.metadata.resource_version;
            let patch = json!({"metadata": {"resourceVersion": version}, "status": {"addresses": wanted}});
            Ok(Some(context.patch_status(node, &patch).await?))
        }
        _ => Ok(None),
    }
}

/// The seconds since the node was created.
fn age(node: &Node) -> f64 {
    let created = node.metadata.creation_timestamp.as_ref().map(|time| SystemTime::from(time.0));
    let since = created.and_then(|created| SystemTime::now().duration_since(created).ok());
    since.unwrap_or_default().as_secs_f64()
}
