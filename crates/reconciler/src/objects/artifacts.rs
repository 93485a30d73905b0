//! Offering plans that wait as `ExternalArtifact` objects of Flux: each replica those of its clusters.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::json;
use slipway_controller::kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, Preconditions,
};
use slipway_controller::kube::{self, Resource as _};
use slipway_resource::with_causes;
use slipway_state_store::Digest;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::MANAGER;
use super::connection::{Connection, Failure, answered};
use super::managed_cluster::ManagedCluster;
use super::queue::Queue;
use crate::metrics::outcome;
use crate::plan_archive;
use crate::status::{Reason, Status};
use crate::threads::Threads;

/// The label of objects that belong to the controller. Others are left alone.
const LABEL: &str = "app.kubernetes.io/managed-by";

/// A plan that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// The digits of its digest.
    digits: String,
    /// The generation of the state that it was made for.
    generation: u64,
    /// When it was made.
    when: Timestamp,
}

impl Offer {
    /// The plan that waits by the status of its cluster; `None` if there is none, or if it is not stored.
    pub fn of(status: &Status) -> Option<Self> {
        let plan = status.plan.as_ref().filter(|plan| !plan.place.is_empty())?;
        // The plan of a spec or a cluster that is gone does not wait.
        let waits = status.ends_with_run() && !status.is_about_spec() && !status.is(Reason::Deleted);
        waits.then(|| Self {
            digits: plan.digest.trim_start_matches("sha256:").to_owned(),
            generation: plan.generation,
            when: plan.when,
        })
    }
}

/// Writes what waits until the stop. What is not written then is written by the next process.
pub(super) async fn run(connection: &Connection, queue: Queue<Option<Offer>>, stop: &CancellationToken) {
    let configuration = &connection.shared.configuration;
    let settings = configuration.kubernetes.as_ref().and_then(|settings| settings.plans.as_ref());
    let Some(settings) = settings else { return };
    let publisher = Publisher::new(connection, &settings.url);
    // What was written last, by the name of the cluster.
    let mut known: BTreeMap<String, Option<Offer>> = BTreeMap::new();
    let mut failures = 0_u32;
    while !stop.is_cancelled() {
        let batch = tokio::select! {
            () = stop.cancelled() => return,
            batch = queue.next() => batch,
        };
        let mut is_failed = false;
        for (cluster, offer) in batch {
            // Another replica may have offered a plan since this one deleted the object.
            if offer.is_some() && known.get(&cluster) == Some(&offer) {
                continue;
            }
            let written = tokio::select! {
                () = stop.cancelled() => return,
                written = publisher.write(&cluster, offer.as_ref()) => written,
            };
            let how = if written.is_ok() { "written" } else { "failed" };
            connection.shared.metrics.objects.get_or_create(&outcome(how)).inc();
            match written {
                Ok(()) => {
                    known.insert(cluster, offer);
                }
                Err(error) => {
                    if failures == 0 && !is_failed {
                        tracing::warn!(cluster, %error, "the ExternalArtifact of a plan cannot be written");
                    }
                    is_failed = true;
                    queue.give_back(cluster, offer);
                }
            }
        }
        failures = if is_failed { failures.saturating_add(1) } else { 0 };
        if is_failed {
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep(configuration.retry.wait(failures, "plans")) => {}
            }
        }
    }
}

/// Writes the objects.
struct Publisher<'a> {
    connection: &'a Connection,
    /// The URL at which consumers find the archives.
    url: &'a str,
    resource: ApiResource,
    objects: Api<DynamicObject>,
    threads: Threads,
}

impl<'a> Publisher<'a> {
    fn new(connection: &'a Connection, url: &'a str) -> Self {
        let kind = GroupVersionKind::gvk("source.toolkit.fluxcd.io", "v1", "ExternalArtifact");
        let resource = ApiResource::from_gvk_with_plural(&kind, "externalartifacts");
        let objects = Api::namespaced_with(connection.client.clone(), &connection.namespace, &resource);
        Self { connection, url: url.trim_end_matches('/'), resource, objects, threads: Threads::default() }
    }

