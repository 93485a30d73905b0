//! Whether an object is what its manifest asks for, by the rules of kstatus
//! (<https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md>), and a few kinds beyond them.
//! Pure: from the object alone.

mod workload;

use serde_json::Value as Json;

use crate::object::{kind_of, text};

/// How far an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// The object is as requested.
    Ready,
    /// Its controller is at work: the missing parts.
    InProgress(String),
    /// The object will not become ready by itself: the reason.
    Failed(String),
    /// The object is being deleted: its holders.
    Terminating(String),
}

impl Readiness {
    /// Whether it is as it should be.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        *self == Self::Ready
    }
}

/// How far a live object is.
#[must_use]
pub fn assess(object: &Json) -> Readiness {
    if object.pointer("/metadata/deletionTimestamp").is_some() {
        return Readiness::Terminating(holders(object));
    }
    if let Some(behind) = generation_behind(object) {
        return behind;
    }
    let kind = kind_of(object);
    let kind = kind.as_ref().map(|kind| (kind.group.as_str(), kind.kind.as_str()));
    match kind.unwrap_or_default() {
        ("apps", "Deployment") => workload::deployment(object),
        ("apps", "StatefulSet") => workload::stateful_set(object),
        ("apps", "DaemonSet") => workload::daemon_set(object),
        ("apps", "ReplicaSet") => workload::replica_set(object),
        ("batch", "Job") => workload::job(object),
        ("", "Pod") => workload::pod(object),
        ("", "ReplicationController") => workload::replica_set(object),
        ("", "PersistentVolumeClaim") => phase(object, "Bound", &[("Lost", "its volume is lost")]),
        ("", "PersistentVolume") => persistent_volume(object),
        ("", "Namespace") => phase(object, "Active", &[]),
        ("", "Service") => service(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(object),
        ("apiregistration.k8s.io", "APIService") => must_be_true(object, "Available"),
        // Their controllers only count; they hold from the first moment.
        ("policy", "PodDisruptionBudget")
        | ("autoscaling", "HorizontalPodAutoscaler")
        | ("batch", "CronJob") => Readiness::Ready,
        _ => generic(object),
    }
}

/// Whether the controller has not seen the newest generation yet.
fn generation_behind(object: &Json) -> Option<Readiness> {
    let generation = number(object, "/metadata/generation")?;
    let observed = number(object, "/status/observedGeneration")?;
    (observed < generation)
        .then(|| Readiness::InProgress("its controller has not seen the change yet".to_owned()))
}

/// The conventional conditions: `Stalled`, `Reconciling`, `Ready`.
fn generic(object: &Json) -> Readiness {
    if let Some(stalled) = condition(object, "Stalled").filter(|condition| condition.is("True")) {
        return Readiness::Failed(stalled.sentence());
    }
    if let Some(working) = condition(object, "Reconciling").filter(|condition| condition.is("True")) {
        return Readiness::InProgress(working.sentence());
    }
    match condition(object, "Ready") {
        Some(ready) if !ready.is("True") => Readiness::InProgress(ready.sentence()),
        _ => Readiness::Ready,
    }
}

fn must_be_true(object: &Json, kind: &str) -> Readiness {
    match condition(object, kind) {
        Some(condition) if condition.is("True") => Readiness::Ready,
        Some(condition) => Readiness::InProgress(condition.sentence()),
        None => Readiness::InProgress(format!("it does not say {kind} yet")),
    }
}

fn phase(object: &Json, wanted: &str, fatal: &[(&str, &str)]) -> Readiness {
    let phase = text(object, "/status/phase").unwrap_or("unknown");
    if let Some((_, why)) = fatal.iter().find(|(bad, _)| *bad == phase) {
        return Readiness::Failed((*why).to_owned());
    }
    if phase == wanted { Readiness::Ready } else { Readiness::InProgress(format!("its phase is {phase}")) }
}

fn persistent_volume(object: &Json) -> Readiness {
    match text(object, "/status/phase") {
        Some("Available" | "Bound" | "Released") => Readiness::Ready,
        Some("Failed") => {
            Readiness::Failed(text(object, "/status/message").unwrap_or("its phase is Failed").to_owned())
        }
        other => Readiness::InProgress(format!("its phase is {}", other.unwrap_or("unknown"))),
    }
}

fn service(object: &Json) -> Readiness {
    if text(object, "/spec/type") != Some("LoadBalancer") {
        return Readiness::Ready;
    }
    let ingress = object.pointer("/status/loadBalancer/ingress").and_then(Json::as_array);
    if ingress.is_some_and(|ingress| !ingress.is_empty()) {
        Readiness::Ready
    } else {
        Readiness::InProgress("it has no load balancer yet".to_owned())
    }
}

fn definition(object: &Json) -> Readiness {
    if let Some(refused) = condition(object, "NamesAccepted").filter(|condition| condition.is("False")) {
        return Readiness::Failed(refused.sentence());
    }
    match condition(object, "Established") {
        Some(established) if established.is("True") => Readiness::Ready,
        Some(established) if text_of(established.0, "reason") != "Installing" => {
            Readiness::InProgress(established.sentence())
        }
        _ => Readiness::InProgress("it is not served yet".to_owned()),
    }
}

/// The reasons why a deletion waits: finalizers, and the conditions of a namespace about its content.
#[must_use]
pub fn holders(object: &Json) -> String {
    let mut found: Vec<String> = Vec::new();
    let lists = ["/metadata/finalizers", "/spec/finalizers"].into_iter();
    let finalizers =
        lists.filter_map(|list| object.pointer(list)?.as_array()).flatten().filter_map(Json::as_str);
    found.extend(finalizers.map(|finalizer| format!("finalizer {finalizer}")));
    let conditions = object.pointer("/status/conditions").and_then(Json::as_array).into_iter().flatten();
    for condition in conditions.map(Condition).filter(|condition| condition.is("True")) {
        if text_of(condition.0, "type").starts_with("Namespace") {
            found.push(condition.sentence());
        }
    }
    if found.is_empty() { "it is going".to_owned() } else { found.join("; ") }
}

/// A condition of an object.
pub(super) struct Condition<'a>(&'a Json);

impl Condition<'_> {
    pub(super) fn is(&self, status: &str) -> bool {
        text_of(self.0, "status") == status
    }

    pub(super) fn has_reason(&self, reason: &str) -> bool {
        text_of(self.0, "reason") == reason
    }

    /// The condition as text.
    pub(super) fn sentence(&self) -> String {
        let (kind, status) = (text_of(self.0, "type"), text_of(self.0, "status"));
        let (reason, message) = (text_of(self.0, "reason"), text_of(self.0, "message"));
        match (reason, message) {
            ("", "") => format!("{kind} is {status}"),
            ("", message) => message.to_owned(),
            (reason, "") => format!("{kind} is {status}: {reason}"),
            (reason, message) => format!("{reason}: {message}"),
        }
    }
}

pub(super) fn condition<'a>(object: &'a Json, kind: &str) -> Option<Condition<'a>> {
    let conditions = object.pointer("/status/conditions").and_then(Json::as_array)?;
    conditions.iter().find(|condition| text_of(condition, "type") == kind).map(Condition)
}

fn text_of<'a>(json: &'a Json, name: &str) -> &'a str {
    json.get(name).and_then(Json::as_str).unwrap_or_default()
}

pub(super) fn number(object: &Json, pointer: &str) -> Option<i64> {
    object.pointer(pointer).and_then(Json::as_i64)
}

#[cfg(test)]
mod tests;
