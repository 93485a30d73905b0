//! Conditions of a status while an object is reconciled.

use jiff::Timestamp;
use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use slipway_controller::set_condition;

/// Type: the owner of Cluster API exists and is not paused.
pub const CLUSTER_READY: &str = "CAPIClusterReady";
/// Type: the cluster has an endpoint.
pub const ENDPOINT_READY: &str = "ControlPlaneEndpointReady";
/// Type: the endpoint does not depend on a single host.
pub const ENDPOINT_REDUNDANT: &str = "ControlPlaneEndpointRedundant";
/// Type: everything that has the endpoint has the one that was elected last.
pub const ENDPOINT_FOLLOWED: &str = "ControlPlaneEndpointFollowed";
/// Type: the machine has a host.
pub const ASSOCIATION_READY: &str = "AssociationReady";
/// Type: the host of the machine has run the bootstrap data.
pub const HOST_READY: &str = "HostReady";
/// Type: the Node of the machine has its provider id.
pub const PROVIDER_ID_READY: &str = "ProviderIDReady";
/// Type: the host is registered.
pub const REGISTRATION_READY: &str = "RegistrationReady";
/// Type: the operating system of the host is installed.
pub const INSTALLATION_READY: &str = "InstallationReady";
/// Type: the bootstrap data has run.
pub const BOOTSTRAP_READY: &str = "BootstrapReady";
/// Type: the host needs no reset.
pub const RESET_READY: &str = "ResetReady";
/// Type: the object is paused.
pub const PAUSED: &str = "Paused";
/// Type: the summary.
pub const READY: &str = "Ready";

/// Conditions that are being changed.
#[derive(Clone, Debug)]
pub struct Draft {
    conditions: Vec<Condition>,
    generation: Option<i64>,
    now: Timestamp,
}

impl Draft {
    /// The conditions of an object that was read at a generation.
    #[must_use]
    pub fn new(conditions: &[Condition], generation: Option<i64>, now: Timestamp) -> Self {
        Self { conditions: conditions.to_vec(), generation, now }
    }

    /// Sets a condition. The reason is one word in upper camel case.
    pub fn set(&mut self, kind: &str, status: bool, reason: &str, message: impl Into<String>) {
        let condition = Condition {
            type_: kind.to_owned(),
            status: if status { "True" } else { "False" }.to_owned(),
            reason: reason.to_owned(),
            message: message.into(),
            observed_generation: self.generation,
            last_transition_time: Time(self.now),
        };
        set_condition(&mut self.conditions, condition, self.now);
    }

    /// Removes a condition.
    pub fn remove(&mut self, kind: &str) {
        self.conditions.retain(|condition| condition.type_ != kind);
    }

    /// A condition.
    #[must_use]
    pub fn get(&self, kind: &str) -> Option<&Condition> {
        crate::core_api::condition(&self.conditions, kind)
    }

    /// Whether a condition is true.
    #[must_use]
    pub fn is_true(&self, kind: &str) -> bool {
        self.get(kind).is_some_and(|condition| condition.status == "True")
    }

    /// Sets the summary: true if all of these conditions are, otherwise with the reason of the first that is not.
    pub fn summarise(&mut self, kinds: &[&str]) {
        let missing = kinds.iter().find(|kind| !self.is_true(kind));
        let Some(kind) = missing else {
            self.set(READY, true, READY, "");
            return;
        };
        let (reason, message) = match self.get(kind) {
            Some(condition) => (condition.reason.clone(), condition.message.clone()),
            None => ("Waiting".to_owned(), format!("condition {kind} is not known yet")),
        };
        self.set(READY, false, &reason, message);
    }

    /// The conditions.
    #[must_use]
    pub fn into_conditions(self) -> Vec<Condition> {
        self.conditions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_has_the_first_reason() {
        let mut draft = Draft::new(&[], Some(3), Timestamp::UNIX_EPOCH);
        draft.set(CLUSTER_READY, true, "Ready", "");
        draft.summarise(&[CLUSTER_READY, ENDPOINT_READY]);
        assert_eq!(draft.get(READY).unwrap().reason, "Waiting");
        draft.set(ENDPOINT_READY, false, "NoCandidate", "no host");
        draft.summarise(&[CLUSTER_READY, ENDPOINT_READY]);
        let ready = draft.get(READY).unwrap();
        assert_eq!(
            (ready.reason.as_str(), ready.message.as_str(), ready.observed_generation),
            ("NoCandidate", "no host", Some(3))
        );
        draft.set(ENDPOINT_READY, true, "Elected", "");
        draft.summarise(&[CLUSTER_READY, ENDPOINT_READY]);
        assert!(draft.is_true(READY));
        draft.remove(READY);
        assert_eq!(draft.into_conditions().len(), 2);
    }
}
