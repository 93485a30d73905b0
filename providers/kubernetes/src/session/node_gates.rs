//! Gates of nodes: cordon, drain, verify, by what `slipway-node-gates` asks of the API.

use slipway_node_gates::{Client, Error, Node, Rules};
use slipway_provider_sdk::Ticket;
use slipway_resource::provider::{ApplyEvent, EventSink, PreflightFinding, PreflightItem};
use slipway_resource::{ErrorClass, ProviderError, Value};

use super::KubernetesSession;
use super::wait::Patience;
use crate::api::Connection;

pub(super) fn gates(connection: &Connection) -> Client {
    Client::new(connection.client.clone())
}

/// A failure of a gate; none of them has an effect that may not be had twice.
pub(super) fn failed(error: &Error) -> ProviderError {
    let class = match error {
        Error::Refused { status: 401, .. } => ErrorClass::Unauthenticated,
        Error::Refused { status: 403, method, path, .. } => {
            ErrorClass::Permission { action: format!("{method} {path}") }
        }
        Error::Refused { status: 404, .. } => ErrorClass::NotFound,
        error if error.may_pass() => ErrorClass::Transient,
        _ => ErrorClass::Permanent,
    };
    ProviderError::new(class, error.to_string())
}

impl KubernetesSession {
    /// Evicts what runs on a node, round by round, until nothing is left that has to go.
    ///
    /// # Errors
    /// `dependency` with the budgets that hold it up when the time is over; `cancelled`.
    pub(super) async fn drain(
        &self,
        gates: &Client,
        node: &Node,
        mut patience: Patience,
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<(), ProviderError> {
        let mut told = String::new();
        let mut blocked;
        let mut now = Some(node.clone());
        loop {
            let Some(node) = &now else { return Ok(()) };
            let progress = match gates.evict(node, Rules { budgets: true }).await {
                Ok(round) if round.is_empty() => return Ok(()),
                // Its kubelet does not answer: nobody is there to end the pods that were told to go.
                Ok(round) if !node.ready && round.told == 0 && round.blocked.is_empty() => return Ok(()),
                Ok(round) => {
                    blocked = round.blocked;
                    match blocked.first() {
                        Some(first) => format!("{} pods may not leave yet, {first}", blocked.len()),
                        None => format!("{} pods are leaving", round.told + round.going),
                    }
                }
                Err(error) if error.may_pass() => {
                    blocked = Vec::new();
                    error.to_string()
                }
                Err(error) => return Err(failed(&error)),
            };
            if progress != told {
                events.send(ApplyEvent::Progress(progress.clone()));
                told = progress;
            }
            if !patience.pause(ticket).await? {
                let text = format!("node {} was not empty in time: {told}", node.name);
                let class = if blocked.is_empty() {
                    ErrorClass::Permanent
                } else {
                    ErrorClass::Dependency { blockers: blocked }
                };
                return Err(ProviderError::new(class, text)
                    .with_hint("it is cordoned; change what holds its pods, or give the drain more time"));
            }
            // Its kubelet may have died since.
            match find(gates, &node.name).await {
                Ok(found) => now = found,
                Err(error) if error.class.is_retryable() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// What would hold up the drains of nodes that leave.
    pub(super) async fn node_findings(
        &self,
        leaving: &[&PreflightItem],
    ) -> Result<Vec<PreflightFinding>, ProviderError> {
        if leaving.is_empty() {
            return Ok(Vec::new());
        }
        let Some(connection) = self.connector.connection().await? else { return Ok(Vec::new()) };
        let blockers = match gates(&connection).blockers().await {
            Ok(blockers) => blockers,
            Err(error) if error.may_pass() => return Ok(Vec::new()),
            Err(error) => return Err(failed(&error)),
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

/// The node of an operation, or of a delete.
pub(super) async fn find(gates: &Client, name: &str) -> Result<Option<Node>, ProviderError> {
    gates.node(name).await.map_err(|error| failed(&error))
}

/// The milliseconds in an operation's arguments.
pub(super) fn timeout(arguments: &Value, otherwise: u64) -> u64 {
    let asked = arguments.get("timeout_ms").and_then(Value::as_integer);
    asked.and_then(|asked| u64::try_from(asked).ok()).unwrap_or(otherwise)
}
