//! Taking the results of jobs.

mod assignment;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use slipway_state_store::Error as StoreError;
use tokio::time::Instant;

use super::starts::reviewer_of;
use super::{Controller, Recall};
use crate::board::Board;
use crate::configuration::Source;
use crate::entry::Entry;
use crate::error::Error;
use crate::heads::Mark;
use crate::job::{self, Beat, Content, Done};
use crate::metrics::outcome;
use crate::pass::Passed;
use crate::reviews::{Desk, Looked, Wanted};
use crate::shared::Shared;
use crate::source::Reader;
use crate::status::{Problem, Reason, SourceStatus, Status};

/// The shortest time between two looks at a cluster of which nothing is known to have changed.
const SHORTEST_WAIT: Duration = Duration::from_millis(50);

impl Controller {
    /// Takes the result of a job.
    pub(super) fn take(&mut self, done: Done, now: Instant) {
        match done {
            Done::Read { source, reader, result } => self.take_read((source, reader), result, now),
            Done::Beat(beat, seen) => {
                self.seen = Some(seen);
                self.next_beat = now + self.shared.configuration.poll;
                self.take_beat(*beat, now);
            }
            Done::Recalled(found) => self.take_recall(found, now),
            Done::Passed { cluster, passed, mark } => self.take_pass(&cluster, (*passed, mark), now),
            Done::Reviewed { source, desk, wanted, looked } => {
                self.take_reviewed((source, desk), wanted, looked, now);
            }
            Done::Told => {}
        }
    }

    fn take_beat(&mut self, beat: Beat, now: Instant) {
        let (board, members) = match beat.found {
            Ok(found) => found,
            Err(error) => {
                let text = error.to_string();
                if self.store_problem.as_ref() != Some(&text) {
                    tracing::warn!(%error, "the state store cannot be used; nothing is planned or applied until it can");
                }
                self.shared.health.waits("state store", text.as_str());
                self.store_problem = Some(text);
                return;
            }
        };
        if self.store_problem.take().is_some() {
            tracing::info!("the state store can be used again");
        }
        self.shared.health.ready("state store");
        self.take_sign(beat.sent);
        if members.replicas.keys().ne(self.members.replicas.keys()) {
            let replicas = members.replicas.len();
            tracing::info!(replicas, "the replicas of the controller share the clusters");
            self.shared.metrics.replicas.set(i64::try_from(replicas).unwrap_or(i64::MAX));
            self.take_members(members, now);
        }
        let time = Timestamp::now();
        self.read_for_requests(&board, time, now);
        for (name, entry) in &mut self.clusters {
            if entry.running.is_none() && (entry.is_asked(name, &board, time) || beat.approved.contains(name))
            {
                entry.wake(now);
            }
        }
        self.board = board;
        self.take_looked(beat.looked);
        self.take_heads(beat.heads, now);
        self.wake_in_order(now, time);
        self.count_clusters();
    }

    /// Lets folders be read again that have the blocked spec of a cluster which is asked for: its files may be corrected by now. A
    /// look at a cluster reads only files that could be read with their source.
    fn read_for_requests(&mut self, board: &Board, time: Timestamp, now: Instant) {
        let asked = self.clusters.iter().filter(|(name, entry)| {
            entry.is_mine
                && entry.running.is_none()
                && entry.blocked.is_some()
                && entry.is_asked(name, board, time)
        });
        let numbers: BTreeSet<usize> = asked.filter_map(|(name, _)| self.source_number(name)).collect();
        for number in numbers {
            let is_folder = |source: &&Source| source.folder.is_some();
            if self.shared.configuration.sources.get(number).filter(is_folder).is_some() {
                self.sources.get_mut(number).into_iter().for_each(|state| state.ask(now));
            }
        }
    }

    /// Counts this replica as one that lives, from the moment when it sent its sign of life.
    fn take_sign(&mut self, sent: Duration) {
        let term = self.shared.configuration.term();
        self.valid_until = sent + term;
        let is_late = Shared::elapsed() >= self.valid_until;
        if is_late && !self.is_late {
            tracing::warn!(
                ?term,
                "the state store is slow: a sign of life takes longer than its term, and nothing is planned or applied; a longer `poll` has a longer term"
            );
        }
        self.is_late = is_late;
    }

    /// Clusters that this replica works on from now on are looked at: their statuses say when they are due.
    fn take_members(&mut self, members: crate::members::Members, now: Instant) {
        for (name, entry) in &mut self.clusters {
            let is_mine = members.owner(name) == Some(self.me.as_str());
            if is_mine && !entry.is_mine && entry.running.is_none() {
                entry.due = now;
            }
            entry.is_mine = is_mine;
        }
        self.hand_over_reviews(&members, now);
        self.members = members;
    }

