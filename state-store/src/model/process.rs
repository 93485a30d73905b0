//! One process: which work follows from which answer. All decisions are made by the state machines of
//! production.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::head::belief::Belief;
use crate::head::contend::{Contender, Look, Turn};
use crate::head::protocol::{Claim, Commit, Event, Hold};
use crate::head::tenure::Tenure;
use crate::head::{CommitMeta, Head, JournalStart};
use crate::journal::fence::{self, End, Sealing};
use crate::journal::segment::Seal;
use crate::name::{ClusterName, HolderId};
use crate::process::{Identity, Process as SystemProcess};
use crate::write::put::{self, Next, Outcome, Put};

use super::mutation::Mutation;
use super::store::{self, Answer, Store, Tag, Value};
use super::work::{self, Flight, Lane, Work};
use super::world::{Clocks, World};

/// The term of a lease.
pub(super) const TERM: Duration = Duration::from_secs(2);

/// The progress of a process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// It contends for the cluster. At `until` the holder counts as silent; before the first look it is
    /// `None`.
    Contending { contender: Box<Contender<Tag>>, seen: Option<Tag>, until: Option<Duration> },
    /// It swapped the head, and seals the earlier epochs that are left.
    Sealing { belief: Box<Belief<Tag>>, left: Vec<JournalStart>, sent: Duration },
    /// It holds the cluster.
    Holding(Box<Holding>),
    /// It has ended.
    Gone(Fate),
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fate {
    /// It released the cluster.
    Released,
    /// It learned that another holder took over.
    Lost,
    /// It gave up acquiring the cluster.
    Failed,
}

/// The knowledge of a holder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Holding {
    pub(super) belief: Belief<Tag>,
    pub(super) hold: Hold,
    pub(super) tenure: Tenure,
    pub(super) end: End,
    /// The records that it read after it had sealed the earlier epochs.
    pub(super) seen: Vec<String>,
    /// The records that it appended, and that were acknowledged as durable.
    pub(super) appended: Vec<String>,
    /// An append failed: nothing more is appended.
    pub(super) journal_failed: bool,
    /// It is releasing the cluster.
    pub(super) is_leaving: bool,
}

/// The remaining work of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Budget {
    pub(super) appends: u8,
    pub(super) renewals: u8,
    pub(super) commits: u8,
}

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Process {
    pub(super) name: char,
    /// Its own clock.
    pub(super) clock: Duration,
    pub(super) stage: Stage,
    pub(super) head: Option<Flight>,
    pub(super) journal: Option<Flight>,
    pub(super) budget: Budget,
    /// The number of heads and of segments that it has made: each has a random part.
    heads: u8,
    segments: u8,
    /// The last generation that was acknowledged as its own.
    pub(super) committed: Option<u64>,
    /// The records that were acknowledged as durable: after that, calls are sent.
    pub(super) acknowledged: Vec<String>,
}

impl Process {
    /// A process that contends for the cluster. Clocks may start anywhere.
    pub(super) fn new(number: u8, budget: Budget) -> Self {
        let name = char::from(b'a' + number);
        let cluster = ClusterName::new("c").expect("a name");
        let claim = Claim {
            id: HolderId::new(name),
            identity: Identity {
                who: name.to_string(),
                operation: String::new(),
                process: SystemProcess {
                    host: String::new(),
                    boot: String::new(),
                    namespace: String::new(),
                    pid: 0,
                    started: 0,
                },
            },
            since: Timestamp::UNIX_EPOCH,
            term: TERM,
            create: Some("u".parse().expect("a uid")),
        };
        let contender = Box::new(Contender::new(cluster, claim));
        Self {
            name,
            clock: Duration::from_secs(100 * u64::from(number)),
            stage: Stage::Contending { contender, seen: None, until: None },
            head: None,
            journal: None,
            budget,
            heads: 0,
            segments: 0,
            committed: None,
            acknowledged: Vec::new(),
        }
    }

    pub(super) fn lane(&mut self, lane: Lane) -> &mut Option<Flight> {
        match lane {
            Lane::Head => &mut self.head,
            Lane::Journal => &mut self.journal,
        }
    }

    /// Makes a salt, so that no other process writes the same head.
    fn salt(&mut self) -> String {
        self.heads += 1;
        format!("{}{}", self.name, self.heads)
    }

    /// Makes a nonce, so that no other process writes the same segment.
    fn nonce(&mut self) -> String {
        self.segments += 1;
        format!("{}{}", self.name, self.segments)
    }

