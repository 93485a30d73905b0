//! What a look at an `EtcdStorage` has found, and the status that follows from it.

use jiff::Timestamp;
use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use slipway_controller::{EventType, set_condition};

use crate::storage::{CertificateStatus, DestinationStatus, EtcdStorage, EtcdStorageStatus};

/// A type of a condition.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Type {
    /// Everything is as desired, and a proxy serves.
    Ready,
    /// Deployment and Service exist as desired.
    Deployed,
    /// All certificates are valid and in their places.
    CertificatesReady,
    /// The certificates for the core etcd are in their places.
    CoreEtcdConfigured,
    /// A proxy serves.
    ProxyAvailable,
}

impl Type {
    const fn name(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::Deployed => "Deployed",
            Self::CertificatesReady => "CertificatesReady",
            Self::CoreEtcdConfigured => "CoreEtcdConfigured",
            Self::ProxyAvailable => "ProxyAvailable",
        }
    }

    /// The event that tells that the condition became false. Two have the reasons of etcdproxy-controller.
    const fn failure(self) -> &'static str {
        match self {
            Self::Ready => "EtcdStorageNotReady",
            Self::Deployed => "EtcdStorageDeployFailure",
            Self::CertificatesReady => "CertificatesDeployFailure",
            Self::CoreEtcdConfigured => "CoreEtcdNotConfigured",
            Self::ProxyAvailable => "ProxyUnavailable",
        }
    }

    const fn success(self) -> &'static str {
        match self {
            Self::Ready => "EtcdStorageReady",
            Self::Deployed => "EtcdStorageDeployed",
            Self::CertificatesReady => "CertificatesDeployed",
            Self::CoreEtcdConfigured => "CoreEtcdConfigured",
            Self::ProxyAvailable => "ProxyAvailable",
        }
    }
}

/// A condition that was found.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    kind: Type,
    holds: bool,
    reason: &'static str,
    message: String,
}

/// An event to publish.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Told {
    pub(crate) is_warning: bool,
    pub(crate) reason: &'static str,
    pub(crate) note: String,
}

impl Told {
    pub(crate) fn event_type(&self) -> EventType {
        if self.is_warning { EventType::Warning } else { EventType::Normal }
    }
}

/// What a look at an `EtcdStorage` has found.
#[derive(Debug, Default)]
pub(crate) struct Report {
    findings: Vec<Finding>,
    pub(crate) events: Vec<Told>,
    pub(crate) endpoint: Option<String>,
    pub(crate) data_on_deletion: Option<String>,
    pub(crate) certificates: Vec<CertificateStatus>,
    pub(crate) destinations: Vec<DestinationStatus>,
    /// The end of the certificate in use that ends first.
    pub(crate) expires: Option<Timestamp>,
    /// When something is to be renewed.
    pub(crate) due: Option<Timestamp>,
}

impl Report {
    /// A report that repeats what the status says beside its conditions.
    pub(crate) fn keeping(storage: &EtcdStorage) -> Self {
        let before = storage.status.clone().unwrap_or_default();
        Self {
            endpoint: before.endpoint,
            data_on_deletion: before.data_on_deletion,
            certificates: before.certificates,
            destinations: before.destinations,
            expires: before.certificates_expire.and_then(|time| time.parse().ok()),
            ..Self::default()
        }
    }

    /// A condition that holds.
    pub(crate) fn holds(&mut self, kind: Type, reason: &'static str, message: impl Into<String>) {
        self.findings.push(Finding { kind, holds: true, reason, message: message.into() });
    }

    /// A condition that does not hold.
    pub(crate) fn fails(&mut self, kind: Type, reason: &'static str, message: impl Into<String>) {
        self.findings.push(Finding { kind, holds: false, reason, message: message.into() });
    }

    /// An event beside those of conditions.
    pub(crate) fn tell(&mut self, reason: &'static str, note: impl Into<String>) {
        self.events.push(Told { is_warning: false, reason, note: note.into() });
    }

    /// A certificate in use ends at this time, and is to be renewed at that time.
    pub(crate) fn ends(&mut self, not_after: Timestamp, renewal: Timestamp) {
        self.expires = Some(self.expires.map_or(not_after, |first| first.min(not_after)));
        self.due(renewal);
    }

