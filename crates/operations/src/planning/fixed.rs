//! Settings that a cluster keeps as long as it exists: no provider can change them, because objects in the cluster and nodes have
//! values that were derived from them.

use serde_json::Value as Json;
use slipway_plan::Snapshot;
use slipway_spec::model::Network;

use crate::diagnose;
use crate::error::Error;
use crate::spec::ClusterSpec;
use crate::state::spec_of;

/// The settings of `network`, each with the reason why it cannot change.
const FIXED: &[(&str, &str)] = &[
    ("ipFamily", "nodes and Services keep the address families that they have"),
    ("podCidrs", "nodes keep the ranges of pod addresses that they were given"),
    ("serviceCidrs", "Services keep the addresses that they have, also that of the API inside the cluster"),
    ("dnsAddress", "the Service of the cluster's DNS keeps its address, and running pods ask there"),
    ("clusterDomain", "certificates, token issuers and running pods have names in this domain"),
];

/// Refuses other values of such settings for a cluster that exists: all of them at once, each at its place in the spec.
///
/// # Errors
/// When the spec of the state cannot be read, or the spec has such a value.
pub(super) fn check(prior: Option<&Snapshot>, spec: &ClusterSpec) -> Result<(), Error> {
    let Some(prior) = prior.filter(|prior| !prior.resources.is_empty()) else { return Ok(()) };
    let Some(applied) = spec_of(prior)? else { return Ok(()) };
    let (before, now) = (json(&applied.network)?, json(&spec.cluster.network)?);
    let mut problems = Vec::new();
    for (name, why) in FIXED {
        let value = |network: &Json| network.get(name).map(text).unwrap_or_default();
        let (before, now) = (value(&before), value(&now));
        if before == now {
            continue;
        }
        let field = format!("network.{name}");
        let message = format!(
            "`{field}` of a running cluster cannot change: {before} was applied, and the spec asks for {now}; {why}"
        );
        let hint = format!(
            "write `{name}: {before}`; for another value, create another cluster and move the workloads to it"
        );
        problems.push((message, hint, spec.place(&field).cloned()));
    }
    if problems.is_empty() { Ok(()) } else { Err(diagnose::fixed(problems)) }
}

fn json(network: &Network) -> Result<Json, Error> {
    serde_json::to_value(network)
        .map_err(|error| Error::internal("the network of the spec cannot be written as JSON", error))
}

/// A value as a spec has it on one line.
fn text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Array(items) => format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}
