//! Removing `ManagedCluster` objects of clusters that are gone. A replica does so when it forgets a cluster; this finds those
//! that were left behind because the API server was away then.

use slipway_controller::kube::api::{Api, ListParams};
use slipway_state_store::ClusterName;

use super::connection::{Failure, answered, delete};
use super::managed_cluster::ManagedCluster;
use crate::job;
use crate::shared::Shared;

/// How many objects are listed at once.
const PAGE: u32 = 500;

/// Deletes the objects of this controller whose clusters have no status in the state store.
///
/// # Errors
/// When the API server or the state store does not answer, or refuses.
pub(super) async fn run(shared: &Shared, clusters: &Api<ManagedCluster>) -> Result<(), Failure> {
    let mut parameters = ListParams::default().limit(PAGE);
    loop {
        let page = answered(clusters.list(&parameters)).await?;
        let name = |object: &ManagedCluster| object.metadata.name.clone().unwrap_or_default();
        let is_own = |object: &&ManagedCluster| {
            object.spec.controller == shared.configuration.name && ClusterName::new(name(object)).is_ok()
        };
        let own: Vec<&ManagedCluster> = page.items.iter().filter(is_own).collect();
        let found = job::statuses(shared, own.iter().map(|object| name(object)).collect()).await?;
        for object in own.into_iter().filter(|object| !found.contains_key(&name(object))) {
            tracing::info!(cluster = name(object), "the ManagedCluster of a cluster that is gone is deleted");
            delete(clusters, object).await?;
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => return Ok(()),
        }
    }
}