    /// Gives the reviews up of sources that another replica has from now on. Those that this one gets begin after a term: the
    /// other one may write a comment until it knows. Two replicas that write at once make two comments about one cluster.
    fn hand_over_reviews(&mut self, members: &crate::members::Members, now: Instant) {
        let term = self.shared.configuration.term();
        for (number, state) in &mut self.reviews {
            let Some(source) = self.shared.configuration.sources.get(*number) else { continue };
            let subject = reviewer_of(&source.name);
            let is_mine =
                |members: &crate::members::Members| members.owner(&subject) == Some(self.me.as_str());
            match (is_mine(&self.members), is_mine(members)) {
                (true, false) => state.give_up(),
                (false, true) if members.replicas.len() > 1 => state.rest(now + term),
                _ => {}
            }
        }
    }

    fn take_recall(&mut self, found: Result<Vec<Status>, StoreError>, now: Instant) {
        match found {
            Err(error) => {
                tracing::warn!(%error, "the statuses in the state store cannot be read");
                self.recall = Recall::Due(now + self.retry());
            }
            Ok(statuses) => {
                self.recall = Recall::Done;
                for status in statuses {
                    let is_mine = self.is_mine(&status.cluster);
                    let entry = Entry::new(now, is_mine);
                    self.clusters.entry(status.cluster.clone()).or_insert(entry).status.get_or_insert(status);
                }
                self.assign(now);
            }
        }
    }

    fn take_read(&mut self, (number, reader): (usize, Reader), result: Result<Content, Error>, now: Instant) {
        // What was not read because the controller ends says nothing about the source.
        let Some(source) = self.shared.configuration.sources.get(number).filter(|_| !self.is_stopping) else {
            return;
        };
        let name = source.name.clone();
        let retry = self.shared.configuration.retry;
        let Some(state) = self.sources.get_mut(number) else { return };
        let reads = &self.shared.metrics.reads;
        let mut before = None;
        let next = match result {
            Ok(content) => {
                reads.get_or_create(&outcome("ok")).inc();
                let last = state.content.as_ref().map(|last| last.revision.id.as_str());
                if last != Some(content.revision.id.as_str()) {
                    tracing::info!(source = name, revision = content.revision.id, "a revision was read");
                }
                (state.failed, state.failures) = (None, 0);
                before = Some(state.content.replace(content));
                now + source.interval
            }
            Err(error) => {
                reads.get_or_create(&outcome(error.code())).inc();
                let problem = Problem::of_source(&error);
                let before = state.failed.as_ref().map(Problem::of_source);
                if before.as_ref() != Some(&problem) {
                    tracing::warn!(source = name, code = error.code(), "{}", problem.message);
                }
                state.failed = Some(error);
                state.failures = state.failures.saturating_add(1);
                now + retry.wait(state.failures, &name).min(source.interval.max(retry.first))
            }
        };
        let wakes = state.ended(reader, next, now);
        if let Some(before) = before {
            self.report_broken(number, before.as_ref());
            self.review_after(number, before.as_ref(), now);
        }
        self.assign(now);
        if wakes {
            self.wake_clusters(Some(number), now);
        }
        self.tell_source(number, name);
    }

    /// Lets pull requests be looked at when the branch moved into which they are merged.
    fn review_after(&mut self, number: usize, before: Option<&Content>, now: Instant) {
        let content = self.sources.get(number).and_then(|state| state.content.as_ref());
        let is_moved = match (before, content) {
            (Some(before), Some(content)) => before.revision.id != content.revision.id,
            // The first look reads the branch too.
            _ => false,
        };
        if let Some(state) = self.reviews.get_mut(&number).filter(|_| is_moved) {
            state.ask_all(now);
        }
    }

    fn take_reviewed(
        &mut self,
        (number, desk): (usize, Box<Desk>),
        wanted: Wanted,
        looked: Looked,
        now: Instant,
    ) {
        let name = self.source_name(number).to_owned();
        let retry = self.shared.configuration.retry;
        let Some(state) = self.reviews.get_mut(&number) else { return };
        state.ended(desk);
        for (pull_request, wait) in looked.again {
            state.ask(pull_request, now + wait);
        }
        match looked.failed {
            None => (state.failed, state.failures) = (None, 0),
            Some((problem, wait)) => {
                state.failures = state.failures.saturating_add(1);
                if state.failed.as_ref() != Some(&problem) {
                    let code = problem.code.as_deref().unwrap_or_default();
                    tracing::warn!(source = name, code, "pull requests: {}", problem.message);
                }
                state.failed = Some(problem);
                let salt = format!("pull requests {name}");
                state.repeat(wanted, now + retry.wait(state.failures, &salt));
                state.rest(now + wait);
            }
        }
        self.tell_source(number, name);
    }

