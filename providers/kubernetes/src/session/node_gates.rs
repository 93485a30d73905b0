//! Gates of nodes: verify, cordon, drain.

use std::time::Duration;

use slipway_provider_sdk::Ticket;
use slipway_resource::provider::{
    Applied, ApplyEvent, ApplyRequest, EventSink, NodeReference, OnBlocked, PreflightFinding, PreflightItem,
    operation,
};
use slipway_resource::{ErrorClass, Identity, Path, ProviderError, Value, provider};
use tokio::time::Instant;

use super::KubernetesSession;
use super::serving::known;
use super::wait::Patience;
use crate::api::Connection;
use crate::gates::{Node, Rules};
use crate::manifest::invalid;
use crate::node;
use crate::object::{ObjectIdentity, ObjectKey};
use crate::schema::APPROVE_SERVING;

/// How long a drain takes if its arguments do not say: 15 minutes.
const DRAIN_MS: u64 = 900_000;
/// How long the removal of a node waits until the other members of etcd vote: 5 minutes.
const VOTES_MS: u64 = 300_000;
/// How much of the time of a drain is left for pods that are deleted at its end.
const FORCED_MS: u64 = 60_000;

/// Whether a node is cordoned for a change only.
fn is_temporary(arguments: &Value) -> bool {
    arguments.get(operation::TEMPORARY).and_then(Value::as_bool).unwrap_or_default()
}

/// How a node is drained.
pub(super) struct Drain {
    /// How long pods are evicted.
    evict_ms: u64,
    /// How long the drain may take; 0 for no limit.
    limit_ms: u64,
    /// Whether pods are deleted instead of evicted.
    ignore_budgets: bool,
    /// What happens when the node is not empty in time.
    on_blocked: OnBlocked,
}

impl Drain {
    /// A drain within the budgets that fails if the node is not empty in time.
    pub(super) fn within(limit_ms: u64) -> Self {
        Self { evict_ms: limit_ms, limit_ms, ignore_budgets: false, on_blocked: OnBlocked::Fail }
    }

    /// The drain that the arguments of the operation ask for.
    fn of(arguments: &Value, request: &ApplyRequest) -> Self {
        let limit_ms = timeout(arguments, DRAIN_MS);
        let limit_ms = if request.timeout_ms > 0 { limit_ms.min(request.timeout_ms) } else { limit_ms };
        let on_blocked = arguments.get("on_blocked").and_then(Value::as_str).map(OnBlocked::of);
        let on_blocked = on_blocked.unwrap_or_default();
        let forced = if on_blocked == OnBlocked::Force { FORCED_MS.min(limit_ms / 4) } else { 0 };
        let ignore_budgets = arguments.get("ignore_budgets").and_then(Value::as_bool).unwrap_or_default();
        Self { evict_ms: limit_ms - forced, limit_ms, ignore_budgets, on_blocked }
    }
}

impl KubernetesSession {
    /// All nodes of the cluster, with the budgets that block their drains.
    pub(super) async fn list_nodes(&self) -> Result<Vec<provider::Node>, ProviderError> {
        // Without an API, the nodes are unknown, which is not the same as no nodes.
        let connection = self.of_nodes().required().await?;
        let read = async { tokio::try_join!(connection.nodes(), connection.blockers()) };
        let (nodes, mut blockers) = read.await.map_err(|error| self.of_nodes().advised(error))?;
        let of = |node: Node| provider::Node {
            identity: node::identity_of(&key(&node.name)),
            provider_id: (!node.provider_id.is_empty()).then_some(node.provider_id),
            ready: node.ready,
            blockers: blockers.remove(&node.name).unwrap_or_default(),
            name: node.name,
        };
        let mut nodes: Vec<provider::Node> = nodes.into_iter().map(of).collect();
        nodes.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(nodes)
    }

