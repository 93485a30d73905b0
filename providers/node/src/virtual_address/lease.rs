//! The Lease as a document of the API.
//!
//! Its fields are those of `coordination.k8s.io/v1`. What others added to it stays.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use slipway_bootstrap::objects::{SYSTEM, VIRTUAL_ADDRESS_LEASE};

use super::election::LEASE;

/// A Lease.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lease(Value);

impl Lease {
    /// A new one.
    pub(super) fn created(identity: &str, now: Timestamp) -> Self {
        let mut lease = Self(json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": { "name": VIRTUAL_ADDRESS_LEASE, "namespace": SYSTEM },
            "spec": { "leaseTransitions": 0 },
        }));
        lease.hold(identity, now);
        lease
    }

    /// The Lease of an answer; none when it is not one.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let lease: Value = serde_json::from_slice(text).ok()?;
        (lease["kind"] == "Lease" && lease["metadata"]["resourceVersion"].is_string()).then_some(Self(lease))
    }

    /// The same, with another holder from now on.
    pub(super) fn taken(mut self, identity: &str, now: Timestamp) -> Self {
        let transitions = self.0["spec"]["leaseTransitions"].as_i64().unwrap_or_default();
        self.part("leaseTransitions", transitions.saturating_add(1).into());
        self.hold(identity, now);
        self
    }

    /// The same, renewed.
    pub(super) fn renewed(&self, now: Timestamp) -> Self {
        let mut lease = self.clone();
        lease.part("renewTime", time(now));
        lease
    }

    /// The same without a holder: others need not wait.
    pub(super) fn given_back(&self, now: Timestamp) -> Self {
        let mut lease = self.renewed(now);
        lease.part("holderIdentity", Value::Null);
        lease
    }

    fn hold(&mut self, identity: &str, now: Timestamp) {
        self.part("holderIdentity", identity.into());
        self.part("leaseDurationSeconds", LEASE.as_secs().into());
        self.part("acquireTime", time(now));
        self.part("renewTime", time(now));
    }

    fn part(&mut self, name: &str, value: Value) {
        if !self.0["spec"].is_object() {
            self.0["spec"] = json!({});
        }
        self.0["spec"][name] = value;
    }

    /// The holder, if there is one.
    pub(super) fn holder(&self) -> Option<&str> {
        self.0["spec"]["holderIdentity"].as_str().filter(|holder| !holder.is_empty())
    }

    /// The version, which each write changes.
    pub(super) fn version(&self) -> &str {
        self.0["metadata"]["resourceVersion"].as_str().unwrap_or_default()
    }

    /// How long it is valid after a renewal.
    pub(super) fn duration(&self) -> Duration {
        Duration::from_secs(self.0["spec"]["leaseDurationSeconds"].as_u64().unwrap_or_default())
    }

    /// Its document.
    pub(super) const fn document(&self) -> &Value {
        &self.0
    }

    #[cfg(test)]
    pub(super) fn set_version(&mut self, version: &str) {
        self.0["metadata"]["resourceVersion"] = version.into();
    }
}

/// A time as the API has it, with microseconds.
fn time(now: Timestamp) -> Value {
    format!("{now:.6}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_has_the_fields_of_the_api() {
        let now: Timestamp = "2026-01-02T03:04:05.5Z".parse().unwrap();
        let lease = Lease::created("cp-0", now);
        assert_eq!(
            lease.document()["spec"],
            json!({
                "holderIdentity": "cp-0", "leaseDurationSeconds": 2, "leaseTransitions": 0,
                "acquireTime": "2026-01-02T03:04:05.500000Z", "renewTime": "2026-01-02T03:04:05.500000Z",
            })
        );
        let later: Timestamp = "2026-01-02T03:04:06Z".parse().unwrap();
        let taken = lease.taken("cp-1", later);
        assert_eq!((taken.holder(), taken.duration()), (Some("cp-1"), LEASE));
        assert_eq!(taken.document()["spec"]["leaseTransitions"], 1);
        let renewed = taken.renewed(now);
        assert_eq!(renewed.document()["spec"]["renewTime"], "2026-01-02T03:04:05.500000Z");
        assert_eq!(renewed.document()["spec"]["acquireTime"], "2026-01-02T03:04:06.000000Z");
        assert_eq!(renewed.given_back(now).holder(), None);
    }

    #[test]
    fn only_a_lease_is_read_as_one() {
        let text = br#"{"kind":"Lease","metadata":{"resourceVersion":"7"}}"#;
        let lease = Lease::read(text).unwrap();
        assert_eq!((lease.version(), lease.holder(), lease.duration()), ("7", None, Duration::ZERO));
        assert_eq!(lease.taken("cp-0", Timestamp::UNIX_EPOCH).holder(), Some("cp-0"));
        for other in [&b"{}"[..], b"", br#"{"kind":"Status","metadata":{}}"#] {
            assert_eq!(Lease::read(other), None);
        }
    }
}
