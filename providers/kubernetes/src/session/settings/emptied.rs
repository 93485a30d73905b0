//! Nodes that are emptied before their machines change, because the change leaves less for their pods.

use futures_util::future::join_all;
use slipway_resource::ProviderError;
use slipway_resource::provider::ApplyEvent;

use super::Way;
use super::report::Seen;
use crate::session::node_gates::Drain;

/// How long the drains of a turn may take, in milliseconds: half of the time that a turn has.
const DRAIN_MS: u64 = 300_000;

/// Cordons and drains nodes within the disruption budgets, all at once.
///
/// # Errors
/// `dependency` with the budgets when a node is not empty in time; `cancelled`; or as the API says.
pub(super) async fn empty(way: &Way<'_>, nodes: &[&Seen]) -> Result<(), ProviderError> {
    let mut drains = Vec::new();
    for seen in nodes {
        drains.push(one(way, &seen.name));
    }
    join_all(drains).await.into_iter().collect()
}

async fn one(way: &Way<'_>, name: &str) -> Result<(), ProviderError> {
    let Some(node) = way.connection.node(name).await? else { return Ok(()) };
    way.connection.cordon_for_a_change(&node).await?;
    way.events.send(ApplyEvent::Progress(format!("node {name} is drained before its settings change")));
    let drain = Drain::within(DRAIN_MS);
    let drained = way.session.drain(way.connection, &node, drain, way.events, way.ticket).await;
    drained.map_err(|error| {
        error.with_hint("the node takes pods again; change what holds its pods, then apply again")
    })
}

/// Lets nodes take pods again that were cordoned for their change. Nodes that were cordoned before stay cordoned.
///
/// # Errors
/// As the API says.
pub(super) async fn open(way: &Way<'_>, nodes: &[Seen]) -> Result<(), ProviderError> {
    for seen in nodes {
        if let Some(node) = way.connection.node(&seen.name).await? {
            way.connection.uncordon_after_a_change(&node).await?;
        }
    }
    Ok(())
}