    pub(super) async fn gate(
        &self,
        connection: &Connection,
        request: &ApplyRequest,
        (identity, name, arguments): (&Identity, &str, &Value),
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<Applied, ProviderError> {
        if name == operation::VERIFY
            && let Some(named) = arguments.get(operation::NODE)
        {
            let reference = NodeReference::of_value(named)
                .ok_or_else(|| invalid("the argument node of verify is neither a name nor a provider id"))?;
            let mut patience = Patience::new(timeout(arguments, request.timeout_ms));
            let found = self.joined(connection, &reference, &mut patience, events, ticket).await?;
            return self.verify(connection, &key(&found), arguments, patience, events, ticket).await;
        }
        let parsed = ObjectIdentity::parse(identity)?;
        let node = connection.node(&parsed.key.name).await?;
        let found = |ready: bool| state(&parsed.key, ready);
        match (name, node) {
            // A node that does not exist gets no pods, and is empty.
            (operation::CORDON | operation::DRAIN, None) => Ok(found(false)),
            (operation::CORDON, Some(node)) => {
                let patience = Patience::new(timeout(arguments, VOTES_MS));
                self.etcd_does_without(connection, &node, patience, events, ticket).await?;
                match is_temporary(arguments) {
                    true => connection.cordon_for_a_change(&node).await?,
                    false => connection.cordon(&node).await?,
                }
                Ok(found(node.ready))
            }
            (operation::DRAIN, Some(node)) => {
                let drain = Drain::of(arguments, request);
                self.drain(connection, &node, drain, events, ticket).await?;
                Ok(found(node.ready))
            }
            (operation::UNCORDON, Some(node)) => {
                match is_temporary(arguments) {
                    true => connection.uncordon_after_a_change(&node).await?,
                    false => connection.uncordon(&node).await?,
                }
                Ok(found(node.ready))
            }
            (operation::VERIFY, _) => {
                let mut patience = Patience::new(timeout(arguments, request.timeout_ms));
                self.registered(connection, &parsed.key, &mut patience, events, ticket).await?;
                self.verify(connection, &parsed.key, arguments, patience, events, ticket).await
            }
            (APPROVE_SERVING, node) => {
                let known = known(arguments).unwrap_or_default();
                let approvals = self.approve_serving(connection, &parsed.key.name, &known).await?;
                let mut applied = found(node.is_some_and(|node| node.ready));
                applied.attributes.set(&Path::key("approved"), Value::Integer(approvals.approved as i64));
                applied.attributes.set(&Path::key("denied"), Value::list(approvals.denied));
                Ok(applied)
            }
            (operation::UNCORDON, None) => {
                let text = format!("node {} does not exist", parsed.key.name);
                Err(ProviderError::new(ErrorClass::NotFound, text))
            }
            _ => Err(invalid(format!("{name} is not an operation of kubernetes_node"))),
        }
    }

    /// Waits until the node of a new machine has registered. Returns its name.
    async fn joined(
        &self,
        connection: &Connection,
        reference: &NodeReference,
        patience: &mut Patience,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<String, ProviderError> {
        let mut reported = String::new();
        loop {
            let missing = match connection.nodes().await {
                Ok(nodes) => {
                    let is = |node: &&Node| reference.is(&node.name, Some(&node.provider_id));
                    match nodes.iter().find(is) {
                        Some(node) => return Ok(node.name.clone()),
                        None => "it has not joined the cluster".to_owned(),
                    }
                }
                Err(error) if error.class.is_retryable() => error.message,
                Err(error) => return Err(error),
            };
            if missing != reported {
                events.send(ApplyEvent::Progress(format!("{reference}: {missing}")));
                reported = missing;
            }
            if !patience.pause(ticket).await? {
                let text = format!("{reference} did not become ready in time: {reported}");
                return Err(ProviderError::new(ErrorClass::Permanent, text).with_hint(
                    "look at the console output of the machine, then apply again; the machines that it replaces still run",
                ));
            }
        }
    }

    /// Waits until a node is ready, and has stayed ready as long as the arguments ask for.
    async fn verify(
        &self,
        connection: &Connection,
        key: &ObjectKey,
        arguments: &Value,
        mut patience: Patience,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<Applied, ProviderError> {
        let names = known(arguments);
        let settle = Duration::from_millis(milliseconds(arguments, "settle_ms").unwrap_or_default());
        loop {
            self.serves(connection, key, (true, names.as_deref()), &mut patience, events, ticket).await?;
            self.votes(connection, key, &mut patience, events, ticket).await?;
            if settle.is_zero() || self.stays_ready(connection, key, settle, events, ticket).await? {
                return Ok(state(key, true));
            }
        }
    }

    /// Waits until the member of etcd on a node votes; a node without one is not waited for.
    async fn votes(
        &self,
        connection: &Connection,
        key: &ObjectKey,
        patience: &mut Patience,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<(), ProviderError> {
        let mut is_told = false;
        loop {
            match connection.lacks_vote(&key.name).await {
                Ok(false) => return Ok(()),
                Ok(true) if !is_told => {
                    let text = "it is ready, and its member of etcd does not vote yet".to_owned();
                    events.send(ApplyEvent::Progress(text));
                    is_told = true;
                }
                Ok(true) => {}
                Err(error) if error.class.is_retryable() => {}
                Err(error) => return Err(error),
            }
            if !patience.pause(ticket).await? {
                let text = format!("the member of etcd on node {} does not vote in time", key.name);
                return Err(ProviderError::new(ErrorClass::Permanent, text)
                    .with_hint("look at the pod of etcd on this node; no other control plane was removed"));
            }
        }
    }

    /// Waits until etcd does without the member of a node that leaves: all other members vote.
    ///
    /// # Errors
    /// `dependency` with the reason when they do not in time; `cancelled`.
    async fn etcd_does_without(
        &self,
        connection: &Connection,
        node: &Node,
        mut patience: Patience,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<(), ProviderError> {
        let mut reported = String::new();
        loop {
            let why = match connection.etcd_needs(&node.name).await {
                Ok(None) => return Ok(()),
                Ok(Some(why)) => why,
                Err(error) if error.class.is_retryable() => error.message,
                Err(error) => return Err(error),
            };
            if why != reported {
                events.send(ApplyEvent::Progress(why.clone()));
                reported.clone_from(&why);
            }
            if !patience.pause(ticket).await? {
                let text = format!("node {} is not removed: {why}", node.name);
                return Err(ProviderError::new(ErrorClass::Dependency { blockers: vec![why] }, text).with_hint(
                    "look at the control planes whose member does not vote, then apply again; etcd has a majority now",
                ));
            }
        }
    }

    /// Whether a ready node stays ready for a time.
    async fn stays_ready(
        &self,
        connection: &Connection,
        key: &ObjectKey,
        settle: Duration,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<bool, ProviderError> {
        let since = Instant::now();
        let text = format!("it is ready, and must stay ready for {} s", settle.as_secs());
        events.send(ApplyEvent::Progress(text));
        let mut patience = Patience::new(u64::try_from(settle.as_millis()).unwrap_or(u64::MAX));
        while since.elapsed() < settle {
            patience.pause(ticket).await?;
            match connection.node(&key.name).await {
                Ok(Some(node)) if node.ready => {}
                Ok(_) => return Ok(false),
                // The API may not answer for a moment.
                Err(error) if error.class.is_retryable() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Evicts the pods of a node, round by round, until no pod is left that must leave.
    ///
    /// # Errors
    /// `dependency` with the budgets that block it when the time is over; `cancelled`.
    pub(super) async fn drain(
        &self,
        connection: &Connection,
        node: &Node,
        drain: Drain,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<(), ProviderError> {
        let mut reported = String::new();
        let mut blocked;
        let mut now = Some(node.clone());
        let mut patience = Patience::new(drain.evict_ms);
        let mut ignore_budgets = drain.ignore_budgets;
        loop {
            let Some(node) = &now else { return Ok(()) };
            let progress = match connection.evict(node, Rules { budgets: !ignore_budgets }).await {
                Ok(round) if round.is_empty() => return Ok(()),
                // Its kubelet does not answer: pods that are to be deleted are never reported as deleted.
                Ok(round) if !node.ready && round.asked == 0 && round.blocked.is_empty() => return Ok(()),
                Ok(round) => {
                    blocked = round.blocked;
                    match blocked.first() {
                        Some(first) => format!("{} pods may not leave yet, {first}", blocked.len()),
                        None => format!("{} pods are leaving", round.asked + round.going),
                    }
                }
                Err(error) if error.class.is_retryable() => {
                    blocked = Vec::new();
                    error.message
                }
                Err(error) => return Err(error),
            };
            if progress != reported {
                events.send(ApplyEvent::Progress(progress.clone()));
                reported = progress;
            }
            if !patience.pause(ticket).await? {
                match drain.on_blocked {
                    OnBlocked::Force if !ignore_budgets => {
                        events.send(ApplyEvent::Progress("the pods that are left are deleted".to_owned()));
                        ignore_budgets = true;
                        patience = Patience::new((drain.limit_ms - drain.evict_ms).max(1));
                    }
                    OnBlocked::Skip => {
                        let text =
                            format!("node {} is not empty: {reported}; its machine is removed", node.name);
                        events.send(ApplyEvent::Progress(text));
                        return Ok(());
                    }
                    OnBlocked::Fail | OnBlocked::Force => return Err(not_empty(node, &reported, blocked)),
                }
            }
            // Its kubelet may have died since.
            match connection.node(&node.name).await {
                Ok(found) => now = found,
                Err(error) if error.class.is_retryable() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Findings about the drains of nodes that leave: their blockers.
    pub(super) async fn node_findings(
        &self,
        leaving: &[&PreflightItem],
    ) -> Result<Vec<PreflightFinding>, ProviderError> {
        if leaving.is_empty() {
            return Ok(Vec::new());
        }
        let Some(connection) = self.connector.connection().await? else { return Ok(Vec::new()) };
        let blockers = match connection.blockers().await {
            Ok(blockers) => blockers,
            Err(error) if error.class.is_retryable() => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let finding = |item: &&PreflightItem| {
            let name = item.address.name();
            let held = blockers.get(name)?;
            Some(PreflightFinding {
                address: Some(item.address.clone()),
                class: ErrorClass::Dependency { blockers: held.clone() },
                message: format!("node {name} cannot be drained now: {}", held.join("; ")),
                hint: Some("start more of the pods that the budget counts, or change the budget".to_owned()),
            })
        };
        Ok(leaving.iter().filter_map(finding).collect())
    }
}

fn not_empty(node: &Node, reported: &str, blocked: Vec<String>) -> ProviderError {
    let text = format!("node {} was not empty in time: {reported}", node.name);
    let class =
        if blocked.is_empty() { ErrorClass::Permanent } else { ErrorClass::Dependency { blockers: blocked } };
    ProviderError::new(class, text).with_hint(
        "the node is cordoned and still runs; change what holds its pods, or give the drain more time, then apply again",
    )
}

/// The key of a node in the API.
fn key(name: &str) -> ObjectKey {
    ObjectKey { kind: node::kind(), namespace: String::new(), name: name.to_owned() }
}

/// The answer of a gate: the node, and whether it is ready.
fn state(key: &ObjectKey, ready: bool) -> Applied {
    let attributes = [("name", Value::from(key.name.as_str())), ("ready", ready.into())];
    Applied::new(node::identity_of(key), Value::map(attributes))
}

/// The time in the arguments of an operation.
fn timeout(arguments: &Value, otherwise: u64) -> u64 {
    milliseconds(arguments, "timeout_ms").unwrap_or(otherwise)
}

fn milliseconds(arguments: &Value, name: &str) -> Option<u64> {
    arguments.get(name).and_then(Value::as_integer).and_then(|number| u64::try_from(number).ok())
}
