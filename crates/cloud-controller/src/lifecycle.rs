//! Nodes that do not report any more: their treatment depends on the cloud's answer about their instance.

use std::collections::HashSet;

use futures_util::{StreamExt as _, stream};
use serde_json::{Value as Json, json};
use slipway_controller::k8s_openapi::api::core::v1::{Node, Taint};
use slipway_controller::kube::api::{DeleteParams, Preconditions};
use slipway_controller::{EventType, Events, Watched};
use slipway_resource::provider::InstanceAnswer;
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::initialise::taints;
use crate::node::{is_ready, name, provider_id, query, reference, uid};
use crate::writing::Unwritten;

/// The taint of a node whose instance is stopped.
pub const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";

/// The treatment of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// Nothing.
    Stays,
    /// The taint is set or removed.
    Taint(bool),
    /// The instance does not exist: the Node is deleted if the cloud says so again.
    Gone,
}

/// Decides about a node that does not report. `answer` is what the cloud says of its instance.
///
/// A Node without provider id is never [`Fate::Gone`]: nothing proves that it has an instance in this cloud.
#[must_use]
pub fn decide(node: &Node, answer: &InstanceAnswer) -> Fate {
    match answer {
        InstanceAnswer::Absent if provider_id(node).is_some() => Fate::Gone,
        InstanceAnswer::Present(instance) if instance.shutdown && !is_shut_down(node) => Fate::Taint(true),
        InstanceAnswer::Present(_) | InstanceAnswer::Absent | InstanceAnswer::Unreadable(_) => Fate::Stays,
    }
}

/// Runs the controller until the stop.
pub(crate) async fn run(context: &Context, nodes: Watched<Node>, stop: &CancellationToken) {
    let events = context.events("cloud-node-lifecycle-controller");
    let mut monitor = Monitor { context, events, gone: HashSet::new() };
    let mut period = tokio::time::interval(context.arguments.node_monitor_period);
    period.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = period.tick() => {}
        }
        monitor.look(&nodes).await;
    }
}

struct Monitor<'a> {
    context: &'a Context,
    events: Events,
    /// The uids of nodes whose instance did not exist when the cloud was asked last.
    gone: HashSet<String>,
}

impl Monitor<'_> {
    async fn look(&mut self, nodes: &Watched<Node>) {
        let all = nodes.all();
        let (ready, silent): (Vec<_>, Vec<_>) =
            all.iter().map(std::ops::Deref::deref).partition(|node| is_ready(node));
        let up: Vec<&Node> = ready.into_iter().filter(|node| is_shut_down(node)).collect();
        self.each(up.into_iter().map(|node| (node, Fate::Taint(false)))).await;
        if silent.is_empty() {
            self.gone.clear();
            return;
        }
        let queries = silent.iter().map(|node| query(node)).collect();
        // Without an answer nothing is known, and nothing happens.
        let Ok(answers) = self.context.cloud.instances(queries).await else { return };
        let fates: Vec<(&Node, Fate)> =
            silent.into_iter().zip(&answers).map(|(node, answer)| (node, decide(node, answer))).collect();
        let before = std::mem::take(&mut self.gone);
        self.gone = fates.iter().filter(|(_, fate)| *fate == Fate::Gone).map(|(node, _)| uid(node)).collect();
        // A cloud may not show a new instance at once: it must say twice that one does not exist.
        let certain = |(node, fate): &(&Node, Fate)| *fate != Fate::Gone || before.contains(&uid(node));
        self.each(fates.into_iter().filter(certain)).await;
    }

    async fn each<'n>(&self, fates: impl Iterator<Item = (&'n Node, Fate)>) {
        let width = usize::from(self.context.arguments.concurrent_node_syncs.max(1));
        stream::iter(fates).for_each_concurrent(width, |(node, fate)| self.carry_out(node, fate)).await;
    }

    async fn carry_out(&self, node: &Node, fate: Fate) {
        match fate {
            Fate::Stays => {}
            Fate::Taint(shut_down) => {
                if let Err(error) = self.context.patch(node, &taint_patch(node, shut_down)).await {
                    tracing::warn!(node = name(node), %error, "the shutdown taint was not changed");
                }
            }
            Fate::Gone => self.delete(node).await,
        }
    }

    async fn delete(&self, node: &Node) {
        let (name, reference) = (name(node), reference(node));
        let note = format!("Deleting node {name} because it does not exist in the cloud provider");
        self.events.publish(&reference, EventType::Normal, "DeletingNode", note).await;
        // As it was seen: a node that reports again meanwhile has another version.
        let seen = Preconditions {
            uid: node.metadata.uid.clone(),
            resource_version: node.metadata.resource_version.clone(),
        };
        match self.context.delete(name, &DeleteParams::default().preconditions(seen)).await {
            Ok(()) => {
                tracing::info!(node = name, "deleted: its instance does not exist");
                self.context.metrics.nodes_deleted.inc();
            }
            Err(Unwritten::Changed) => tracing::info!(node = name, "it has changed, and is looked at again"),
            Err(error) => {
                let note = format!("Error deleting node {name}: {error}");
                self.events.publish(&reference, EventType::Warning, "DeletingNodeFailed", note).await;
            }
        }
    }
}