    fn send(&mut self, lane: Lane, work: Work) {
        *self.lane(lane) = Some(Flight::new(work));
    }

    /// It has looked at least once.
    pub(super) fn has_begun(&self) -> bool {
        self.head.is_some() || !matches!(self.stage, Stage::Contending { until: None, seen: None, .. })
    }

    pub(super) fn look(&mut self) {
        self.send(Lane::Head, Work::Look { asked: self.clock });
    }

    pub(super) fn append(&mut self) {
        let nonce = self.nonce();
        let Stage::Holding(holding) = &self.stage else { return };
        let place = holding.end.place();
        let record = format!("{}{}", self.name, self.budget.appends);
        let segment = work::segment(place, Some(&record), None, &nonce);
        self.budget.appends -= 1;
        self.send(Lane::Journal, Work::Append { put: Put::new(Value::Segment(segment)), place, record });
    }

    /// A commit of everything that is known, as [`crate::Holder::commit`] prepares it.
    fn commit(&self, holding: &Holding, world: &World) -> Box<Commit> {
        let records: Vec<String> = holding.seen.iter().chain(&holding.appended).cloned().collect();
        let mut journal_from = holding.end.start();
        if world.mutation == Some(Mutation::SnapshotClaimsMore) {
            journal_from.sequence = journal_from.sequence.next();
        }
        Box::new(Commit {
            generation: holding.belief.head().generation.next(),
            snapshot: store::snapshot(&records),
            journal_from,
            meta: CommitMeta { when: Timestamp::UNIX_EPOCH, ..CommitMeta::default() },
        })
    }

    pub(super) fn renew(&mut self, world: &World) {
        self.budget.renewals -= 1;
        self.change(Event::Renew, world);
    }

    pub(super) fn commit_now(&mut self, world: &World) {
        let Stage::Holding(holding) = &self.stage else { return };
        let commit = self.commit(holding, world);
        self.budget.commits -= 1;
        self.change(Event::Commit(commit), world);
    }

    pub(super) fn release(&mut self, is_with_commit: bool, world: &World) {
        let Stage::Holding(holding) = &self.stage else { return };
        let commit = is_with_commit.then(|| self.commit(holding, world));
        if is_with_commit {
            self.budget.commits -= 1;
        }
        if let Stage::Holding(holding) = &mut self.stage {
            holding.is_leaving = true;
            holding.tenure.end();
        }
        self.change(Event::Release(commit), world);
    }

    /// Proposes a change of the head, or finds that no change is left.
    fn change(&mut self, event: Event, world: &World) {
        let salt = self.salt();
        let Stage::Holding(holding) = &mut self.stage else { return };
        let mut hold = holding.hold.clone();
        if world.mutation == Some(Mutation::HoldIsNotCompared)
            && let Some(holder) = &holding.belief.head().holder
        {
            hold = Hold { epoch: holding.belief.head().epoch, id: holder.id.clone() };
        }
        match holding.belief.propose(&hold, &event, salt) {
            Ok(proposed) => {
                let (expected, sent) = (*holding.belief.tag(), self.clock);
                let put = Put::new(Value::Head(Arc::new(proposed)));
                self.send(Lane::Head, Work::Change { put, expected, event, sent });
            }
            Err(crate::head::protocol::Refusal::Lost { by }) => {
                holding.tenure.lose(by);
            }
            // A late commit of its own conflicts: this one fails.
            Err(_) => {}
        }
        self.leave_if_lost();
    }

    fn leave_if_lost(&mut self) {
        if let Stage::Holding(holding) = &self.stage
            && holding.tenure.held().is_err()
            && self.head.is_none()
            && self.journal.is_none()
        {
            self.stage = Stage::Gone(Fate::Lost);
        }
    }

    /// Abandons the request in progress. Its outcome will never be known.
    pub(super) fn give_up(&mut self, lane: Lane) {
        *self.lane(lane) = None;
        match &mut self.stage {
            Stage::Contending { .. } | Stage::Sealing { .. } => self.stage = Stage::Gone(Fate::Failed),
            Stage::Holding(holding) if holding.is_leaving => self.stage = Stage::Gone(Fate::Released),
            Stage::Holding(holding) if lane == Lane::Journal => holding.journal_failed = true,
            Stage::Holding(_) | Stage::Gone(_) => {}
        }
        self.leave_if_lost();
    }

