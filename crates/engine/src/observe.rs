//! Reads what exists, in few calls: by ownership, then by identity what ownership does not find.

use std::collections::BTreeMap;

use slipway_plan::{Observations, ProviderHandle, Providers, Snapshot};
use slipway_resource::provider::{DiscoverRequest, ReadRequest};
use slipway_resource::{ClusterUid, Desired};
use tokio::time::Instant;

use crate::error::Error;

/// What was found, and when.
#[derive(Debug)]
pub struct Observed {
    /// The objects by address.
    pub observations: Observations,
    /// The cluster's unique id in the ownership of what was found, when the state does not have it.
    pub uid: Option<ClusterUid>,
    /// When reading began.
    pub at: Instant,
}

/// Reads everything that a plan for the cluster needs to know. Changes nothing.
///
/// The number of calls depends on the number of resource types and on how many objects ownership does not
/// find, in batches; not on the number of resources.
///
/// # Errors
/// When a provider cannot be asked at all. What only cannot be read is in the observations.
pub async fn observe(
    cluster: &str,
    providers: &Providers,
    prior: Option<&Snapshot>,
    desired: &[Desired],
) -> Result<Observed, Error> {
    let at = Instant::now();
    let mut observations = Observations::default();
    let mut uid = prior.map(|prior| prior.uid.clone());
    for (name, handle) in providers.iter() {
        let request =
            DiscoverRequest { uid: prior.map(|prior| prior.uid.clone()), cluster: cluster.to_owned() };
        let discovery = handle.session.discover(request).await;
        let discovery = discovery.map_err(|error| Error::provider(name, "list what it owns", error))?;
        uid = uid.or_else(|| discovery.uid.clone());
        observations.add_discovery(discovery);
    }
    for (name, requests) in unseen(providers, prior, desired, &observations) {
        let Some(handle) = providers.get(&name) else { continue };
        for answer in read_batched(&name, handle, requests).await? {
            observations.add_read(answer);
        }
    }
    Ok(Observed { observations, uid, at })
}

/// What is remembered or named by the spec, and was not found by ownership.
fn unseen(
    providers: &Providers,
    prior: Option<&Snapshot>,
    desired: &[Desired],
    observations: &Observations,
) -> BTreeMap<String, Vec<ReadRequest>> {
    let remembered = prior.into_iter().flat_map(|prior| &prior.resources).flat_map(|(address, record)| {
        std::iter::once(&record.identity).chain(&record.deposed).map(move |identity| (address, identity))
    });
    let named = desired.iter().filter_map(|desired| {
        desired.lifecycle.existing.as_ref().map(|identity| (&desired.address, identity))
    });
    let mut requests: BTreeMap<String, Vec<ReadRequest>> = BTreeMap::new();
    for (address, identity) in remembered.chain(named) {
        let Some((name, _, _)) = providers.of_type(address.kind()) else { continue };
        if !observations.contains(address, identity) {
            let request = ReadRequest { address: address.clone(), identity: identity.clone() };
            requests.entry(name.to_owned()).or_default().push(request);
        }
    }
    requests
}

/// Reads objects in batches as large as the provider takes; one answer for each, under what was asked for.
///
/// # Errors
/// When nothing can be read at all.
pub(crate) async fn read_batched(
    name: &str,
    handle: &ProviderHandle,
    requests: Vec<ReadRequest>,
) -> Result<Vec<slipway_resource::Observed>, Error> {
    let mut found = Vec::with_capacity(requests.len());
    for batch in requests.chunks(handle.info.batch.max(1) as usize) {
        let answers = handle.session.read(batch.to_vec()).await;
        let answers = answers.map_err(|error| Error::provider(name, "read what it owns", error))?;
        for (request, mut answer) in batch.iter().zip(answers) {
            // The answer stands for what was asked, whatever tags the object has.
            answer.address = request.address.clone();
            answer.identity = request.identity.clone();
            found.push(answer);
        }
    }
    Ok(found)
}
