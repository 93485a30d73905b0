//! Events of objects, as their users see them in `kubectl describe`.

use k8s_openapi::api::core::v1::ObjectReference;
pub use kube_runtime::events::EventType;
use kube_runtime::events::{Event, Recorder, Reporter};

/// Publishes events of one component. An event that cannot be published is logged; nothing depends on it.
#[derive(Clone)]
pub struct Events {
    recorder: Recorder,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Events")
    }
}

impl Events {
    /// Events that name this component, such as `cloud-node-controller`, and this process.
    #[must_use]
    pub fn of(client: &kube::Client, component: &str, instance: &str) -> Self {
        let reporter = Reporter { controller: component.to_owned(), instance: Some(instance.to_owned()) };
        Self { recorder: Recorder::new(client.clone(), reporter) }
    }

    /// Publishes an event. `reason` is one word in upper camel case, `note` a sentence.
    pub async fn publish(&self, object: &ObjectReference, kind: EventType, reason: &str, note: String) {
        let event = Event {
            type_: kind,
            reason: reason.to_owned(),
            note: Some(note),
            action: reason.to_owned(),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, object).await {
            tracing::warn!(reason, %error, "an event was not published");
        }
    }
}
