//! Starting jobs that are due.

use std::cell::RefCell;
use std::time::Duration;

use jiff::Timestamp;
use slipway_engine::StopSignal;
use tokio::time::Instant;

use super::share::Share;
use super::{Controller, NAP, Recall};
use crate::configuration::{ClusterPolicy, Source};
use crate::job::{self, Awaited, Done};
use crate::pass::Pass;
use crate::reviews;
use crate::shared::Shared;

/// Later than any look.
const LATEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// The subject by which one replica tells about a source and reviews its pull requests.
pub(super) fn reviewer_of(source: &str) -> String {
    format!("source {source}")
}

impl Controller {
    /// Starts all jobs that are due, as far as there are workers.
    pub(super) fn start_due(&mut self, now: Instant) {
        self.start_beat(now);
        self.start_recall(now);
        self.start_reads(now);
        self.start_reviews(now);
        self.start_passes(now);
    }

    /// When the next job is due.
    pub(super) fn wakes_at(&self, now: Instant) -> Instant {
        let mut wake = now + NAP;
        if self.seen.is_some() {
            wake = wake.min(self.next_beat);
        }
        if let Recall::Due(due) = self.recall {
            wake = wake.min(due);
        }
        let reads = self.sources.iter().filter(|state| state.reader.is_some()).map(|state| state.due);
        wake = reads.fold(wake, Instant::min);
        if self.free_reviews() > 0 {
            let reviews = self.reviews.iter().filter(|(number, _)| self.reviews_source(**number));
            wake = reviews.filter_map(|(_, state)| state.due()).fold(wake, Instant::min);
        }
        if self.may_work() && self.busy < self.workers() {
            let share = self.share();
            let waiting = self.clusters.iter().filter(|(_, entry)| entry.is_waiting());
            let waiting = waiting.filter(|(name, _)| share.has_room(self.source_number(name)));
            wake = waiting.map(|(_, entry)| entry.due).fold(wake, Instant::min);
        }
        wake
    }

    fn workers(&self) -> usize {
        usize::from(self.shared.configuration.workers)
    }

    /// Whether the other replicas know that this one lives, so that they leave its clusters to it, and all statuses of earlier
    /// processes are known.
    fn may_work(&self) -> bool {
        self.recall == Recall::Done && Shared::elapsed() < self.valid_until
    }

    /// Whether this replica works on a cluster or a source.
    pub(super) fn is_mine(&self, subject: &str) -> bool {
        self.members.owner(subject) == Some(self.me.as_str())
    }

    fn start_beat(&mut self, now: Instant) {
        if self.next_beat > now {
            return;
        }
        let Some(seen) = self.seen.take() else { return };
        let awaited: Vec<Awaited> = self
            .clusters
            .iter()
            .filter(|(_, entry)| entry.is_waiting())
            .filter_map(|(name, entry)| {
                let plan = entry.awaits_approval()?;
                let (known, policy) = (plan.approvals, self.policy(name));
                Some(Awaited { cluster: name.clone(), plan: plan.digest.clone(), known, policy })
            })
            .collect();
        let unsure = self.unsure(Timestamp::now());
        let watched = self.watched();
        let about = (self.shared.clone(), self.me.clone(), self.since);
        self.running.push(Box::pin(job::beat(about, seen, (awaited, unsure, watched))));
    }

    fn start_recall(&mut self, now: Instant) {
        if matches!(self.recall, Recall::Due(due) if due <= now) {
            self.recall = Recall::Runs;
            self.running.push(Box::pin(job::recall(self.shared.clone())));
        }
    }

    fn start_reads(&mut self, now: Instant) {
        for (number, state) in self.sources.iter_mut().enumerate() {
            if let Some(reader) = state.begin(now) {
                let about = (self.shared.clone(), number);
                let read = job::read(about, reader, state.content.clone(), self.ending.clone());
                self.running.push(Box::pin(read));
            }
        }
    }

    /// How many more looks at pull requests may begin.
    fn free_reviews(&self) -> usize {
        let running = self.reviews.values().filter(|state| state.due().is_none()).count();
        if self.may_work() { self.workers().saturating_sub(running) } else { 0 }
    }

    /// Whether this replica reviews the pull requests of a source.
    fn reviews_source(&self, number: usize) -> bool {
        self.shared.configuration.sources.get(number).is_some_and(|source| self.reads(&source.name))
    }