    /// Resets values that decide nothing any more: states that differ only in these are equal.
    pub(super) fn forget(&mut self, world: &World) {
        let is_gone = matches!(self.stage, Stage::Gone(_));
        if is_gone {
            self.budget = Budget { appends: 0, renewals: 0, commits: 0 };
            (self.heads, self.segments) = (0, 0);
        }
        if world.clocks == Clocks::Wild && (is_gone || matches!(self.stage, Stage::Holding(_))) {
            self.clock = Duration::ZERO;
        }
    }

    /// Processes the answer to the request in progress.
    pub(super) fn receive(&mut self, lane: Lane, store: &Store, world: &World) {
        let Some(Flight { work, answer: Some(answer), .. }) = self.lane(lane).take() else { return };
        match (work, answer) {
            (Work::Look { asked }, Answer::Put(answer)) => self.looked(asked, answer, world),
            (Work::Last { start }, Answer::Last(last)) => {
                let last = last.as_ref().map(|(sequence, segment)| (*sequence, &**segment));
                self.seal(Sealing::new(start, last), store, world);
            }
            (work, Answer::Put(answer)) => self.put(lane, work, answer, store, world),
            (_, Answer::Last(_)) => {}
        }
        self.leave_if_lost();
    }

    fn looked(&mut self, asked: Duration, answer: put::Answer<Value, Tag>, world: &World) {
        let (clock, salt) = (self.clock, format!("{}{}", self.name, self.heads + 1));
        let Stage::Contending { contender, seen, until } = &mut self.stage else { return };
        let stored = match answer {
            put::Answer::Found(Value::Head(head), tag) => Some((head, tag)),
            _ => None,
        };
        let answered = if world.mutation == Some(Mutation::SilenceFromQuestion) { asked } else { clock };
        *seen = stored.as_ref().map(|(_, tag)| *tag);
        // Without its tag, every head looks like the first one.
        let shown = |tag: Tag| if world.mutation == Some(Mutation::RenewalIsIgnored) { 0 } else { tag };
        let stored_tag = stored.as_ref().map(|(head, tag)| (&**head, shown(*tag)));
        let turn = contender.look(
            stored_tag.as_ref().map(|(head, tag)| (*head, tag)),
            Look { asked, answered },
            |_| false,
            salt,
        );
        match turn {
            Turn::Swap(mut next) => {
                self.heads += 1;
                if world.mutation == Some(Mutation::EpochStays)
                    && let Some((before, _)) = &stored
                {
                    next.epoch = before.epoch;
                }
                let (before, expected) = stored.unzip();
                let put = Put::new(Value::Head(Arc::new(*next)));
                self.send(Lane::Head, Work::Swap { put, expected, before, sent: clock });
            }
            Turn::Wait { until: over, .. } => *until = Some(over),
            Turn::NoCluster => self.stage = Stage::Gone(Fate::Failed),
        }
    }

    /// Processes an answer to a conditional write.
    fn put(
        &mut self,
        lane: Lane,
        mut work: Work,
        mut answer: put::Answer<Value, Tag>,
        store: &Store,
        world: &World,
    ) {
        let (Work::Swap { put, .. }
        | Work::Seal { put, .. }
        | Work::Append { put, .. }
        | Work::Change { put, .. }) = &mut work
        else {
            return;
        };
        let newest = store.head.as_ref().map_or(0, |(_, tag)| *tag);
        match (&answer, world.mutation) {
            (put::Answer::Refused, Some(Mutation::RefusedIsDone))
            | (put::Answer::Lost, Some(Mutation::LostIsDone)) => answer = put::Answer::Written(newest),
            _ => {}
        }
        let outcome = match put.answer(answer) {
            Next::Again | Next::Look => return self.send(lane, work),
            Next::Missing => return self.give_up(lane),
            Next::Done(outcome) => outcome,
        };
        match work {
            Work::Swap { put, before, sent, .. } => self.swapped(&put, before, sent, outcome, store, world),
            Work::Seal { mut sealing, .. } => match outcome {
                Outcome::Written(_) => self.sealed(store, world),
                Outcome::Taken { value: Value::Segment(found), .. } => {
                    sealing.taken(&found);
                    self.seal(sealing, store, world);
                }
                Outcome::Taken { .. } => {}
            },
            Work::Append { put, record, .. } => self.appended(&put, record, outcome, world),
            Work::Change { put, event, sent, .. } => self.changed(&put, event, sent, outcome, world),
            Work::Look { .. } | Work::Last { .. } => {}
        }
    }

