//! The service controller: load balancers of Services of type `LoadBalancer`.
//!
//! `desk` decides what is due, `work` does it. Services are worked on side by side, and each of them by one job at a time.

pub mod desired;
mod desk;
pub mod difference;
pub mod status;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use slipway_controller::Watched;
use slipway_controller::k8s_openapi::api::core::v1::{Node, Service};
use tokio::time::{sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::balanced_nodes::BalancedNodes;
use crate::context::Context;
use desk::{Desk, Key, Task};
use work::Worker;

/// How long further changes are waited for after a change.
const GATHERING: Duration = Duration::from_millis(50);

/// How long nothing may be due. Changes come by watches.
const IDLE: Duration = Duration::from_secs(3600);

/// Runs the controller until the stop. Calls to the provider that run then are given up.
pub(crate) async fn run(
    context: &Context,
    mut services: Watched<Service>,
    mut nodes: Watched<Node>,
    stop: &CancellationToken,
) {
    let worker = Worker::new(context);
    let width = usize::from(context.arguments.concurrent_service_syncs.max(1));
    let mut desk = Desk::new(&balanced(&nodes), Instant::now());
    let mut running = FuturesUnordered::new();
    let mut updates = Updates::default();
    loop {
        let now = Instant::now();
        for job in desk.due(&by_key(&services), &balanced(&nodes), now) {
            if running.len() >= width {
                break;
            }
            desk.started(&job);
            if job.task == Task::UpdateNodes {
                updates.started(now);
            }
            let worker = &worker;
            running.push(async move { (worker.run(&job).await, job) });
        }
        let next = desk.next(now).unwrap_or(now + IDLE);
        tokio::select! {
            () = stop.cancelled() => return,
            Some((outcome, job)) = running.next() => {
                desk.ended(&job, outcome, Instant::now());
                if job.task == Task::UpdateNodes && let Some(span) = updates.ended() {
                    context.metrics.node_sync_latency.observe(span.as_secs_f64());
                }
            }
            () = services.changed() => sleep(GATHERING).await,
            () = nodes.changed() => sleep(GATHERING).await,
            () = sleep_until(next.into()) => {}
        }
    }
}

/// The updates that one change of nodes has caused.
#[derive(Debug, Default)]
struct Updates {
    running: usize,
    since: Option<Instant>,
}

impl Updates {
    fn started(&mut self, now: Instant) {
        self.running += 1;
        self.since.get_or_insert(now);
    }

    /// The time that all of them took, once the last one has ended.
    fn ended(&mut self) -> Option<Duration> {
        self.running = self.running.saturating_sub(1);
        if self.running > 0 {
            return None;
        }
        self.since.take().map(|since| since.elapsed())
    }
}

fn balanced(nodes: &Watched<Node>) -> BalancedNodes {
    BalancedNodes::of(nodes.all().iter().map(std::ops::Deref::deref))
}

fn by_key(services: &Watched<Service>) -> BTreeMap<Key, Arc<Service>> {
    let key = |service: &Service| {
        let part = |text: &Option<String>| text.clone().unwrap_or_default();
        format!("{}/{}", part(&service.metadata.namespace), part(&service.metadata.name))
    };
    services.all().into_iter().map(|service| (key(&service), service)).collect()
}
