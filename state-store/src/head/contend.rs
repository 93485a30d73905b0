//! How a contender comes to hold a cluster: what it makes of each look at the head, as a pure state machine.

use std::time::Duration;

use super::protocol::{self, Claim, Presence, Refusal};
use super::{Head, Holding};
use crate::name::ClusterName;

/// A contender: its claim, and what it has seen of the present holder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Contender<T> {
    cluster: ClusterName,
    claim: Claim,
    watch: Option<Watch<T>>,
}

/// A version of the head, and when it was first seen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Watch<T> {
    tag: T,
    since: Duration,
}

/// When a look at the head was taken, on the contender's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Look {
    /// When the head was asked for.
    pub asked: Duration,
    /// When the answer was there.
    pub answered: Duration,
}

/// What a contender does next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    /// Swaps the head that it has seen, or its absence, for this one.
    Swap(Box<Head>),
    /// Looks again; whoever holds the cluster counts as silent at `until`, on the contender's own clock.
    Wait {
        /// Who holds it.
        holder: Box<Holding>,
        /// When its term is over, if nothing changes.
        until: Duration,
    },
    /// There is no cluster, and none was to be made.
    NoCluster,
}

impl<T: Clone + PartialEq> Contender<T> {
    /// A contender that has not looked yet.
    pub fn new(cluster: ClusterName, claim: Claim) -> Self {
        Self { cluster, claim, watch: None }
    }

    /// Its claim.
    pub fn claim(&self) -> &Claim {
        &self.claim
    }

    /// Takes in a look at the head. `is_dead` tells whether a holder is a process of this host that is no more.
    pub fn look(
        &mut self,
        stored: Option<(&Head, &T)>,
        look: Look,
        is_dead: impl FnOnce(&Holding) -> bool,
        salt: String,
    ) -> Turn {
        let presence = match stored {
            Some((Head { holder: Some(holder), .. }, _)) if is_dead(holder) => Presence::Dead,
            Some((Head { holder: Some(holder), .. }, tag)) => self.presence(holder, tag, look),
            _ => Presence::Assumed,
        };
        let head = stored.map(|(head, _)| head);
        match protocol::acquire(&self.cluster, head, &self.claim, presence, salt) {
            Ok(next) => Turn::Swap(Box::new(next)),
            Err(Refusal::Held(holder)) => {
                let since = self.watch.as_ref().map_or(look.answered, |watch| watch.since);
                let until = since + holder.lease.term();
                Turn::Wait { holder, until }
            }
            Err(Refusal::NoCluster | Refusal::Lost { .. } | Refusal::OutOfTurn { .. }) => Turn::NoCluster,
        }
    }

    /// Silent is who left this very version of the head in place for a full term.
    fn presence(&mut self, holder: &Holding, tag: &T, look: Look) -> Presence {
        match &self.watch {
            Some(watch) if watch.tag == *tag => {
                if look.asked.saturating_sub(watch.since) >= holder.lease.term() {
                    return Presence::Silent;
                }
            }
            // It counts from when the answer was there: what it shows was sent before.
            _ => self.watch = Some(Watch { tag: tag.clone(), since: look.answered }),
        }
        Presence::Assumed
    }
}
