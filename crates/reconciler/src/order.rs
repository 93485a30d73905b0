//! Order among clusters: which clusters have to be in line with the present revision before a plan of another one is applied.
//!
//! Pure: the same specs, statuses and time give the same answer on every replica. Plans are made whatever the order says.
//! The order counts only for a spec that a cluster has not got yet: one with which it is in line, or whose run has begun,
//! is not held again, so that drift is reverted and runs are finished at any time.

mod dependencies;
pub(crate) mod graph;
mod standing;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use slipway_resource::pattern::matches;

use crate::board::Board;
use crate::configuration::Waves;
use crate::status::Status;
use dependencies::{Node, dependencies, in_circle};
use standing::Standing;

/// A cluster in the order.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// The name of its source.
    pub source: String,
    /// Its wave.
    pub wave: i32,
    /// The clusters that it waits for besides: names and patterns.
    pub after: Vec<String>,
    /// Its spec; `None` if that cannot be read.
    pub spec: Option<Spec>,
    /// Why nothing is applied for it.
    pub blocked: Option<String>,
}

/// The spec of a cluster in the present revision of its source.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    /// The path in the source.
    pub path: String,
    /// The digest of the files in the path.
    pub digest: String,
    /// The revision.
    pub revision: String,
}

/// A source whose clusters have an order.
#[derive(Clone, Debug)]
pub(crate) struct Ordered {
    /// The settings of its waves.
    pub waves: Waves,
    /// The lowest wave of its rules.
    pub first: i32,
    /// Paths whose specs cannot be read and of which no cluster is known: in which wave they are is not known either.
    pub unread: BTreeSet<String>,
}

/// The order among all clusters of a controller.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// The name of the controller.
    controller: String,
    sources: BTreeMap<String, Ordered>,
    members: BTreeMap<String, Member>,
    /// The places of the clusters in an order in which each comes after those that it waits for.
    ranks: BTreeMap<String, usize>,
    /// Clusters that can never be applied, since they wait for each other.
    circles: BTreeMap<String, Wait>,
}

/// The clusters as they are now.
#[derive(Debug)]
pub(crate) struct View<'a> {
    /// The statuses that are known, by cluster.
    pub statuses: BTreeMap<&'a str, &'a Status>,
    /// The pauses.
    pub board: &'a Board,
    /// The time.
    pub now: Timestamp,
}

/// Why a plan of a cluster is not applied yet. As text `prod-eu-1: the last attempt failed: …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The cluster that it waits for; a pattern or a path where no cluster is known.
    pub subject: String,
    /// Why, in one line.
    pub why: String,
    /// When that ends by itself.
    pub until: Option<Timestamp>,
}

impl std::fmt::Display for Wait {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.subject, self.why)
    }
}

impl Wait {
    fn new(subject: impl Into<String>, why: impl Into<String>) -> Self {
        Self { subject: subject.into(), why: why.into(), until: None }
    }
}

impl Order {
    /// The order among clusters, by the names of sources and of clusters.
    pub fn new(
        controller: &str,
        sources: BTreeMap<String, Ordered>,
        members: BTreeMap<String, Member>,
    ) -> Self {
        let waits = dependencies(&members);
        let sorted = graph::sort(&waits);
        let ranked = sorted.order.iter().filter_map(Node::cluster).cloned().enumerate();
        let ranks = ranked.map(|(rank, name)| (name, rank)).collect();
        let circles = sorted.left.iter().filter_map(|node| {
            let name = node.cluster()?;
            let circle = graph::circle(&waits, &sorted.left, node);
            let names: Vec<&str> = circle.iter().filter_map(Node::cluster).map(String::as_str).collect();
            Some((name.clone(), in_circle(name, &names)))
        });
        let circles = circles.collect();
        Self { controller: controller.to_owned(), sources, members, ranks, circles }
    }

