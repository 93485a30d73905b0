//! The ends of the certificates that Slipway made on machines.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use slipway_engine::State;
use slipway_plan::ProviderHandle;
use slipway_resource::provider::ReadRequest;
use slipway_resource::{Observation, Value};

use super::{Health, Phase, machine_of};
use crate::opened::Opened;

/// The attribute in which a type says when its certificate ends.
const END: &str = "not_after";

/// A certificate on a machine. Kubelets renew their own, which are not among them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CertificateEnd {
    /// When it ends.
    pub ends: Timestamp,
    /// The address of its resource.
    pub address: String,
}

/// Reads the ends of all certificates on the machines of a cluster, the next one to end first. While the API answers, machines whose
/// node is not ready are left out: the report says why they are not ready, and they may not answer.
pub async fn certificates(opened: &Opened, health: &Health) -> Vec<CertificateEnd> {
    let Some(state) = &opened.state else { return Vec::new() };
    let is_asked = |phase: Phase| health.api.is_some() || phase == Phase::Ready;
    let nodes = health.nodes.iter().filter(|node| is_asked(node.phase));
    let machines: BTreeSet<&str> = nodes.map(|node| node.name.as_str()).collect();
    let mut found = Vec::new();
    for (handle, requests) in requests(opened, state, &machines) {
        // The report on a machine says why it cannot be read.
        let Ok(answers) = handle.session.read(requests).await else { continue };
        for answer in answers {
            let Observation::Present(seen) = &answer.observation else { continue };
            let end = seen.get(END).and_then(Value::as_str).and_then(|end| end.parse().ok());
            found.extend(end.map(|ends| CertificateEnd { ends, address: answer.address.to_string() }));
        }
    }
    found.sort();
    found
}

/// The requests for all certificates on these machines, one batch for each provider.
fn requests<'a>(
    opened: &'a Opened,
    state: &State,
    machines: &BTreeSet<&str>,
) -> Vec<(&'a ProviderHandle, Vec<ReadRequest>)> {
    let mut batches: BTreeMap<&str, (&ProviderHandle, Vec<ReadRequest>)> = BTreeMap::new();
    for (address, record) in &state.snapshot.resources {
        let Some((provider, handle, kind)) = opened.providers().of_type(address.kind()) else { continue };
        if kind.attributes.contains_key(END) && machines.contains(machine_of(address)) {
            let request = ReadRequest { address: address.clone(), identity: record.identity.clone() };
            batches.entry(provider).or_insert_with(|| (handle, Vec::new())).1.push(request);
        }
    }
    batches.into_values().collect()
}
