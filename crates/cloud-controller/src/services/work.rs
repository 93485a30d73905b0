//! The work on one Service: calls to the provider, writes of the Service, and events, in the order of upstream.

use std::time::{Duration, Instant};

use slipway_controller::k8s_openapi::api::core::v1::{LoadBalancerStatus, Service};
use slipway_controller::kube::api::{Api, Patch, PatchParams};
use slipway_controller::kube::{Client, Resource as _};
use slipway_controller::{EventType, Events};
use slipway_resource::{ErrorClass, ProviderError};

use super::desired::{Unusable, desired, key};
use super::desk::{Job, Outcome, Task};
use super::difference::{Difference, has_finalizer};
use super::status::{finalizer_patch, shown, status, status_patch};
use crate::context::Context;
use crate::writing::Unwritten;

/// At most so many names of nodes are in an event.
const NAMES: usize = 20;

/// Why a job failed. The texts are those of upstream, as far as it has them.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("failed to check if load balancer exists before cleanup: {0}")]
    Check(ProviderError),
    #[error("failed to delete load balancer: {0}")]
    Delete(ProviderError),
    #[error("failed to ensure load balancer: {0}")]
    Ensure(ProviderError),
    #[error("failed to ensure load balancer: {0}")]
    Unusable(#[from] Unusable),
    #[error("{0}")]
    Update(ProviderError),
    #[error("the load balancer does not exist any more")]
    Missing,
    #[error("the service was not written: {0}")]
    Unwritten(#[from] Unwritten),
}

impl Failure {
    fn outcome(&self) -> Outcome {
        match self {
            // A load balancer that was deleted by somebody else is created again.
            Self::Missing | Self::Unwritten(Unwritten::Changed) => Outcome::Changed,
            Self::Check(error) | Self::Delete(error) | Self::Ensure(error) | Self::Update(error) => {
                let after = match error.class {
                    ErrorClass::Throttled { retry_after_ms, .. } => retry_after_ms,
                    _ => None,
                };
                Outcome::Failed(after.map(Duration::from_millis))
            }
            Self::Unusable(_) | Self::Unwritten(Unwritten::Api(_)) => Outcome::Failed(None),
        }
    }
}

/// Does the work on Services.
pub(super) struct Worker<'a> {
    context: &'a Context,
    client: Client,
    events: Events,
}

impl<'a> Worker<'a> {
    pub(super) fn new(context: &'a Context) -> Self {
        Self { context, client: context.client.clone(), events: context.events("service-controller") }
    }

    /// Does a job. A failure is logged and published as an event.
    pub(super) async fn run(&self, job: &Job) -> Outcome {
        if let Some(Difference::Told { reason, note }) = &job.difference {
            self.event(job, EventType::Normal, reason, note.clone()).await;
        }
        self.context.metrics.balancer_syncs.inc();
        let outcome = match job.task {
            Task::Ensure => self.ensure(job).await,
            Task::CleanUp => self.clean_up(job).await,
            Task::Forget => self.forget(job).await,
            Task::UpdateNodes => self.update_nodes(job).await,
        };
        let Err(failure) = outcome else { return Outcome::Done };
        let outcome = failure.outcome();
        if outcome == Outcome::Changed {
            tracing::info!(service = job.key, reason = %failure, "the service is looked at again");
            return outcome;
        }
        tracing::warn!(service = job.key, task = ?job.task, error = %failure, "the load balancer is not in sync");
        if job.task == Task::UpdateNodes {
            self.context.metrics.node_sync_errors.inc();
        } else {
            let note = format!("Error syncing load balancer: {failure}");
            self.event(job, EventType::Warning, "SyncLoadBalancerFailed", note).await;
        }
        outcome
    }

    async fn ensure(&self, job: &Job) -> Result<(), Failure> {
        self.event(job, EventType::Normal, "EnsuringLoadBalancer", "Ensuring load balancer".to_owned()).await;
        let written = match has_finalizer(&job.service) {
            true => None,
            false => Some(self.patch(&job.service, &finalizer_patch(&job.service, true)).await?),
        };
        let service = written.as_ref().unwrap_or(&job.service);
        let nodes = job.nodes.targets();
        if nodes.is_empty() {
            self.warn_of_no_nodes(job).await;
        }
        let desired = desired(self.context.cloud.cluster(), service, nodes)?;
        let balancer = self.context.cloud.ensure_balancer(&desired).await.map_err(Failure::Ensure)?;
        self.event(job, EventType::Normal, "EnsuredLoadBalancer", "Ensured load balancer".to_owned()).await;
        let status = status(&balancer);
        if status != shown(service) {
            self.patch(service, &status_patch(service, &status)).await?;
        }
        tracing::info!(service = job.key, balancer = desired.key.name, "the load balancer is ensured");
        Ok(())
    }

