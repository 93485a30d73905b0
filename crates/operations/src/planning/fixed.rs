//! Settings that a cluster keeps as long as it exists: no provider can change them, because objects in the cluster and nodes have
//! values that were derived from them.

use std::net::IpAddr;

use serde_json::Value as Json;
use slipway_plan::Snapshot;
use slipway_spec::model::{Endpoint, Network};

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

/// The program that hands a virtual address over. It can change together with the address.
const HOLDER: &str = "controlPlane.endpoint.virtualIp.holder";

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
    if let Some(address) = other_holder(&applied.control_plane.endpoint, &spec.cluster.control_plane.endpoint)
    {
        let message = format!(
            "`{HOLDER}` of a running cluster cannot change while the address stays: two programs would answer for {address}"
        );
        let hint = "apply the spec with another endpoint first, such as `endpoint: { elected: {} }`; then apply this spec";
        problems.push((message, hint.to_owned(), spec.place(HOLDER).cloned()));
    }
    if problems.is_empty() { Ok(()) } else { Err(diagnose::fixed(problems)) }
}

/// The virtual address, if it stays and another program hands it over.
fn other_holder(before: &Endpoint, now: &Endpoint) -> Option<IpAddr> {
    match (before, now) {
        (Endpoint::VirtualIp(before), Endpoint::VirtualIp(now)) => {
            (before.address == now.address && before.holder != now.holder).then_some(now.address)
        }
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_address_has_one_holder_as_long_as_it_stays() {
        let endpoint = |text: &str| -> Endpoint { serde_json::from_str(text).unwrap() };
        let kube_vip = endpoint(r#"{ "virtualIp": { "address": "10.0.0.40" } }"#);
        let slipway = endpoint(r#"{ "virtualIp": { "address": "10.0.0.40", "holder": "slipway" } }"#);
        let moved = endpoint(r#"{ "virtualIp": { "address": "10.0.0.41", "holder": "slipway" } }"#);
        let elected = endpoint(r#"{ "elected": {} }"#);
        let address: Option<IpAddr> = "10.0.0.40".parse().ok();
        assert_eq!(other_holder(&kube_vip, &slipway), address);
        assert_eq!(other_holder(&slipway, &kube_vip), address);
        for (before, now) in [
            (&kube_vip, &kube_vip),
            (&slipway, &moved),
            (&kube_vip, &moved),
            (&elected, &slipway),
            (&slipway, &elected),
        ] {
            assert_eq!(other_holder(before, now), None, "{before:?} {now:?}");
        }
    }
}
