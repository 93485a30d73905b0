//! The Lease that records the leader: its content, and when it may be taken.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};

use crate::election::{Election, Terms};

/// The observation of the lease by a process that does not lead.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    spec: Option<LeaseSpec>,
    /// When this version of the lease was first seen.
    since: Duration,
}

impl Seen {
    /// Whether the lease may be taken: it is free, or it has not changed for the term of its holder.
    pub(crate) fn may_be_taken(&mut self, lease: &Lease, terms: Terms, now: Duration) -> bool {
        let spec = lease.spec.clone().unwrap_or_default();
        if spec.holder_identity.as_deref().unwrap_or_default().is_empty() {
            return true;
        }
        if self.spec.as_ref() != Some(&spec) {
            self.since = now;
        }
        let given = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let patience = given.map_or(terms.lease_duration, Duration::from_secs).max(terms.lease_duration);
        self.spec = Some(spec);
        now.saturating_sub(self.since) >= patience
    }
}

/// The holder of a lease; `None` if it is free.
pub(crate) fn holder(lease: &Lease) -> Option<&str> {
    lease.spec.as_ref()?.holder_identity.as_deref().filter(|holder| !holder.is_empty())
}

/// A new lease, held.
pub(crate) fn created(election: &Election, now: Timestamp) -> Lease {
    Lease {
        metadata: ObjectMeta {
            name: Some(election.name.clone()),
            namespace: Some(election.namespace.clone()),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(election.identity.clone()),
            lease_duration_seconds: Some(seconds(election.terms.lease_duration)),
            acquire_time: Some(MicroTime(now)),
            renew_time: Some(MicroTime(now)),
            lease_transitions: Some(0),
            ..LeaseSpec::default()
        }),
    }
}

/// A lease with another holder than before.
pub(crate) fn taken(mut lease: Lease, election: &Election, now: Timestamp) -> Lease {
    let spec = lease.spec.get_or_insert_default();
    spec.holder_identity = Some(election.identity.clone());
    spec.lease_duration_seconds = Some(seconds(election.terms.lease_duration));
    spec.acquire_time = Some(MicroTime(now));
    spec.renew_time = Some(MicroTime(now));
    spec.lease_transitions = Some(spec.lease_transitions.unwrap_or_default().saturating_add(1));
    lease
}

/// A lease that its holder renews.
pub(crate) fn renewed(mut lease: Lease, now: Timestamp) -> Lease {
    lease.spec.get_or_insert_default().renew_time = Some(MicroTime(now));
    lease
}

/// A lease that its holder releases.
pub(crate) fn released(mut lease: Lease, now: Timestamp) -> Lease {
    let spec = lease.spec.get_or_insert_default();
    spec.holder_identity = Some(String::new());
    spec.lease_duration_seconds = Some(1);
    spec.renew_time = Some(MicroTime(now));
    lease
}

fn seconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_secs()).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn election() -> Election {
        Election {
            namespace: "kube-system".to_owned(),
            name: "a".to_owned(),
            identity: "me".to_owned(),
            terms: Terms::default(),
        }
    }

    #[test]
    fn a_lease_is_taken_when_it_stood_unchanged_for_its_time() {
        let second = Duration::from_secs;
        let terms = Terms::default();
        let lease = created(&Election { identity: "other".to_owned(), ..election() }, Timestamp::UNIX_EPOCH);
        let mut seen = Seen::default();
        // The renewal is old by the wall clock: only the observed time counts.
        assert!(!seen.may_be_taken(&lease, terms, second(100)));
        assert!(!seen.may_be_taken(&lease, terms, second(114)));
        let later = renewed(lease, Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(2));
        assert!(!seen.may_be_taken(&later, terms, second(116)));
        assert!(!seen.may_be_taken(&later, terms, second(130)));
        assert!(seen.may_be_taken(&later, terms, second(131)));
        assert!(Seen::default().may_be_taken(&released(later, Timestamp::UNIX_EPOCH), terms, second(0)));
    }

    #[test]
    fn the_transitions_of_a_lease_are_counted() {
        let lease = created(&Election { identity: "other".to_owned(), ..election() }, Timestamp::UNIX_EPOCH);
        let lease = taken(lease, &election(), Timestamp::UNIX_EPOCH);
        assert_eq!(holder(&lease), Some("me"));
        assert_eq!(lease.spec.as_ref().unwrap().lease_transitions, Some(1));
        assert_eq!(holder(&released(lease, Timestamp::UNIX_EPOCH)), None);
    }
}
