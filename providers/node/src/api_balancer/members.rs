//! The API servers that the balancer knows, their health, and the connections to each.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

/// The largest number of members.
const MOST: usize = 64;

/// How long connections to a member stay at most that is not ready or refuses connections. One that shuts down ends them
/// itself.
const DRAIN: Duration = Duration::from_secs(10);

/// In how many lists of the cluster in turn a member may be missing: an API server that restarts is missing in one.
const ABSENCES: u32 = 2;

/// The health of a member, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Health {
    /// It says that it is ready.
    Ready,
    /// It was not asked yet.
    Unknown,
    /// It answers that it is not ready.
    Unready,
    /// It does not answer.
    Down,
}

/// The result of a question to a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// It is ready.
    Ready,
    /// It answers, and is not ready.
    Unready(String),
    /// Its machine refuses the connection, or another server answers.
    Refused(String),
    /// Nothing answers in time.
    Silent(String),
}

struct Member {
    health: Health,
    /// Since when it is not ready; none when it is, or when it is not known.
    failing: Option<Instant>,
    /// How many questions in turn had no answer.
    silent: u32,
    connections: usize,
    /// Whether the settings name it.
    is_named: bool,
    /// In how many lists of the cluster in turn it was missing. None where the cluster never listed it.
    missing: Option<u32>,
    /// Ends the connections.
    closing: CancellationToken,
    /// Ends the connections, each as soon as it is quiet.
    leaving: CancellationToken,
}

impl Member {
    fn new() -> Self {
        Self {
            health: Health::Unknown,
            failing: None,
            silent: 0,
            connections: 0,
            is_named: false,
            missing: None,
            closing: CancellationToken::new(),
            leaving: CancellationToken::new(),
        }
    }

    fn close(&mut self) {
        self.closing.cancel();
        self.closing = CancellationToken::new();
    }

    fn leave(&mut self) {
        self.leaving.cancel();
        self.leaving = CancellationToken::new();
    }
}

#[derive(Default)]
struct Table {
    own: Option<SocketAddr>,
    members: BTreeMap<SocketAddr, Member>,
    /// Which of several equal members is next.
    turn: usize,
}

/// The members of a balancer.
#[derive(Default)]
pub(super) struct Members(Mutex<Table>);

/// A connection to a member, counted until it is dropped.
pub(super) struct Held {
    members: Arc<Members>,
    address: SocketAddr,
    /// Cancelled when the connection has to end.
    pub(super) closing: CancellationToken,
    /// Cancelled when the connection has to end as soon as nothing is under way on it.
    pub(super) leaving: CancellationToken,
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(member) = self.members.table().members.get_mut(&self.address) {
            member.connections = member.connections.saturating_sub(1);
        }
    }
}

impl Members {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over the members of the settings. A member that is neither named nor listed by the cluster any more is removed,
    /// and its connections end.
    pub(super) fn name(&self, named: &[SocketAddr], own: Option<SocketAddr>) {
        let mut table = self.table();
        table.own = own;
        for address in named.iter().take(MOST) {
            table.members.entry(*address).or_insert_with(Member::new);
        }
        for (address, member) in &mut table.members {
            member.is_named = named.contains(address);
        }
        table.remove_unwanted();
    }

    /// Takes over a list of the cluster. Returns whether the members that it listed changed.
    pub(super) fn list(&self, listed: &BTreeSet<SocketAddr>) -> bool {
        let mut table = self.table();
        let before = table.listed();
        for address in listed.iter().take(MOST) {
            if table.members.len() < MOST || table.members.contains_key(address) {
                table.members.entry(*address).or_insert_with(Member::new).missing = Some(0);
            }
        }
        for (_, member) in table.members.iter_mut().filter(|(address, _)| !listed.contains(address)) {
            member.missing = member.missing.map(|missing| missing.saturating_add(1));
        }
        table.remove_unwanted();
        table.listed() != before
    }

    /// The members that the cluster listed.
    pub(super) fn listed(&self) -> BTreeSet<SocketAddr> {
        self.table().listed()
    }

    /// All members.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        self.table().members.keys().copied().collect()
    }

    /// Takes over the answer of a member. Returns its health before and after, when it changed.
    pub(super) fn found(&self, address: SocketAddr, finding: &Finding) -> Option<(Health, Health)> {
        let mut table = self.table();
        let member = table.members.get_mut(&address)?;
        let before = member.health;
        member.silent =
            if matches!(finding, Finding::Silent(_)) { member.silent.saturating_add(1) } else { 0 };
        member.health = match finding {
            Finding::Ready => Health::Ready,
            Finding::Unready(_) => Health::Unready,
            Finding::Refused(_) | Finding::Silent(_) => Health::Down,
        };
        member.failing = match finding {
            Finding::Ready => None,
            _ => Some(member.failing.unwrap_or_else(Instant::now)),
        };
        let after = member.health;
        table.close_failing(address);
        (before != after).then_some((before, after))
    }

    /// Notes that a connection to a member failed: the next clients try another one first.
    pub(super) fn failed(&self, address: SocketAddr) {
        if let Some(member) = self.table().members.get_mut(&address) {
            member.health = Health::Down;
            member.failing.get_or_insert_with(Instant::now);
        }
    }

    /// The members in the order in which a client tries them: ready ones first, of those the API server of this machine, then
    /// the one with the fewest connections. A member that is not ready comes last and is tried all the same: the balancer may
    /// be wrong about it.
    pub(super) fn order(&self) -> Vec<SocketAddr> {
        let mut table = self.table();
        table.turn = table.turn.wrapping_add(1);
        let (turn, count, own) = (table.turn, table.members.len().max(1), table.own);
        let mut order: Vec<_> = table
            .members
            .iter()
            .enumerate()
            .map(|(place, (address, member))| {
                let is_other = Some(*address) != own;
                ((member.health, is_other, member.connections, (place + turn) % count), *address)
            })
            .collect();
        order.sort_unstable();
        order.into_iter().map(|(_, address)| address).collect()
    }

    /// Counts a connection to a member; none when it was removed.
    pub(super) fn hold(self: &Arc<Self>, address: SocketAddr) -> Option<Held> {
        let mut table = self.table();
        let member = table.members.get_mut(&address)?;
        member.connections += 1;
        let (closing, leaving) = (member.closing.clone(), member.leaving.clone());
        Some(Held { members: Arc::clone(self), address, closing, leaving })
    }
}

impl Table {
    fn listed(&self) -> BTreeSet<SocketAddr> {
        self.members
            .iter()
            .filter(|(_, member)| member.missing.is_some())
            .map(|(address, _)| *address)
            .collect()
    }

    fn remove_unwanted(&mut self) {
        self.members.retain(|_, member| {
            if member.missing.is_some_and(|missing| missing >= ABSENCES) {
                member.missing = None;
            }
            let stays = member.is_named || member.missing.is_some();
            if !stays {
                member.closing.cancel();
            }
            stays
        });
    }

    /// Ends the connections to a member that is not ready, if there is a ready one for its clients: at first only those that are
    /// quiet, since a member that shuts down still answers.
    fn close_failing(&mut self, address: SocketAddr) {
        let has_ready = self.members.values().any(|member| member.health == Health::Ready);
        let Some(member) = self.members.get_mut(&address).filter(|_| has_ready) else { return };
        // A machine without power never ends its connections.
        let is_gone = member.silent >= 2;
        let is_over = member.failing.is_some_and(|since| since.elapsed() >= DRAIN);
        if is_gone || is_over {
            member.close();
        } else if member.health == Health::Unready {
            member.leave();
        }
    }
}

#[cfg(test)]
mod tests;