    fn swapped(
        &mut self,
        put: &Put<Value>,
        before: Option<Arc<Head>>,
        sent: Duration,
        outcome: Outcome<Value, Tag>,
        store: &Store,
        world: &World,
    ) {
        // A contender whose swap failed looks again.
        let Outcome::Written(tag) = outcome else { return self.look() };
        let belief = Box::new(Belief::new(head(put.value()), tag));
        let mut left: Vec<JournalStart> =
            before.iter().flat_map(|before| fence::unsealed(before, store.newest(before.epoch))).collect();
        if world.mutation == Some(Mutation::SealIsSkipped) {
            left.clear();
        }
        left.reverse();
        self.stage = Stage::Sealing { belief, left, sent };
        self.sealed(store, world);
    }

    /// Seals the next epoch, or holds the cluster when there is none left.
    fn sealed(&mut self, store: &Store, world: &World) {
        let Stage::Sealing { belief, left, sent } = &mut self.stage else { return };
        if let Some(start) = left.pop() {
            return self.send(Lane::Journal, Work::Last { start });
        }
        let (head, sent) = (belief.head().clone(), *sent);
        let hold = Hold { epoch: head.epoch, id: HolderId::new(self.name) };
        let sent = if world.mutation == Some(Mutation::LeaseFromAnswer) { self.clock } else { sent };
        self.stage = Stage::Holding(Box::new(Holding {
            hold,
            tenure: Tenure::new(TERM, if world.clocks == Clocks::Wild { Duration::ZERO } else { sent }),
            end: End::new(JournalStart::of(head.epoch)),
            belief: (**belief).clone(),
            // The read objects cannot change any more: one step stands for all reads.
            seen: store.read().unwrap_or_default(),
            appended: Vec::new(),
            journal_failed: false,
            is_leaving: false,
        }));
    }

    fn seal(&mut self, sealing: Sealing, store: &Store, world: &World) {
        let Some(place) = sealing.place() else { return self.sealed(store, world) };
        let nonce = self.nonce();
        let Stage::Sealing { belief, .. } = &self.stage else { return };
        let seal = Seal { by: belief.head().epoch, who: self.name.to_string() };
        let segment = work::segment(place, None, Some(seal), &nonce);
        self.send(Lane::Journal, Work::Seal { put: Put::new(Value::Segment(segment)), sealing });
    }

    fn appended(&mut self, put: &Put<Value>, record: String, outcome: Outcome<Value, Tag>, world: &World) {
        let Value::Segment(segment) = put.value() else { return };
        let nonce = format!("{record} again");
        let Stage::Holding(holding) = &mut self.stage else { return };
        match outcome {
            Outcome::Written(_) => {
                holding.end.written(segment.digest);
                holding.appended.push(record.clone());
                self.acknowledged.push(record);
            }
            Outcome::Taken { value: Value::Segment(found), .. } => {
                if world.mutation == Some(Mutation::AppendGoesOn) {
                    holding.end.written(found.digest);
                    let place = holding.end.place();
                    let segment = work::segment(place, Some(&record), None, &nonce);
                    let put = Put::new(Value::Segment(segment));
                    return self.send(Lane::Journal, Work::Append { put, place, record });
                }
                holding.tenure.lose(Some(fence::replaced_by((*found).clone())));
            }
            Outcome::Taken { .. } => {}
        }
    }

    fn changed(
        &mut self,
        put: &Put<Value>,
        event: Event,
        sent: Duration,
        outcome: Outcome<Value, Tag>,
        world: &World,
    ) {
        let clock = self.clock;
        let Stage::Holding(holding) = &mut self.stage else { return };
        let proposed = head(put.value());
        let outcome = match outcome {
            Outcome::Written(tag) => Outcome::Written(tag),
            Outcome::Taken { value, tag } => Outcome::Taken { value: head(&value), tag },
        };
        if !holding.belief.settle(&proposed, outcome) {
            return self.change(event, world);
        }
        holding.tenure.renew(if world.mutation == Some(Mutation::LeaseFromAnswer) { clock } else { sent });
        if let Event::Commit(commit) | Event::Release(Some(commit)) = &event {
            self.committed = Some(commit.generation.0);
        }
        if matches!(event, Event::Release(_)) {
            self.stage = Stage::Gone(Fate::Released);
        }
    }
}

fn head(value: &Value) -> Head {
    match value {
        Value::Head(head) => (**head).clone(),
        Value::Segment(_) => unreachable!("a segment is no head"),
    }
}
