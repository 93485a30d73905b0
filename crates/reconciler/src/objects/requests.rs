//! Serving `PlanRequest` objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use slipway_controller::kube::api::{Api, Patch, PatchParams};
use slipway_controller::kube::{self, Client, Resource as _};
use slipway_controller::runtime::watcher;
use slipway_controller::{Leader, Watched, watch_during};
use slipway_state_store::ClusterName;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::MANAGER;
use super::common::number;
use super::connection::{Connection, Failure, answered, delete};
use super::managed_cluster::ManagedCluster;
use super::plan_request::{PlanRequest, PlanRequestStatus};
use super::sweep;
use crate::board;
use crate::job;
use crate::status::Status;

/// The shortest time between two looks at the requests. Changes meanwhile, such as own writes, are one.
const GAP: Duration = Duration::from_millis(500);
/// The longest time between two looks, and the time between two looks for objects of clusters that are gone.
const HOUR: Duration = Duration::from_secs(3_600);

/// Serves requests until this replica does not lead any more.
pub(super) async fn serve(connection: &Connection, leader: Leader) {
    let Leader { client, stop, .. } = leader;
    let requests: Api<PlanRequest> = Api::namespaced(client.clone(), &connection.namespace);
    let work = |watched| serve_all(Desk::new(connection, client), watched, &stop);
    // On this thread: that of the loop renews leases, and must not wait for a credential plugin.
    watch_during(requests, watcher::Config::default(), &stop, work).await;
}

async fn serve_all(mut desk: Desk<'_>, mut watched: Watched<PlanRequest>, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        let wait = desk.look(&watched.all()).await;
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(GAP) => {}
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = watched.changed() => {}
            () = sleep(wait) => {}
        }
    }
}

/// Looks at the requests.
struct Desk<'a> {
    connection: &'a Connection,
    requests: Api<PlanRequest>,
    clusters: Api<ManagedCluster>,
    /// When objects of clusters that are gone are looked for.
    sweep_due: Instant,
    failures: u32,
}

/// The next statuses of requests.
type Next<'a> = Vec<(&'a PlanRequest, PlanRequestStatus)>;

impl<'a> Desk<'a> {
    fn new(connection: &'a Connection, client: Client) -> Self {
        Self {
            connection,
            requests: Api::namespaced(client.clone(), &connection.namespace),
            clusters: Api::namespaced(client, &connection.namespace),
            sweep_due: Instant::now(),
            failures: 0,
        }
    }

    /// Does what is to be done for the requests. Returns how long nothing has to be done if no request changes.
    async fn look(&mut self, all: &[Arc<PlanRequest>]) -> Duration {
        let retry = self.connection.shared.configuration.retry;
        match self.attempt(all).await {
            Ok(wait) => {
                if self.failures > 0 {
                    tracing::info!("PlanRequests are served again");
                }
                self.failures = 0;
                wait
            }
            Err(error) => {
                if self.failures == 0 {
                    tracing::warn!(%error, "PlanRequests cannot be served");
                }
                self.failures = self.failures.saturating_add(1);
                retry.wait(self.failures, "plan requests")
            }
        }
    }

    async fn attempt(&mut self, all: &[Arc<PlanRequest>]) -> Result<Duration, Failure> {
        let wait = self.answer(all).await?;
        // Requests do not wait for it, also if it fails.
        if self.sweep_due <= Instant::now() {
            sweep::run(&self.connection.shared, &self.clusters).await?;
            self.sweep_due = Instant::now() + HOUR;
        }
        Ok(wait)
    }

    /// Carries on with all requests. Returns how long nothing has to be done if no request changes.
    async fn answer(&self, all: &[Arc<PlanRequest>]) -> Result<Duration, Failure> {
        let now = Timestamp::now();
        let mut wait = HOUR;
        for request in all {
            let Some(expires) = request.expires() else { continue };
            match Duration::try_from(expires.duration_since(now)) {
                Ok(left) if !left.is_zero() => wait = wait.min(left),
                _ => delete(&self.requests, &**request).await?,
            }
        }
        let open: Vec<&PlanRequest> = all.iter().map(|one| &**one).filter(|one| !one.is_finished()).collect();
        if open.is_empty() {
            return Ok(wait);
        }
        let found = self.statuses(&open).await?;
        let mut next: Next<'_> = Vec::new();
        let mut new: Vec<&PlanRequest> = Vec::new();
        let own = &self.connection.shared.configuration.name;
        for request in open {
            let is_requested = request.status.as_ref().is_some_and(|status| status.request.is_some());
            match found.get(&request.spec.cluster) {
                None => next.push((request, request.unknown(now))),
                // No other controller has its objects in this namespace, so nobody else answers.
                Some(status) if status.controller != *own => next.push((request, request.unknown(now))),
                Some(_) if !is_requested => new.push(request),
                Some(status) => next.extend(request.looked(status, now).map(|looked| (request, looked))),
            }
        }
        next.extend(self.hand_over(&new, now).await?);
        let mut failed = None;
        for (request, status) in next {
            match self.write(request, status).await {
                Ok(()) => {}
                Err(error) if error.is_general() => return Err(error),
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(wait.min(self.connection.shared.configuration.poll)),
        }
    }

    /// The statuses of the clusters of requests, as the state store has them.
    async fn statuses(&self, requests: &[&PlanRequest]) -> Result<BTreeMap<String, Status>, Failure> {
        let names: BTreeSet<&String> = requests.iter().map(|request| &request.spec.cluster).collect();
        let valid = names.into_iter().filter(|name| ClusterName::new(name.as_str()).is_ok());
        Ok(job::statuses(&self.connection.shared, valid.cloned().collect()).await?)
    }

    /// Hands requests to the controllers, by one change of the board.
    async fn hand_over<'r>(&self, new: &[&'r PlanRequest], now: Timestamp) -> Result<Next<'r>, Failure> {
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let backend = &self.connection.shared.backend;
        let clusters: BTreeSet<&String> = new.iter().map(|request| &request.spec.cluster).collect();
        let clusters: Vec<String> = clusters.into_iter().cloned().collect();
        let who = format!("PlanRequest in {}", self.connection.namespace);
        board::request(backend, &clusters, &who, now).await?;
        let board = board::read(&**backend).await?;
        let requested = |request: &&'r PlanRequest| {
            let count = number(board.request(&request.spec.cluster));
            (*request, request.requested(count, now))
        };
        Ok(new.iter().map(requested).collect())
    }

    async fn write(&self, request: &PlanRequest, status: PlanRequestStatus) -> Result<(), Failure> {
        let name = request.metadata.name.as_deref().unwrap_or_default();
        let object = json!({
            "apiVersion": PlanRequest::api_version(&()), "kind": PlanRequest::kind(&()),
            "metadata": {"name": name}, "status": status,
        });
        let parameters = PatchParams::apply(MANAGER).force();
        match answered(self.requests.patch_status(name, &parameters, &Patch::Apply(&object))).await {
            // It was deleted meanwhile.
            Err(Failure::Api(kube::Error::Api(status))) if status.code == 404 => Ok(()),
            other => other.map(drop),
        }
    }
}