    async fn clean_up(&self, job: &Job) -> Result<(), Failure> {
        self.delete(job).await?;
        let service = &job.service;
        if has_finalizer(service) {
            let cleared = LoadBalancerStatus::default();
            let mut patch = finalizer_patch(service, false);
            if shown(service) != cleared {
                patch["status"] = status_patch(service, &cleared)["status"].clone();
            }
            self.patch(service, &patch).await?;
        }
        self.event(job, EventType::Normal, "DeletedLoadBalancer", "Deleted load balancer".to_owned()).await;
        tracing::info!(service = job.key, "the load balancer is deleted");
        Ok(())
    }

    async fn forget(&self, job: &Job) -> Result<(), Failure> {
        self.delete(job).await?;
        self.event(job, EventType::Normal, "DeletedLoadBalancer", "Deleted load balancer".to_owned()).await;
        tracing::info!(service = job.key, "the load balancer of a service that is gone is deleted");
        Ok(())
    }

    /// Deletes the load balancer, if there is one.
    async fn delete(&self, job: &Job) -> Result<(), Failure> {
        let key = key(self.context.cloud.cluster(), &job.service);
        if self.context.cloud.balancer(&key).await.map_err(Failure::Check)?.is_some() {
            self.event(job, EventType::Normal, "DeletingLoadBalancer", "Deleting load balancer".to_owned())
                .await;
            self.context.cloud.delete_balancer(&key).await.map_err(Failure::Delete)?;
        }
        Ok(())
    }

    async fn update_nodes(&self, job: &Job) -> Result<(), Failure> {
        let begun = Instant::now();
        let (cloud, metrics) = (&self.context.cloud, &self.context.metrics);
        let desired = desired(cloud.cluster(), &job.service, job.nodes.targets())?;
        let updated = cloud.update_balancer(&desired).await;
        metrics.update_latency.observe(begun.elapsed().as_secs_f64());
        match updated {
            Ok(()) if desired.nodes.is_empty() => self.warn_of_no_nodes(job).await,
            Ok(()) => {
                let note = "Updated load balancer with new hosts".to_owned();
                self.event(job, EventType::Normal, "UpdatedLoadBalancer", note).await;
            }
            Err(error) if error.class == ErrorClass::NotFound => return Err(Failure::Missing),
            Err(error) => {
                let names: Vec<&str> =
                    desired.nodes.iter().map(|node| node.node.as_str()).take(NAMES).collect();
                let note = format!(
                    "Error updating load balancer with new hosts [{}] [node names limited, total number of nodes: {}]: {error}",
                    names.join(" "),
                    desired.nodes.len(),
                );
                self.event(job, EventType::Warning, "UpdateLoadBalancerFailed", note).await;
                return Err(Failure::Update(error));
            }
        }
        Ok(())
    }

    async fn warn_of_no_nodes(&self, job: &Job) {
        let note = "There are no available nodes for LoadBalancer".to_owned();
        self.event(job, EventType::Warning, "UnAvailableLoadBalancer", note).await;
    }

    async fn event(&self, job: &Job, kind: EventType, reason: &str, note: String) {
        self.events.publish(&job.service.object_ref(&()), kind, reason, note).await;
    }

    /// Patches the status of a Service that is as it was read. Finalizers are patched this way too, so that no right to change
    /// Services is needed.
    async fn patch(&self, service: &Service, patch: &serde_json::Value) -> Result<Service, Unwritten> {
        let namespace = service.metadata.namespace.as_deref().unwrap_or_default();
        let name = service.metadata.name.as_deref().unwrap_or_default();
        let services: Api<Service> = Api::namespaced(self.client.clone(), namespace);
        Ok(services.patch_status(name, &PatchParams::default(), &Patch::Merge(patch)).await?)
    }
}
