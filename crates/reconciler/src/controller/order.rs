//! The order among clusters, as one replica knows it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use tokio::time::Instant;

use super::Controller;
use crate::configuration::Source;
use crate::entry::Entry;
use crate::order::{Member, Order, Ordered, Spec, View, Wait};
use crate::status::{Reason, Status};

impl Controller {
    /// Finds the order again, after sources were read.
    pub(super) fn arrange(&mut self) {
        let sources = &self.shared.configuration.sources;
        if !sources.iter().any(Source::is_ordered) {
            return;
        }
        let mut members = BTreeMap::new();
        // Paths whose specs cannot be read now, of which the clusters are known.
        let mut known: BTreeSet<(&str, &str)> = BTreeSet::new();
        for (name, entry) in &self.clusters {
            let Some(member) = member(sources, name, entry) else { continue };
            if let Some(status) = entry.status.as_ref().filter(|_| member.spec.is_none()) {
                known.insert((status.source.as_str(), status.path.as_str()));
            }
            members.insert(name.clone(), member);
        }
        let ordered = sources.iter().zip(&self.sources).filter(|(source, _)| source.is_ordered());
        let ordered = ordered.map(|(source, state)| {
            let units = state.content.iter().flat_map(|content| &content.units);
            let unread = units
                .filter(|(path, unit)| {
                    unit.is_err() && !known.contains(&(source.name.as_str(), path.as_str()))
                })
                .map(|(path, _)| path.clone())
                .collect();
            (source.name.clone(), Ordered { waves: source.waves, first: source.first_wave(), unread })
        });
        let ordered = ordered.collect();
        self.order = Some(Arc::new(Order::new(&self.shared.configuration.name, ordered, members)));
    }

    /// The order for a cluster, if its source has one and a rule for it.
    pub(super) fn order_of(&self, cluster: &str) -> Option<Arc<Order>> {
        let source = self.source_of(cluster)?;
        let is_ordered = source.is_ordered() && source.rule(cluster).is_some();
        self.order.clone().filter(|_| is_ordered)
    }

    /// Lets clusters that wait for others be looked at: planned if they need not wait any more, and only reported if they wait
    /// for another one or for another reason.
    pub(super) fn wake_in_order(&mut self, now: Instant, time: Timestamp) {
        let Some(order) = self.order.clone() else { return };
        let changed = self.changed(&order, time);
        for (name, wait) in changed {
            let Some(entry) = self.clusters.get_mut(&name) else { continue };
            match wait {
                None => entry.wake(now),
                Some(_) => {
                    entry.due = entry.due.min(now);
                    entry.wait = wait;
                }
            }
        }
    }

    /// The waiting clusters whose status gives another reason than the order does now, with that reason; without one where the
    /// cluster is to be planned.
    fn changed(&self, order: &Order, time: Timestamp) -> Vec<(String, Option<Wait>)> {
        let view = self.view(time);
        let changed = self.waiting().filter_map(|(name, status)| {
            let said = status.ready().map_or("", |ready| ready.message.as_str());
            let wait = order.waits(name, &view);
            let is_same = wait.as_ref().is_some_and(|wait| wait.to_string() == said);
            // A look at the cluster is what asks for looks at those that it waits for.
            let needs_looks = !is_same && !order.to_look_at(name, &view).is_empty();
            (!is_same).then(|| (name.clone(), wait.filter(|_| !needs_looks)))
        });
        changed.collect()
    }

    /// The clusters that others wait for and of which this replica does not know how they are, since another one works on them
    /// or a look at them is under way.
    pub(super) fn unsure(&self, time: Timestamp) -> Vec<String> {
        let Some(order) = &self.order else { return Vec::new() };
        let view = self.view(time);
        let is_unsure = |name: &str| {
            self.clusters.get(name).is_some_and(|entry| !entry.is_mine || entry.running.is_some())
        };
        let mut names: BTreeSet<String> = BTreeSet::new();
        for (name, status) in self.waiting() {
            let open = order.open(name, &view).into_iter().filter(|other| is_unsure(other.as_str()));
            names.extend(open.cloned());
            let named = status.rollout.as_ref().and_then(|rollout| rollout.waits_for.as_ref());
            names.extend(named.filter(|name| is_unsure(name.as_str())).cloned());
        }
        names.into_iter().collect()
    }

    /// Takes the statuses that others have written.
    pub(super) fn take_looked(&mut self, looked: BTreeMap<String, Status>) {
        for (name, status) in looked {
            if let Some(entry) = self.clusters.get_mut(&name)
                && (!entry.is_mine || entry.running.is_some())
            {
                entry.status = Some(status);
            }
        }
    }

    /// The clusters of this replica that wait for others, with their statuses.
    fn waiting(&self) -> impl Iterator<Item = (&String, &Status)> {
        self.clusters.iter().filter(|(_, entry)| entry.is_waiting()).filter_map(|(name, entry)| {
            let status = entry.status.as_ref().filter(|status| status.is(Reason::WaitsFor))?;
            Some((name, status))
        })
    }

    fn view(&self, now: Timestamp) -> View<'_> {
        let entries = self.clusters.iter();
        let statuses = entries.filter_map(|(name, entry)| Some((name.as_str(), entry.status.as_ref()?)));
        View { statuses: statuses.collect(), board: &self.board, now }
    }
}

/// A cluster in the order; `None` for one that has no rule, or no spec in a source.
fn member(sources: &[Source], name: &str, entry: &Entry) -> Option<Member> {
    let source = match (&entry.place, &entry.blocked) {
        (Some(place), _) => sources.get(place.source)?,
        (None, Some(_)) => {
            let status = entry.status.as_ref()?;
            sources.iter().find(|source| source.name == status.source)?
        }
        (None, None) => return None,
    };
    let rule = source.rule(name)?;
    let spec = entry.place.as_ref().map(|place| Spec {
        path: place.path.clone(),
        digest: place.digest.clone(),
        revision: place.revision.clone(),
    });
    let blocked = entry.blocked.as_ref().map(|(reason, problem)| format!("{reason}: {}", problem.message));
    Some(Member { source: source.name.clone(), wave: rule.wave, after: rule.after.clone(), spec, blocked })
}
