//! What all jobs of a controller share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use slipway_controller::Health;
use slipway_operations::{Actor, Environment, Event, Observer, Processes};
use slipway_secrets::Keyring;
use slipway_secrets::key::GivenKeys;
use slipway_state_store::{Backend, Clock, SystemClock};
use slipway_trust::{Mode, Policy};

use crate::configuration::{Configuration, Source};
use crate::error::Error;
use crate::metrics::Metrics;
use crate::notify::Notices;
use crate::objects::{Offer, Waiting};
use crate::status::{SourceStatus, Status};
use crate::threads::{CommonThreads, SourceThreads, Threads};

/// What all jobs of a controller share. It does not change.
#[derive(Clone)]
pub(crate) struct Shared {
    pub configuration: Arc<Configuration>,
    pub backend: Arc<dyn Backend>,
    pub metrics: Metrics,
    pub health: Health,
    /// The notifications that are sent.
    pub notices: Notices,
    /// What waits to be written to objects in Kubernetes, if there are such objects.
    pub objects: Option<Waiting>,
    /// The threads of runs.
    pub run_threads: Threads,
    /// The threads of the sources, by name.
    source_threads: Arc<BTreeMap<String, SourceThreads>>,
    environment: Environment,
}

impl Shared {
    pub fn new(
        configuration: Configuration,
        environment: Environment,
        (metrics, health): (Metrics, Health),
    ) -> Result<Self, Error> {
        let backend = environment.store.as_ref().ok_or(Error::NoStore)?.backend.clone();
        let actor =
            Actor::here(configuration.actor.clone()).map_err(|error| Error::Actor(Box::new(error)))?;
        let environment = Environment { actor, ..environment };
        let notices = Notices::new(&configuration.notifications);
        let objects = configuration.kubernetes.as_ref().map(|_| Waiting::default());
        let (workers, sources) = (usize::from(configuration.workers), configuration.sources.len());
        let names = configuration.sources.iter().map(|source| source.name.clone());
        let common = CommonThreads::new(workers);
        let source_threads = names.map(|name| (name, SourceThreads::new(sources, &common))).collect();
        Ok(Self {
            configuration: Arc::new(configuration),
            backend,
            metrics,
            health,
            notices,
            objects,
            run_threads: Threads::new(workers),
            source_threads: Arc::new(source_threads),
            environment,
        })
    }

    /// The name of the controller as a person, in messages.
    pub fn who(&self) -> &Actor {
        &self.environment.actor
    }

    /// Lets the status of a cluster be written to its object in Kubernetes, if there are such objects.
    pub fn show(&self, status: &Status) {
        let show = |objects: &Waiting| objects.clusters.put(&status.cluster, Some(status.clone()));
        self.objects.iter().for_each(show);
        self.offer(&status.cluster, Offer::of(status));
    }

    /// Lets the object of a cluster be deleted.
    pub fn forget(&self, cluster: &str) {
        self.objects.iter().for_each(|objects| objects.clusters.put(cluster, None));
        self.offer(cluster, None);
    }

    /// Lets the plan of a cluster that waits be offered to Flux, or no plan of it, if plans are offered.
    fn offer(&self, cluster: &str, offer: Option<Offer>) {
        let settings = self.configuration.kubernetes.as_ref();
        if let Some(objects) = self.objects.as_ref()
            && settings.is_some_and(|settings| settings.plans.is_some())
        {
            objects.plans.put(cluster, offer);
        }
    }

    /// Lets the status of a source be written to its object, if it has one.
    pub fn show_source(&self, name: &str, status: &SourceStatus) {
        let mut sources = self.configuration.sources.iter();
        if sources.any(|source| source.name == name && source.object.is_some()) {
            self.objects.iter().for_each(|objects| objects.sources.put(name, status.clone()));
        }
    }

    /// The threads of a source.
    pub fn threads(&self, source: &Source) -> SourceThreads {
        let threads = self.source_threads.get(&source.name).cloned();
        threads.unwrap_or_else(|| SourceThreads::new(1, &CommonThreads::new(1)))
    }

