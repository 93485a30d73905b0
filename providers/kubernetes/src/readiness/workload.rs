//! The readiness of workloads.

use serde_json::Value as Json;

use super::{Readiness, condition, number};
use crate::object::text;

fn count(object: &Json, pointer: &str) -> i64 {
    number(object, pointer).unwrap_or_default()
}

fn missing(have: i64, want: i64, what: &str) -> Readiness {
    Readiness::InProgress(format!("{have} of {want} {what}"))
}

fn unseen() -> Readiness {
    Readiness::InProgress("its controller has not seen it yet".to_owned())
}

/// Whether a controller has written an observed generation. Controllers that write it do so first.
fn is_seen(object: &Json) -> bool {
    number(object, "/status/observedGeneration").is_some()
}

pub(super) fn deployment(object: &Json) -> Readiness {
    if !is_seen(object) {
        return unseen();
    }
    let progressing = condition(object, "Progressing");
    if let Some(stuck) =
        progressing.as_ref().filter(|condition| condition.has_reason("ProgressDeadlineExceeded"))
    {
        return Readiness::Failed(stuck.sentence());
    }
    let want = number(object, "/spec/replicas").unwrap_or(1);
    let (total, updated) = (count(object, "/status/replicas"), count(object, "/status/updatedReplicas"));
    let (available, ready) =
        (count(object, "/status/availableReplicas"), count(object, "/status/readyReplicas"));
    if updated < want {
        missing(updated, want, "replicas are as the template wants them")
    } else if total > updated {
        Readiness::InProgress(format!("{} older replicas are still there", total - updated))
    } else if ready < want {
        missing(ready, want, "replicas are ready")
    } else if available < want {
        missing(available, want, "replicas are available")
    } else {
        match condition(object, "Available") {
            Some(condition) if !condition.is("True") => Readiness::InProgress(condition.sentence()),
            _ => Readiness::Ready,
        }
    }
}

pub(super) fn stateful_set(object: &Json) -> Readiness {
    if !is_seen(object) {
        return unseen();
    }
    if text(object, "/spec/updateStrategy/type") == Some("OnDelete") {
        return Readiness::Ready;
    }
    let want = number(object, "/spec/replicas").unwrap_or(1);
    let (total, ready) = (count(object, "/status/replicas"), count(object, "/status/readyReplicas"));
    if total < want {
        return missing(total, want, "replicas exist");
    }
    if ready < want {
        return missing(ready, want, "replicas are ready");
    }
    if total > want {
        return Readiness::InProgress(format!("{} replicas too many are still there", total - want));
    }
    let partition = count(object, "/spec/updateStrategy/rollingUpdate/partition");
    let updated = count(object, "/status/updatedReplicas");
    if partition > 0 {
        let wanted = (want - partition).max(0);
        return if updated < wanted {
            missing(updated, wanted, "replicas beyond the partition are updated")
        } else {
            Readiness::Ready
        };
    }
    let (current, update) = (text(object, "/status/currentRevision"), text(object, "/status/updateRevision"));
    if current != update {
        return missing(updated, want, "replicas are updated");
    }
    Readiness::Ready
}

pub(super) fn daemon_set(object: &Json) -> Readiness {
    let Some(want) = number(object, "/status/desiredNumberScheduled").filter(|_| is_seen(object)) else {
        return unseen();
    };
    let fields = [
        ("/status/currentNumberScheduled", "nodes have its pod"),
        ("/status/updatedNumberScheduled", "pods are as the template wants them"),
        ("/status/numberAvailable", "pods are available"),
        ("/status/numberReady", "pods are ready"),
    ];
    // With this strategy, a pod is only updated after it was deleted.
    let on_delete = text(object, "/spec/updateStrategy/type") == Some("OnDelete");
    for (field, what) in fields {
        let have = count(object, field);
        if have < want && !(on_delete && field.contains("updated")) {
            return missing(have, want, what);
        }
    }
    Readiness::Ready
}

pub(super) fn replica_set(object: &Json) -> Readiness {
    if let Some(failure) = condition(object, "ReplicaFailure").filter(|condition| condition.is("True")) {
        return Readiness::InProgress(failure.sentence());
    }
    if !is_seen(object) {
        return unseen();
    }
    let want = number(object, "/spec/replicas").unwrap_or(1);
    let fields = [
        ("/status/fullyLabeledReplicas", "replicas have their labels"),
        ("/status/readyReplicas", "replicas are ready"),
        ("/status/availableReplicas", "replicas are available"),
    ];
    for (field, what) in fields {
        let have = count(object, field);
        if have < want {
            return missing(have, want, what);
        }
    }
    let total = count(object, "/status/replicas");
    if total > want {
        return Readiness::InProgress(format!("{} replicas too many are still there", total - want));
    }
    Readiness::Ready
}

/// A running job is ready. Resources that need its result wait for its completion.
pub(super) fn job(object: &Json) -> Readiness {
    if let Some(failed) = condition(object, "Failed").filter(|condition| condition.is("True")) {
        return Readiness::Failed(failed.sentence());
    }
    if condition(object, "Complete").is_some_and(|condition| condition.is("True")) {
        return Readiness::Ready;
    }
    if condition(object, "Suspended").is_some_and(|condition| condition.is("True")) {
        return Readiness::Ready;
    }
    if text(object, "/status/startTime").is_none() {
        return Readiness::InProgress("it has not begun yet".to_owned());
    }
    Readiness::Ready
}

pub(super) fn pod(object: &Json) -> Readiness {
    match text(object, "/status/phase").unwrap_or_default() {
        "Succeeded" => Readiness::Ready,
        "Failed" => Readiness::Failed(
            text(object, "/status/message")
                .or(text(object, "/status/reason"))
                .unwrap_or("it failed")
                .to_owned(),
        ),
        _ => match condition(object, "Ready").or_else(|| condition(object, "PodScheduled")) {
            Some(ready) if ready.is("True") && text(object, "/status/phase") == Some("Running") => {
                Readiness::Ready
            }
            Some(condition) => Readiness::InProgress(condition.sentence()),
            None => Readiness::InProgress("it does not run yet".to_owned()),
        },
    }
}
