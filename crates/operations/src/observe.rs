//! Events of an operation.

use std::sync::Arc;

use slipway_engine::{EventHandler, Recovery, Wait, WaitHandler};
use slipway_plan::Plan;
use slipway_spec::value::KubernetesVersion;

/// An event of an operation.
#[derive(Clone, Debug)]
pub enum Event {
    /// A provider has not answered for a while, or a call to it is retried.
    Waiting(Wait),
    /// How a step that an interrupted run left open was resolved.
    Recovered(Recovery),
    /// The persons whose approvals of the plan count.
    Approved(Vec<String>),
    /// The secrets in a plan file cannot be opened, and are read again; with the reason.
    SecretsReadAgain(String),
    /// A saved plan is carried out with a choice that its provider would make otherwise by now, such as an image.
    OtherChoice {
        /// The provider.
        provider: String,
        /// The choice, as `images.amd64`.
        name: String,
    },
    /// A provider is not available, so that its resource types are not known.
    NoProvider(String),
    /// A snapshot of etcd was saved before an upgrade or a rotation.
    SnapshotSaved {
        /// Its name.
        name: String,
        /// The machine that has it.
        machine: String,
    },
    /// A run of a plan begins.
    RunBegins(Arc<Plan>),
    /// Something happened to a step of the run.
    Step(slipway_engine::Event),
    /// The run has ended.
    RunEnded,
    /// A saved plan has changed the Kubernetes version of a cluster, and the spec file may have the version before.
    VersionApplied {
        /// The cluster.
        cluster: String,
        /// The version that it has now.
        version: KubernetesVersion,
    },
}

/// Follows an operation. It never blocks, and what it does has no influence on the operation.
pub trait Observer: Send + Sync {
    /// Takes an event.
    fn event(&self, event: Event);

    /// Takes the end of a call of a provider, with its name, and whether the call succeeded. A call that is repeated ends each time.
    fn called(&self, _provider: &str, _is_done: bool) {}
}

/// Follows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ignore;

impl Observer for Ignore {
    fn event(&self, _event: Event) {}
}

impl<F: Fn(Event) + Send + Sync> Observer for F {
    fn event(&self, event: Event) {
        self(event);
    }
}

/// The waits of a provider as events, and the ends of its calls.
pub(crate) fn waits(observer: &Arc<dyn Observer>) -> WaitHandler {
    let (waits, calls) = (observer.clone(), observer.clone());
    WaitHandler::new(move |wait| waits.event(Event::Waiting(wait)))
        .with_calls(move |provider, is_done| calls.called(provider, is_done))
}

/// The events of a run's steps.
pub(crate) fn steps(observer: &Arc<dyn Observer>) -> EventHandler {
    let observer = observer.clone();
    EventHandler::new(move |event| observer.event(Event::Step(event)))
}