    /// Whether this replica tells about a source.
    pub(super) fn reads(&self, source: &str) -> bool {
        self.is_mine(&reviewer_of(source))
    }

    fn start_reviews(&mut self, now: Instant) {
        let mut free = self.free_reviews();
        let numbers = self.reviews.keys().copied().filter(|number| self.reviews_source(*number));
        for number in numbers.collect::<Vec<_>>() {
            let Some(source) = self.shared.configuration.sources.get(number).cloned() else { continue };
            let interval = source.pull_requests.as_ref().map_or(NAP, |settings| settings.interval);
            let Some(state) = self.reviews.get_mut(&number).filter(|_| free > 0) else { continue };
            if let Some((desk, wanted)) = state.begin(now, interval) {
                free -= 1;
                let (shared, stop) = (self.shared.clone(), state.stop(&self.ending));
                self.running.push(Box::pin(reviews::look(shared, (number, source), desk, wanted, stop)));
            }
        }
    }

    fn start_passes(&mut self, now: Instant) {
        if !self.may_work() {
            return;
        }
        let mut due: Vec<(Instant, String)> = self
            .clusters
            .iter()
            .filter(|(_, entry)| entry.is_waiting() && entry.due <= now)
            .map(|(name, entry)| (entry.due, name.clone()))
            .collect();
        due.sort();
        let mut due: Vec<(String, Option<usize>)> = due
            .into_iter()
            .map(|(_, name)| {
                let source = self.source_number(&name);
                (name, source)
            })
            .collect();
        let mut share = self.share();
        let free = self.workers().saturating_sub(self.busy);
        self.shared.metrics.queue.set(i64::try_from(due.len().saturating_sub(free)).unwrap_or(i64::MAX));
        for _ in 0..free {
            let sources = due.iter().map(|(_, source)| *source);
            let Some(next) = share.choose(sources) else { break };
            let (name, source) = due.remove(next);
            share.begin(source);
            self.start_pass(&name, now);
        }
    }

    /// The workers that are busy, by source.
    fn share(&self) -> Share {
        let mut share = Share::new(&self.shared.configuration.sources, self.workers());
        let running = self.clusters.iter().filter(|(_, entry)| entry.running.is_some());
        running.for_each(|(name, _)| share.begin(self.source_number(name)));
        share
    }

    fn start_pass(&mut self, name: &str, now: Instant) {
        let (policy, order) = (self.policy(name), self.order_of(name));
        let Some(entry) = self.clusters.get_mut(name) else { return };
        let stop = StopSignal::default();
        entry.running = Some(stop.clone());
        // What changes during the look brings it forward again.
        entry.due = now + LATEST;
        let pass = Pass {
            shared: self.shared.clone(),
            cluster: name.to_owned(),
            place: entry.place.clone(),
            blocked: entry.blocked.clone(),
            policy,
            pause: self.board.pause(name, Timestamp::now()).cloned(),
            order,
            wait: entry.wait.take(),
            request: self.board.request(name),
            forced: std::mem::take(&mut entry.forced),
            mark: RefCell::new(entry.mark.take()),
            stop,
        };
        self.busy += 1;
        self.shared.metrics.busy.set(i64::try_from(self.busy).unwrap_or(i64::MAX));
        self.running.push(Box::pin(async move {
            let passed = Box::new(pass.run().await);
            Done::Passed { cluster: pass.cluster, passed, mark: pass.mark.take() }
        }));
    }

    /// The policy of a cluster, by the source that has its spec, or had it last.
    fn policy(&self, name: &str) -> ClusterPolicy {
        self.source_of(name).map_or_else(ClusterPolicy::unnamed, |source| source.policy(name))
    }

    /// The source that has the spec of a cluster, or had it last.
    pub(super) fn source_of(&self, name: &str) -> Option<&Source> {
        self.shared.configuration.sources.get(self.source_number(name)?)
    }

    /// The number of that source.
    pub(super) fn source_number(&self, name: &str) -> Option<usize> {
        let entry = self.clusters.get(name)?;
        if let Some(place) = &entry.place {
            return Some(place.source);
        }
        let last = &entry.status.as_ref()?.source;
        self.shared.configuration.sources.iter().position(|source| source.name == *last)
    }

    /// When a failed look at the state store is repeated.
    pub(super) fn retry(&self) -> Duration {
        self.shared.configuration.poll.max(Duration::from_millis(100))
    }
}