    /// Why a plan of a cluster that comes from a change of its spec is not applied now.
    pub fn waits(&self, cluster: &str, view: &View<'_>) -> Option<Wait> {
        let member = self.members.get(cluster)?;
        self.for_turn(cluster, member, view)
            .or_else(|| self.for_look(cluster, member, view))
            .or_else(|| self.for_place(cluster, member, view))
    }

    /// The clusters that are planned once more before the turn of another one, which waits for nothing else.
    pub fn to_look_at(&self, cluster: &str, view: &View<'_>) -> Vec<String> {
        let Some(member) = self.members.get(cluster) else { return Vec::new() };
        if self.for_turn(cluster, member, view).is_some() {
            return Vec::new();
        }
        self.stale(cluster, member, view).cloned().collect()
    }

    /// The clusters that let one wait, as far as their statuses say.
    pub fn open<'a>(&'a self, waiting: &'a str, view: &'a View<'a>) -> BTreeSet<&'a String> {
        let stale = self.members.get(waiting).map(|member| self.stale(waiting, member, view));
        let unready = self.relevant(waiting).filter(|name| !self.is_ready(name, view));
        unready.chain(stale.into_iter().flatten()).collect()
    }

    fn for_turn(&self, cluster: &str, member: &Member, view: &View<'_>) -> Option<Wait> {
        self.circles
            .get(cluster)
            .cloned()
            .or_else(|| self.for_missing(member))
            .or_else(|| self.for_unread(member))
            .or_else(|| self.for_others(cluster, member, view))
            .or_else(|| self.for_soak(member, view))
    }

    /// The clusters on whose statuses it depends whether a cluster waits.
    pub fn relevant<'a>(&'a self, cluster: &'a str) -> impl Iterator<Item = &'a String> {
        self.members.get(cluster).into_iter().flat_map(move |member| {
            let source = self.sources.get(&member.source);
            let is_limited = source.is_some_and(|source| source.waves.max_at_once.is_some());
            let relevant = self.members.iter().filter(move |(name, other)| {
                let is_neighbour = is_limited && other.source == member.source;
                name.as_str() != cluster && (is_neighbour || precedes(name, other, member))
            });
            relevant.map(|(name, _)| name)
        })
    }

    /// Whether a cluster is in line with its spec and healthy.
    fn is_ready(&self, cluster: &str, view: &View<'_>) -> bool {
        let member = self.members.get(cluster);
        member.is_some_and(|member| matches!(self.standing(cluster, member, view), Standing::Ready(_)))
    }

