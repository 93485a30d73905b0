//! The replicas of a controller: they show that they live, and share the clusters by a hash.
//!
//! The share only spreads the work. Two replicas that both work on a cluster for a moment do no harm, since the lease of
//! the cluster's head lets one of them apply.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use slipway_state_store::Digest;

/// How far the clocks of two machines may differ.
const SKEW: SignedDuration = SignedDuration::from_secs(30);

/// The replicas of a controller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Members {
    /// By their identity.
    pub replicas: BTreeMap<String, Replica>,
    /// When a replica that has ended showed last that it lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
}

/// A replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replica {
    /// Counts how often it showed that it lives.
    pub beats: u64,
    /// Since when it runs, by its wall clock; for people.
    pub since: Timestamp,
    /// When it showed last that it lives, by its wall clock; for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Timestamp>,
    /// Until when it counts as living if it does not show it again, by its wall clock; for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
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
        let own = self.replicas.entry(me.to_owned()).or_insert(Replica {
            beats: 0,
            since,
            seen: None,
            until: None,
        });
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

    /// The members with the time of a beat of a replica, for people.
    #[must_use]
    pub fn signed(mut self, me: &str, now: Timestamp, term: Duration) -> Self {
        if let Some(own) = self.replicas.get_mut(me) {
            own.seen = Some(now);
            own.until = now.checked_add(term).ok();
        }
        self
    }

    /// The members without a replica, which ends.
    #[must_use]
    pub fn without(mut self, me: &str) -> Self {
        let seen = self.replicas.remove(me).and_then(|replica| replica.seen);
        self.last = self.last.max(seen);
        self
    }

    /// Whether a replica lives, as far as the wall clocks of both machines tell.
    #[must_use]
    pub fn live(&self, now: Timestamp) -> bool {
        let lives = |replica: &Replica| replica.until.is_none_or(|until| now.duration_since(until) < SKEW);
        self.replicas.values().any(lives)
    }

    /// When a replica showed last that it lives, if that is known.
    #[must_use]
    pub fn last_sign(&self) -> Option<Timestamp> {
        self.replicas.values().filter_map(|replica| replica.seen).max().max(self.last)
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
    fn the_last_sign_of_life_outlives_its_replica() {
        let second = |second| Timestamp::from_second(second).unwrap();
        let members = Members::default().beat("a", second(0), &mut Seen::default(), at(100));
        let members = members.signed("a", second(100), TERM);
        assert!(members.live(second(112)) && members.live(second(141)), "a clock may differ");
        assert!(!members.live(second(142)), "it was killed");
        assert_eq!(members.last_sign(), Some(second(100)));
        let members = members.without("a");
        assert!(!members.live(second(101)), "it has ended");
        assert_eq!(members.last_sign(), Some(second(100)));
        assert_eq!(Members::default().last_sign(), None);
    }

    #[test]
    fn replicas_share_evenly_and_only_the_share_of_one_that_leaves_moves() {
        let replica = |_| Replica { beats: 1, since: Timestamp::UNIX_EPOCH, seen: None, until: None };
        let replicas = (0..10).map(|n| (format!("host_{n}"), replica(n))).collect();
        let all = Members { replicas, last: None };
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
