//! How a contender acquires a cluster: a pure state machine over its looks at the head.

use std::time::Duration;

use super::protocol::{self, Claim, Presence, Refusal};
use super::{Head, Holding};
use crate::name::ClusterName;

/// A contender: its claim, and its observation of the present holder.
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

/// The times of a look at the head, on the contender's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Look {
    /// Time of the request.
    pub asked: Duration,
    /// Time of the answer.
    pub answered: Duration,
}

/// The next action of a contender.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    /// Swaps the head that it has read, or its absence, for this one.
    Swap(Box<Head>),
    /// Looks again. At `until`, on the contender's own clock, the holder counts as silent.
    Wait {
        /// The present holder.
        holder: Box<Holding>,
        /// The end of its term, if the head does not change.
        until: Duration,
    },
    /// There is no cluster, and the claim does not create one.
    NoCluster,
}

impl<T: Clone + PartialEq> Contender<T> {
    /// A contender that has not yet read the head.
    pub fn new(cluster: ClusterName, claim: Claim) -> Self {
        Self { cluster, claim, watch: None }
    }

    /// Its claim.
    pub fn claim(&self) -> &Claim {
        &self.claim
    }

    /// Processes a look at the head. `is_dead` says whether a holder is a dead process of this host.
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

    /// A holder is silent when this version of the head has stayed in place for a full term.
    fn presence(&mut self, holder: &Holding, tag: &T, look: Look) -> Presence {
        match &self.watch {
            Some(watch) if watch.tag == *tag => {
                if look.asked.saturating_sub(watch.since) >= holder.lease.term() {
                    return Presence::Silent;
                }
            }
            // The term counts from the answer: the version that it shows was written before.
            _ => self.watch = Some(Watch { tag: tag.clone(), since: look.answered }),
        }
        Presence::Assumed
    }
}