    /// The clusters that one waits for.
    fn before<'a>(
        &'a self,
        cluster: &'a str,
        member: &'a Member,
    ) -> impl Iterator<Item = (&'a String, &'a Member)> {
        self.members
            .iter()
            .filter(move |(name, other)| name.as_str() != cluster && precedes(name, other, member))
    }

    fn rank(&self, cluster: &str) -> usize {
        self.ranks.get(cluster).copied().unwrap_or(usize::MAX)
    }

    /// A dependency that does not exist is waited for: it may be misspelt, or come with the next revision.
    fn for_missing(&self, member: &Member) -> Option<Wait> {
        let entry =
            member.after.iter().find(|entry| !self.members.keys().any(|name| matches(entry, name)))?;
        let why = "`after` names it, and no source that was read has the spec of such a cluster";
        Some(Wait::new(entry.as_str(), why))
    }

    fn for_unread(&self, member: &Member) -> Option<Wait> {
        let source = self.sources.get(&member.source).filter(|source| member.wave > source.first)?;
        let path = source.unread.first()?;
        Some(Wait::new(path.as_str(), "its specs cannot be read, so its clusters may be in a lower wave"))
    }

    /// The first cluster that is not in line: one whose attempts failed before others, then by wave.
    fn for_others(&self, cluster: &str, member: &Member, view: &View<'_>) -> Option<Wait> {
        let open = self.before(cluster, member).filter_map(|(name, other)| {
            let standing = self.standing(name, other, view);
            let urgency = match standing {
                Standing::Ready(_) => return None,
                Standing::Stopped => 0,
                Standing::Open => 1,
            };
            Some(((urgency, other.wave, self.rank(name)), name, other))
        });
        let (_, name, other) = open.min_by_key(|(key, ..)| *key)?;
        Some(Wait::new(name.as_str(), self.why(name, other, view)))
    }

    fn for_soak(&self, member: &Member, view: &View<'_>) -> Option<Wait> {
        let soak = self.sources.get(&member.source)?.waves.soak;
        if soak.is_zero() {
            return None;
        }
        let lower = self
            .members
            .iter()
            .filter(|(_, other)| other.source == member.source && other.wave < member.wave)
            .filter_map(|(name, other)| match self.standing(name, other, view) {
                Standing::Ready(since) => Some((since, name)),
                Standing::Open | Standing::Stopped => None,
            });
        let (since, name) = lower.max()?;
        let until = since.checked_add(soak).unwrap_or(Timestamp::MAX);
        let why = format!("it is in line since {since:.0}, and has to stay so until {until:.0}");
        (view.now < until).then(|| Wait { until: Some(until), ..Wait::new(name.as_str(), why) })
    }

    /// A cluster may have changed since it was looked at: whether it is still in line is found out before others rely on it.
    fn for_look(&self, cluster: &str, member: &Member, view: &View<'_>) -> Option<Wait> {
        let stale = self.stale(cluster, member, view).min_by_key(|name| self.rank(name))?;
        Some(Wait::new(stale.as_str(), "it is planned once more before others rely on it"))
    }

    /// The clusters that one waits for and that were not looked at since all of them are in line, lower waves for the time of
    /// their soak.
    fn stale<'a>(
        &'a self,
        cluster: &'a str,
        member: &'a Member,
        view: &'a View<'a>,
    ) -> impl Iterator<Item = &'a String> {
        let soak = self.sources.get(&member.source).map(|source| source.waves.soak).unwrap_or_default();
        let since = |(name, other): (&String, &Member)| match self.standing(name, other, view) {
            Standing::Ready(since) if other.source == member.source && other.wave < member.wave => {
                Some(since.checked_add(soak).unwrap_or(Timestamp::MAX))
            }
            Standing::Ready(since) => Some(since),
            Standing::Open | Standing::Stopped => None,
        };
        let settled = self.before(cluster, member).filter_map(since).max();
        let checked = move |name: &String| view.statuses.get(name.as_str()).and_then(|status| status.checked);
        self.before(cluster, member)
            .map(|(name, _)| name)
            .filter(move |name| settled.is_some_and(|settled| checked(name).is_none_or(|at| at < settled)))
    }

    /// The limit of clusters at once: the clusters of a wave have places, and those that are not in line come before the next
    /// ones. A run that began with an earlier revision counts wherever it is.
    fn for_place(&self, cluster: &str, member: &Member, view: &View<'_>) -> Option<Wait> {
        let limit = self.sources.get(&member.source)?.waves.max_at_once?;
        let rank = self.rank(cluster);
        let mut open: Vec<(usize, &String, &Member)> = self
            .members
            .iter()
            .filter(|(name, other)| name.as_str() != cluster && other.source == member.source)
            .filter(|(name, other)| {
                let is_open = !matches!(self.standing(name, other, view), Standing::Ready(_));
                let is_first = other.wave == member.wave && self.rank(name) < rank;
                (is_open && is_first) || standing::is_applied(name, view)
            })
            .map(|(name, other)| (self.rank(name), name, other))
            .collect();
        if open.len() < usize::from(limit) {
            return None;
        }
        open.sort_by_key(|(rank, ..)| *rank);
        let (_, name, other) = open.first()?;
        let why = format!("{}; at most {limit} at once", self.why(name, other, view));
        Some(Wait::new(name.as_str(), why))
    }
}

/// Whether a cluster has to be in line before another one.
fn precedes(name: &str, one: &Member, other: &Member) -> bool {
    (one.source == other.source && one.wave < other.wave)
        || other.after.iter().any(|entry| matches(entry, name))
}

#[cfg(test)]
mod tests;
