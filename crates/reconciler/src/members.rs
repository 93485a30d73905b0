//! The replicas of a controller: they show that they live, and share the clusters by a hash.
//!
//! The share only spreads the work. Two replicas that both work on a cluster for a moment do no harm, since the lease of
//! the cluster's head lets one of them apply.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use slipway_state_store::Digest;

/// The replicas of a controller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Members {
    /// By their identity.
    pub replicas: BTreeMap<String, Replica>,
}

/// A replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replica {
    /// Counts how often it showed that it lives.
    pub beats: u64,
    /// Since when it runs, by its wall clock; for people.
    pub since: Timestamp,
}

/// When the other replicas showed last that they live, by the clock of this process.
#[derive(Clone, Debug, Default)]
pub struct Seen(HashMap<String, (u64, Duration)>);

impl Members {
    /// The members after a beat of a replica: it is counted, and those are removed that were silent for the term. `now` is
    /// the time of a clock that counts on while the machine sleeps.
    #[must_use]
    pub fn beat(
        mut self,
        me: &str,
        since: Timestamp,
        seen: &mut Seen,
        (now, term): (Duration, Duration),
    ) -> Self {
        let own = self.replicas.entry(me.to_owned()).or_insert(Replica { beats: 0, since });
        own.beats += 1;
        seen.0.retain(|name, _| self.replicas.contains_key(name));
        self.replicas.retain(|name, replica| {
            let (beats, last) = seen.0.entry(name.clone()).or_insert((replica.beats, now));
            if *beats != replica.beats {
                (*beats, *last) = (replica.beats, now);
            }
            name == me || now.saturating_sub(*last) < term
        });
        self
    }

    /// The members without a replica, which ends.
    #[must_use]
    pub fn without(mut self, me: &str) -> Self {
        self.replicas.remove(me);
        self
    }

    /// The replica that works on a subject, by the highest hash of both names; `None` without replicas. When a replica comes
    /// or goes, only its own subjects change hands.
    #[must_use]
    pub fn owner(&self, subject: &str) -> Option<&str> {
        let weight = |name: &&String| Digest::of(format!("{name}\n{subject}").as_bytes());
        self.replicas.keys().max_by_key(weight).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERM: Duration = Duration::from_secs(12);

    fn at(seconds: u64) -> (Duration, Duration) {
        (Duration::from_secs(seconds), TERM)
    }

    #[test]
    fn a_silent_replica_is_removed_after_its_term() {
        let since = Timestamp::UNIX_EPOCH;
        let mut seen = Seen::default();
        let members = Members::default().beat("b", since, &mut Seen::default(), at(0));
        let members = members.beat("a", since, &mut seen, at(100));
        let members = members.beat("b", since, &mut Seen::default(), at(0));
        let members = members.beat("a", since, &mut seen, at(103)).beat("a", since, &mut seen, at(114));
        assert_eq!(members.replicas.len(), 2, "its last beat was seen at 103");
        let members = members.beat("a", since, &mut seen, at(115));
        assert_eq!(members.replicas.keys().collect::<Vec<_>>(), ["a"]);
        assert!(members.without("a").replicas.is_empty());
    }

    #[test]
    fn replicas_share_evenly_and_only_the_share_of_one_that_leaves_moves() {
        let replica = |_| Replica { beats: 1, since: Timestamp::UNIX_EPOCH };
        let all: Members = Members { replicas: (0..10).map(|n| (format!("host_{n}"), replica(n))).collect() };
        let less = all.clone().without("host_3");
        let mut shares: BTreeMap<&str, usize> = BTreeMap::new();
        for subject in (0..5_000).map(|n| format!("cluster-{n}")) {
            let owner = all.owner(&subject).unwrap();
            *shares.entry(owner).or_default() += 1;
            if owner != "host_3" {
                assert_eq!(less.owner(&subject), Some(owner));
            }
        }
        assert!(shares.len() == 10 && shares.values().all(|share| (400..600).contains(share)), "{shares:?}");
        assert_eq!(Members::default().owner("a"), None);
    }
}
