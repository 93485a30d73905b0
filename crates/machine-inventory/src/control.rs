//! The loop of the controllers: after each change, every object is compared with what it should be.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tokio::time::{sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::labels::{WATCH_FILTER, label};
use crate::world::{Watches, World, name, namespace, uid};
use crate::writing::Failure;
use crate::{clusters, hosts, machines, registrations};

/// How long further changes are waited for after a change.
const GATHERING: Duration = Duration::from_millis(50);
/// The longest time between two looks: clusters that are made are not watched.
const RESYNC: Duration = Duration::from_secs(10);
/// The time after the first failure of an object. It doubles with each further one, up to [`LONGEST`].
const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(300);

/// Runs the controllers until the stop.
pub(crate) async fn run(context: &Context, mut watches: Watches, stop: &CancellationToken) {
    let mut attempts = Attempts::default();
    while !stop.is_cancelled() {
        pass(context, &watches.world(), &mut attempts, stop).await;
        let again = Instant::now() + RESYNC;
        let again = attempts.next().map_or(again, |next| next.min(again));
        tokio::select! {
            () = stop.cancelled() => return,
            () = watches.changed() => sleep(GATHERING).await,
            () = sleep_until(again.into()) => {}
        }
    }
}

async fn pass(context: &Context, world: &World, attempts: &mut Attempts, stop: &CancellationToken) {
    let goes_on = |metadata: &ObjectMeta| {
        let of = label(metadata, WATCH_FILTER);
        !stop.is_cancelled() && (context.watch_filter.is_none() || of == context.watch_filter.as_deref())
    };
    for registration in &world.registrations {
        if !stop.is_cancelled() && attempts.is_due(&registration.metadata) {
            let outcome = registrations::reconcile(context, registration).await;
            attempts.record(context, "ElementalRegistration", &registration.metadata, outcome);
        }
    }
    for host in &world.hosts {
        if !stop.is_cancelled() && attempts.is_due(&host.metadata) {
            let outcome = hosts::reconcile(context, world, host).await;
            attempts.record(context, "ElementalHost", &host.metadata, outcome);
        }
    }
    for cluster in &world.elemental_clusters {
        if goes_on(&cluster.metadata) && attempts.is_due(&cluster.metadata) {
            let outcome = clusters::reconcile(context, world, cluster).await;
            attempts.record(context, "ElementalCluster", &cluster.metadata, outcome);
        }
    }
    let mut taken = machines::Taken::new(world);
    for machine in &world.elemental_machines {
        if goes_on(&machine.metadata) && attempts.is_due(&machine.metadata) {
            let outcome = machines::reconcile(context, world, &mut taken, machine).await;
            attempts.record(context, "ElementalMachine", &machine.metadata, outcome);
        }
    }
    attempts.forget_old();
}

/// The objects that failed, by UID: how often, and when each may be tried again.
#[derive(Debug, Default)]
struct Attempts {
    failed: HashMap<String, (u32, Instant)>,
}

impl Attempts {
    fn is_due(&self, metadata: &ObjectMeta) -> bool {
        self.failed.get(uid(metadata)).is_none_or(|(_, next)| *next <= Instant::now())
    }

    fn record(
        &mut self,
        context: &Context,
        kind: &'static str,
        metadata: &ObjectMeta,
        outcome: Result<(), Failure>,
    ) {
        let (namespace, name) = (namespace(metadata), name(metadata));
        match outcome {
            Ok(()) => {
                self.failed.remove(uid(metadata));
            }
            // The watch reports the change.
            Err(Failure::Changed) => {
                tracing::debug!(kind, namespace, name, "it has changed, and is looked at again")
            }
            Err(error) => {
                let (count, next) =
                    self.failed.entry(uid(metadata).to_owned()).or_insert((0, Instant::now()));
                let wait = FIRST.saturating_mul(1 << (*count).min(16)).min(LONGEST);
                *count += 1;
                *next = Instant::now() + wait;
                context.metrics.failures.get_or_create(&[("kind", kind)]).inc();
                let error = slipway_resource::with_causes(&error);
                tracing::warn!(kind, namespace, name, %error, again_in = ?wait, "it was not reconciled");
            }
        }
    }

    /// When the next object may be tried again.
    fn next(&self) -> Option<Instant> {
        self.failed.values().map(|(_, next)| *next).min()
    }

    /// Forgets objects that were not tried again for long: they do not exist any more.
    fn forget_old(&mut self) {
        self.failed.retain(|_, (_, next)| next.elapsed() < LONGEST);
    }
}