    /// The trust policy for the specs of a source. They are in no folder of the operator.
    pub fn policy(source: &Source) -> Policy {
        let (settings, mode) = match &source.trust {
            Some(settings) => (settings.clone(), Mode::Own),
            None => (slipway_trust::Settings::default(), Mode::Untrusted),
        };
        Policy::new(settings, mode).elsewhere()
    }

    /// The environment of one look at a cluster. Its providers' processes are its own, and untrusted specs open no secrets.
    pub fn environment(&self, source: &Source, cluster: &str) -> Environment {
        self.environment_by(Self::policy(source), cluster)
    }

    fn environment_by(&self, policy: Policy, cluster: &str) -> Environment {
        let mut keyring = self.environment.keyring.clone();
        let mut identities = self.environment.identities.clone();
        if policy.is_untrusted() {
            let none = GivenKeys { recipients: Vec::new(), identities: Vec::new() };
            keyring = Arc::new(Keyring::new(Arc::new(none)));
            identities = Arc::new(|| Ok(Vec::new()));
        }
        let observer = Following { cluster: cluster.to_owned(), metrics: self.metrics.clone() };
        Environment {
            policy: Arc::new(policy),
            keyring,
            identities,
            processes: Processes::default(),
            observer: Arc::new(observer),
            ..self.environment.clone()
        }
    }

    /// The environment for specs of a stranger, whatever the source is trusted with: without keys and identities.
    pub fn untrusted_environment(&self, name: &str) -> Environment {
        self.environment_by(
            Policy::new(slipway_trust::Settings::default(), Mode::Untrusted).elsewhere(),
            name,
        )
    }

    /// How long to wait for a holder of a cluster that seems to be dead: longer than its lease.
    pub fn takeover(&self) -> Duration {
        self.environment.lease.term + Duration::from_secs(15)
    }

    /// Time that counts on while the machine sleeps.
    pub fn elapsed() -> Duration {
        SystemClock.elapsed()
    }
}

/// Logs and counts what happens in the operations of a cluster.
struct Following {
    cluster: String,
    metrics: Metrics,
}

impl Observer for Following {
    fn event(&self, event: Event) {
        observe(&self.cluster, &self.metrics, event);
    }

    fn called(&self, provider: &str, is_done: bool) {
        // Only providers that exist are called, so a spec makes up no names.
        let outcome = if is_done { "ok" } else { "failed" };
        let labels = [("provider", provider.to_owned()), ("outcome", outcome.to_owned())];
        self.metrics.calls.get_or_create(&labels).inc();
    }
}

/// Logs the events of an operation.
fn observe(cluster: &str, metrics: &Metrics, event: Event) {
    use slipway_engine::Event as Step;
    match event {
        Event::Waiting(wait) => tracing::info!(cluster, "{}", wait.after(&mut None)),
        Event::Recovered(recovery) => {
            tracing::info!(cluster, step = %recovery.step, "a step of an interrupted run was resolved");
        }
        Event::Approved(persons) => {
            tracing::info!(cluster, approved_by = persons.join(", "), "the plan is approved")
        }
        Event::RunBegins(plan) => tracing::info!(cluster, steps = plan.steps.len(), "a run begins"),
        Event::Step(Step::Done(..)) => {
            metrics.steps.inc();
        }
        Event::Step(Step::Failed(step, error)) => {
            tracing::warn!(cluster, step = step.0, class = %error.class, "a step failed: {}", error.message);
        }
        Event::Step(Step::Retrying { step, error, .. }) => {
            metrics.retries.inc();
            tracing::info!(cluster, step = step.0, class = %error.class, "a step is tried again: {}", error.message);
        }
        Event::SnapshotSaved { name, machine } => {
            tracing::info!(cluster, snapshot = name, machine, "a snapshot of etcd was saved");
        }
        Event::Step(_)
        | Event::SecretsReadAgain(_)
        | Event::OtherChoice { .. }
        | Event::NoProvider(_)
        | Event::RunEnded
        | Event::VersionApplied { .. } => {}
    }
}