    /// Writes the object of a cluster, or deletes it.
    async fn write(&self, cluster: &str, offer: Option<&Offer>) -> Result<(), Failure> {
        let found = answered(self.objects.get_opt(cluster)).await?;
        if found.as_ref().is_some_and(|object| !is_own(object)) {
            if offer.is_some() {
                tracing::warn!(
                    cluster,
                    "the ExternalArtifact of this name is not of a controller of Slipway"
                );
            }
            return Ok(());
        }
        let packed = match offer {
            Some(offer) => self.packed(cluster, offer).await?.map(|bytes| (offer, bytes)),
            None => None,
        };
        match (packed, found) {
            (Some((offer, bytes)), _) => self.publish(cluster, offer, &bytes).await,
            (None, Some(object)) => self.delete(&object).await,
            (None, None) => Ok(()),
        }
    }

    /// The archive of a plan; `None` if it is not stored any more.
    async fn packed(&self, cluster: &str, offer: &Offer) -> Result<Option<Vec<u8>>, Failure> {
        let environment = self.connection.shared.untrusted_environment(cluster);
        let reference = format!("{cluster}/{}", offer.digits);
        match plan_archive::of_stored(&self.threads, environment, reference).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(slipway_operations::Error::StoredPlan { .. }) => Ok(None),
            Err(error) => Err(Failure::Plan(with_causes(&error))),
        }
    }

    async fn publish(&self, cluster: &str, offer: &Offer, bytes: &[u8]) -> Result<(), Failure> {
        let (version, kind) = (&self.resource.api_version, &self.resource.kind);
        let parameters = PatchParams::apply(MANAGER).force();
        let object = json!({
            "apiVersion": version, "kind": kind,
            "metadata": {"name": cluster, "labels": {LABEL: MANAGER}},
            "spec": {"sourceRef": {
                "apiVersion": ManagedCluster::api_version(&()), "kind": ManagedCluster::kind(&()),
                "namespace": self.connection.namespace, "name": cluster,
            }},
        });
        let applied = answered(self.objects.patch(cluster, &parameters, &Patch::Apply(&object))).await?;
        let path = plan_archive::path(cluster, &offer.digits);
        let when = offer.when.to_string();
        let object = json!({
            "apiVersion": version, "kind": kind, "metadata": {"name": cluster},
            "status": {
                "artifact": {
                    "url": format!("{}/{path}", self.url),
                    "path": path,
                    "revision": format!("generation-{}@sha256:{}", offer.generation, offer.digits),
                    "digest": Digest::of(bytes).to_string(),
                    "size": bytes.len(),
                    "lastUpdateTime": when,
                },
                "conditions": [{
                    "type": "Ready", "status": "True", "reason": "Succeeded",
                    "message": format!("the plan of {cluster} that waits"),
                    "observedGeneration": applied.metadata.generation,
                    "lastTransitionTime": when,
                }],
            },
        });
        let patch = Patch::Apply(&object);
        answered(self.objects.patch_status(cluster, &parameters, &patch)).await.map(drop)
    }

    /// Deletes an object, if it is still the one that was read.
    async fn delete(&self, object: &DynamicObject) -> Result<(), Failure> {
        let preconditions = Preconditions { uid: object.metadata.uid.clone(), resource_version: None };
        let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let name = object.metadata.name.as_deref().unwrap_or_default();
        match answered(self.objects.delete(name, &parameters)).await {
            // It is gone, or another one has its name.
            Err(Failure::Api(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => Ok(()),
            other => other.map(drop),
        }
    }
}

/// Whether an object belongs to a controller of Slipway.
fn is_own(object: &DynamicObject) -> bool {
    let labels = object.metadata.labels.as_ref();
    labels.and_then(|labels| labels.get(LABEL)).is_some_and(|manager| manager == MANAGER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Facts;
    use crate::status::LastPlan;

    #[test]
    fn only_stored_plans_that_wait_are_offered() {
        let plan = |place: &str| LastPlan {
            digest: "sha256:0123".to_owned(),
            generation: 3,
            when: Timestamp::UNIX_EPOCH,
            facts: Facts::default(),
            place: place.to_owned(),
            approvals: 0,
            needed: 0,
        };
        let status = |place: &str, reason| {
            let mut status = Status { plan: Some(plan(place)), ..Status::default() };
            status.tell(reason, "", Timestamp::UNIX_EPOCH);
            Offer::of(&status)
        };
        let offer = status("state:prod/0123", Reason::ApprovalNeeded).unwrap();
        assert_eq!((offer.digits.as_str(), offer.generation), ("0123", 3));
        assert_eq!(status("", Reason::PlanOnly), None, "an untrusted plan is not stored");
        assert_eq!(status("state:prod/0123", Reason::InSync), None);
        assert_eq!(status("state:prod/0123", Reason::Applying), None);
    }
}