fn is_shut_down(node: &Node) -> bool {
    taints(node).iter().any(|taint| taint.key == SHUTDOWN)
}

fn taint_patch(node: &Node, shut_down: bool) -> Json {
    let mut taints: Vec<Taint> = taints(node).iter().filter(|taint| taint.key != SHUTDOWN).cloned().collect();
    if shut_down {
        let effect = "NoSchedule".to_owned();
        taints.push(Taint { key: SHUTDOWN.to_owned(), effect, value: None, time_added: None });
    }
    json!({ "metadata": { "resourceVersion": node.metadata.resource_version }, "spec": { "taints": taints } })
}

#[cfg(test)]
mod tests {
    use slipway_resource::provider::Instance;
    use slipway_resource::{ErrorClass, ProviderError};

    use super::*;

    fn present(shutdown: bool) -> InstanceAnswer {
        InstanceAnswer::Present(Instance {
            provider_id: "sim:///a".to_owned(),
            shutdown,
            addresses: Vec::new(),
            instance_type: None,
            zone: None,
            region: None,
            labels: std::collections::BTreeMap::new(),
        })
    }

    #[test]
    fn only_what_the_cloud_says_for_certain_deletes_a_node() {
        let node = |spec: Json| -> Node {
            serde_json::from_value(json!({"metadata": {"name": "n"}, "spec": spec})).unwrap()
        };
        let plain = node(json!({"providerID": "sim:///a"}));
        let tainted =
            node(json!({"providerID": "sim:///a", "taints": [{"key": SHUTDOWN, "effect": "NoSchedule"}]}));
        let nameless = node(json!({}));
        let unreadable = InstanceAnswer::Unreadable(ProviderError::new(ErrorClass::Transient, "no answer"));
        let cases = [
            (&plain, InstanceAnswer::Absent, Fate::Gone),
            (&nameless, InstanceAnswer::Absent, Fate::Stays),
            (&plain, unreadable, Fate::Stays),
            (&plain, present(false), Fate::Stays),
            (&plain, present(true), Fate::Taint(true)),
            (&tainted, present(true), Fate::Stays),
        ];
        for (node, answer, fate) in cases {
            assert_eq!(decide(node, &answer), fate, "{answer:?}");
        }
        assert_eq!(taint_patch(&tainted, false)["spec"]["taints"], json!([]));
        assert_eq!(
            taint_patch(&plain, true)["spec"]["taints"],
            json!([{"key": SHUTDOWN, "effect": "NoSchedule"}])
        );
    }
}