    /// Something is to be done at this time.
    pub(crate) fn due(&mut self, moment: Timestamp) {
        self.due = Some(self.due.map_or(moment, |first| first.min(moment)));
    }

    /// Whether everything is as desired that the controller does by itself.
    pub(crate) fn is_done(&self) -> bool {
        self.findings.iter().all(|finding| finding.holds || finding.kind == Type::ProxyAvailable)
    }

    /// The new status, and the events that tell of it.
    pub(crate) fn status(mut self, storage: &EtcdStorage, now: Timestamp) -> (EtcdStorageStatus, Vec<Told>) {
        let generation = storage.metadata.generation;
        let before = storage.status.clone().unwrap_or_default();
        let mut conditions = before.conditions;
        let first = self.findings.iter().find(|finding| !finding.holds).cloned();
        match first {
            Some(failed) => self.fails(Type::Ready, failed.reason, failed.message),
            None => self.holds(Type::Ready, "Ready", "the proxies serve with valid certificates"),
        }
        let mut events = self.events;
        for finding in &self.findings {
            let status = if finding.holds { "True" } else { "False" };
            let old = conditions.iter().find(|condition| condition.type_ == finding.kind.name());
            let is_new = old
                .is_none_or(|old| old.status != status || (!finding.holds && old.message != finding.message));
            // Ready repeats another condition, and its event.
            if is_new && finding.kind != Type::Ready {
                let reason = if finding.holds { finding.kind.success() } else { finding.kind.failure() };
                events.push(Told { is_warning: !finding.holds, reason, note: finding.message.clone() });
            }
            let condition = Condition {
                type_: finding.kind.name().to_owned(),
                status: status.to_owned(),
                reason: finding.reason.to_owned(),
                message: finding.message.clone(),
                observed_generation: generation,
                last_transition_time: Time(now),
            };
            set_condition(&mut conditions, condition, now);
        }
        let status = EtcdStorageStatus {
            observed_generation: generation,
            endpoint: self.endpoint,
            data_on_deletion: self.data_on_deletion,
            certificates_expire: self.expires.map(|time| time.to_string()),
            certificates: self.certificates,
            destinations: self.destinations,
            conditions,
        };
        (status, events)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn storage() -> EtcdStorage {
        serde_json::from_value(json!({
            "apiVersion": "etcd.xmudrii.com/v1alpha1", "kind": "EtcdStorage", "metadata": {"name": "a", "generation": 3},
            "spec": {"signingCertificateValidity": "1h", "servingCertificateValidity": "1h", "clientCertificateValidity": "1h"},
        }))
        .unwrap()
    }

    fn found(certificates: Option<&str>) -> Report {
        let mut report = Report::default();
        report.holds(Type::Deployed, "Deployed", "all is there");
        match certificates {
            None => report.holds(Type::CertificatesReady, "Issued", "all are valid"),
            Some(message) => report.fails(Type::CertificatesReady, "DestinationMissing", message),
        }
        report
    }

    #[test]
    fn each_change_is_told_once() {
        let mut storage = storage();
        let mut tell = |report: Report| {
            let (status, events) = report.status(&storage, Timestamp::UNIX_EPOCH);
            let ready = status.conditions.iter().find(|one| one.type_ == "Ready").unwrap().clone();
            storage.status = Some(status);
            (
                ready.status + " " + &ready.reason,
                events.into_iter().map(|event| event.reason).collect::<Vec<_>>(),
            )
        };
        let missing =
            ("False DestinationMissing".to_owned(), vec!["EtcdStorageDeployed", "CertificatesDeployFailure"]);
        assert_eq!(tell(found(Some("a is missing"))), missing);
        assert_eq!(tell(found(Some("a is missing"))).1, Vec::<&str>::new());
        assert_eq!(tell(found(Some("b is missing"))).1, ["CertificatesDeployFailure"]);
        assert_eq!(tell(found(None)), ("True Ready".to_owned(), vec!["CertificatesDeployed"]));
        assert_eq!(tell(found(None)).1, Vec::<&str>::new());
    }

    #[test]
    fn the_first_end_counts() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut report = Report::default();
        report.ends(at(30), at(20));
        report.ends(at(20), at(15));
        report.due(at(17));
        assert_eq!((report.expires, report.due), (Some(at(20)), Some(at(15))));
    }
}