    /// Logs what of a source cannot be read since its last revision. Clusters that are known report their own specs.
    fn report_broken(&self, number: usize, before: Option<&Content>) {
        let Some(content) = self.sources.get(number).and_then(|state| state.content.as_ref()) else { return };
        let source = self.source_name(number);
        let reports = |path: &String| {
            let mut statuses = self.clusters.values().filter_map(|entry| entry.status.as_ref());
            statuses.any(|status| status.source == source && status.path == *path)
        };
        for (path, unit) in &content.units {
            let Err(problem) = unit else { continue };
            let is_known = before.and_then(|before| before.units.get(path)) == Some(unit);
            if is_known || reports(path) {
                continue;
            }
            let code = problem.code_or(Reason::SpecInvalid);
            self.shared.metrics.failures.get_or_create(&[("code", code.clone())]).inc();
            tracing::warn!(source, path, code, "{}", problem.message);
        }
    }

    /// Writes the status of a source, if this replica is the one that does it.
    fn tell_source(&mut self, number: usize, name: String) {
        let Some(state) = self.sources.get(number).filter(|_| self.reads(&name)) else {
            return;
        };
        let mut problems: Vec<Problem> = state.failed.iter().map(Problem::of_source).collect();
        problems.extend(self.reviews.get(&number).and_then(|reviews| reviews.failed.clone()));
        let mut status = SourceStatus {
            controller: self.shared.configuration.name.clone(),
            place: state.place.clone(),
            generation: state.reader.as_ref().and_then(Reader::generation),
            ..SourceStatus::default()
        };
        if let Some(content) = &state.content {
            status.revision.clone_from(&content.revision.id);
            status.clusters = content.units.values().flatten().map(Vec::len).sum();
            problems.extend(content.units.values().filter_map(|unit| unit.as_ref().err().cloned()));
            problems.extend(self.of_others(number, content));
        }
        status.problems = problems;
        self.running.push(Box::pin(job::tell(self.shared.clone(), name, status)));
    }

    /// The specs in a source of clusters that belong to another one.
    fn of_others(&self, number: usize, content: &Content) -> Vec<Problem> {
        let clusters = content
            .units
            .iter()
            .flat_map(|(path, unit)| unit.iter().flatten().map(move |cluster| (path, cluster)));
        let owner = |cluster: &String| self.clusters.get(cluster)?.place.as_ref().map(|place| place.source);
        let others = clusters.filter_map(|(path, cluster)| {
            let owner = owner(cluster).filter(|owner| *owner != number)?;
            let message = format!(
                "{path}: the cluster {cluster} belongs to the source {}, and this spec has no effect",
                self.source_name(owner)
            );
            Some(Problem {
                code: None,
                message,
                hints: vec!["remove it, or give the cluster another name".to_owned()],
            })
        });
        others.collect()
    }

    fn source_name(&self, number: usize) -> &str {
        self.shared.configuration.sources.get(number).map_or("", |source| source.name.as_str())
    }

    fn take_pass(&mut self, cluster: &str, (passed, mark): (Passed, Option<Mark>), now: Instant) {
        self.busy = self.busy.saturating_sub(1);
        self.shared.metrics.busy.set(i64::try_from(self.busy).unwrap_or(i64::MAX));
        let Some(entry) = self.clusters.get_mut(cluster) else { return };
        (entry.running, entry.mark) = (None, mark);
        if passed.is_gone {
            self.clusters.remove(cluster);
            self.shared.forget(cluster);
            return;
        }
        // Also one that was not written now: the replica before may have ended before its object was.
        passed.status.iter().for_each(|status| self.shared.show(status));
        let generation = |status: &Option<Status>| status.as_ref()?.applied.as_ref()?.generation;
        let is_applied = passed.status.is_some() && generation(&passed.status) != generation(&entry.status);
        let source = entry.place.as_ref().map(|place| place.source);
        if passed.is_outdated {
            entry.forced = true;
            source
                .and_then(|number| self.sources.get_mut(number))
                .into_iter()
                .for_each(|state| state.ask(now));
        }
        if passed.status.is_some() {
            entry.status = passed.status;
        }
        entry.due = entry.due.min(now + passed.wait.max(SHORTEST_WAIT));
        // Plans on pull requests were made for the state before.
        let reviews = source.filter(|_| is_applied).and_then(|number| self.reviews.get_mut(&number));
        reviews.into_iter().for_each(|state| state.ask_all(now));
        self.count_clusters();
    }

    fn count_clusters(&self) {
        let mut counts: BTreeMap<&'static str, i64> = Reason::ALL.map(|reason| (reason.word(), 0)).into();
        let mut drift = 0;
        for entry in self.clusters.values().filter(|entry| entry.is_mine) {
            let Some(status) = &entry.status else { continue };
            drift += status.plan.as_ref().map_or(0, |plan| plan.facts.drift);
            if let Some(ready) = status.ready()
                && let Some(count) = counts.get_mut(ready.reason.as_str())
            {
                *count += 1;
            }
        }
        for (reason, count) in counts {
            self.shared.metrics.clusters.get_or_create(&[("reason", reason.to_owned())]).set(count);
        }
        self.shared.metrics.drift.set(i64::try_from(drift).unwrap_or(i64::MAX));
    }
}
