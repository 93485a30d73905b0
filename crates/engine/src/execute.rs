//! The dispatcher: it owns the state of a run. It takes steps from the ready-queue, starts them, and takes
//! their results. It waits for results, signals and timers only. Every request to a provider or the state
//! store is part of a step.

mod prepare;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use slipway_plan::queue::ReadyQueue;
use slipway_plan::{Plan, ProviderHandle, Providers, Snapshot, Step, StepAction, StepId, Titles};
use slipway_resource::{Address, ClusterUid, Digest, ErrorClass, Identity, ProviderError};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::error::Error;
use crate::event::Event;
use crate::journal::{EndResult, NewNode, RunBegin};
use crate::outputs::Outputs;
use crate::preconditions::{Expectation, Expectations, Reader};
use crate::replay::{take_effect, take_removal};
use crate::report::{Report, StepFailure};
use crate::state::identity_of;
use crate::step::{self, Failure, Finished, Shared};
use crate::stop::Stop;
use crate::trace;

/// The inputs of a run.
pub(crate) struct Work<'a> {
    pub plan: &'a Plan,
    pub providers: &'a Providers,
    pub uid: ClusterUid,
    pub run: RunBegin,
    /// The state, changed as the steps end.
    pub snapshot: Snapshot,
    /// Steps that an earlier run of the same plan has done.
    pub done: BTreeMap<StepId, Option<Identity>>,
    /// The nodes of the machines that steps of this run have started.
    pub nodes: BTreeMap<StepId, NewNode>,
    /// The outputs of those steps.
    pub outputs: Outputs,
    /// Addresses that must be free and are not, with the object that exists there.
    pub occupied: BTreeMap<Address, Identity>,
    /// When the plan's observations were made, for a plan that was made in this process.
    pub observed_at: Option<Instant>,
    /// Maximum age of the read with which a step checks its object.
    pub read_age: Duration,
    /// How many steps run at the same time at most, without those that may wait for the effects of others.
    pub parallelism: Option<NonZeroUsize>,
}

/// Carries the steps out. Returns the report and the state after them.
///
/// # Errors
/// When the journal cannot be written. The state in the store is then the valid one.
pub(crate) async fn execute(work: Work<'_>, shared: Arc<Shared>) -> Result<(Report, Snapshot), Error> {
    let mut dispatcher = Dispatcher::new(work, shared);
    let result = dispatcher.dispatch().await;
    dispatcher.end().await;
    let Dispatcher { work, mut report, begun, .. } = dispatcher;
    report.elapsed = begun.elapsed();
    result.map(|()| (report, work.snapshot))
}

struct Dispatcher<'a> {
    work: Work<'a>,
    shared: Arc<Shared>,
    queue: ReadyQueue,
    running: JoinSet<Finished>,
    /// How many of the running steps count for the limit of the caller.
    counted: usize,
    /// The rate classes whose steps may wait for the effects of other steps, so that they never keep these back.
    waiting: BTreeSet<String>,
    readers: BTreeMap<String, Reader>,
    reading: JoinSet<()>,
    expectations: Expectations,
    changes: BTreeMap<&'a Address, usize>,
    titles: Titles<'a>,
    report: Report,
    begun: Instant,
}

impl<'a> Dispatcher<'a> {
    fn new(work: Work<'a>, shared: Arc<Shared>) -> Self {
        let plan: &'a Plan = work.plan;
        let mut expectations = Expectations::default();
        for change in &plan.changes {
            let precondition = change.precondition.clone();
            expectations.insert(&change.address, Expectation { precondition, seen: work.observed_at });
        }
        let waits =
            |handle: &&ProviderHandle| handle.info.capabilities.hosts || handle.info.capabilities.dry_run;
        let handles = work.providers.iter().map(|(_, handle)| handle).filter(waits);
        let waiting = handles
            .flat_map(|handle| handle.schema.types.values().map(|kind| kind.rate_class.clone()))
            .collect();
        let mut readers = BTreeMap::new();
        let mut reading = JoinSet::new();
        for (name, handle) in work.providers.iter() {
            let (reader, task) =
                Reader::start(handle.session.clone(), handle.info.batch as usize, work.read_age);
            announce(&work, name, &reader);
            readers.insert(name.to_owned(), reader);
            reading.spawn(async move {
                // The reader's task ends when the readers are dropped; a panic in it is a panic of the run.
                let _ = task.await;
            });
        }
        Self {
            queue: ReadyQueue::new(&plan.steps, &plan.rate_classes),
            changes: plan
                .changes
                .iter()
                .enumerate()
                .map(|(index, change)| (&change.address, index))
                .collect(),
            titles: Titles::of(plan),
            work,
            shared,
            running: JoinSet::new(),
            counted: 0,
            waiting,
            readers,
            reading,
            expectations,
            report: Report::default(),
            begun: Instant::now(),
        }
    }

    async fn dispatch(&mut self) -> Result<(), Error> {
        self.skip_done();
        let mut stop = self.shared.stop.clone();
        loop {
            let level = *stop.borrow_and_update();
            if level == Stop::AtOnce {
                self.report.under_way += self.running.len();
                break;
            }
            let opening = if level == Stop::No { self.start_ready() } else { None };
            if self.running.is_empty() && opening.is_none() {
                break;
            }
            let open = async {
                match opening {
                    Some(when) => tokio::time::sleep_until(when).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(finished) = self.running.join_next(), if !self.running.is_empty() => match finished {
                    Ok(finished) => self.finish(finished)?,
                    Err(error) => std::panic::resume_unwind(error.into_panic()),
                },
                Ok(()) = stop.changed() => self.shared.events.send(Event::Stopping),
                () = open => {}
            }
        }
        let Report { done, done_before, under_way, .. } = self.report;
        let begun = done + done_before + under_way + self.report.failures.len();
        self.report.not_begun = self.work.plan.steps.len().saturating_sub(begun);
        self.report.stopped = *stop.borrow() != Stop::No && self.report.not_begun + under_way > 0;
        Ok(())
    }

    /// Stops everything that still runs.
    async fn end(&mut self) {
        self.running.shutdown().await;
        self.readers.clear();
        self.reading.shutdown().await;
    }

    fn skip_done(&mut self) {
        let done: Vec<StepId> = self.work.done.keys().copied().collect();
        for id in done {
            self.queue.skip(id);
            self.report.done_before += 1;
            self.shared.events.send(Event::DoneBefore(id));
        }
    }

    /// Starts the steps that may start. Returns when the next rate class opens that holds ready steps back.
    fn start_ready(&mut self) -> Option<Instant> {
        loop {
            let now = Instant::now();
            let next = {
                let pace = self.shared.pace.lock().unwrap_or_else(PoisonError::into_inner);
                // Without room, the end of a counted step makes room.
                let has_room = self.work.parallelism.is_none_or(|limit| self.counted < limit.get());
                let waiting = &self.waiting;
                self.queue.pop(&mut |class| (has_room || waiting.contains(class)) && pace.is_open(class, now))
            };
            let Some(id) = next else {
                let opening =
                    self.shared.pace.lock().unwrap_or_else(PoisonError::into_inner).next_opening(now);
                return opening.filter(|_| self.queue.has_ready());
            };
            let plan = self.work.plan;
            let Some(step) = plan.steps.get(id.index()) else { continue };
            let prepared = self.prepare(step);
            self.is_begun(step);
            match prepared {
                Ok(unit) => {
                    if step.action.is_call() {
                        let mut pace = self.shared.pace.lock().unwrap_or_else(PoisonError::into_inner);
                        pace.begin(&unit.rate_class, now);
                    }
                    let run = step::run(unit, self.shared.clone()).instrument(trace::step(step));
                    self.counted += usize::from(!self.waiting.contains(&step.rate_class));
                    self.running.spawn(run);
                }
                Err(error) => self.fail(id, *error),
            }
        }
    }

    /// Tells the reader that a step checks its object now.
    fn is_begun(&self, step: &Step) {
        let provider = self.work.providers.of_type(step.address.kind()).map(|(name, ..)| name);
        let reader = provider.and_then(|provider| self.readers.get(provider));
        if let Some(reader) = reader
            && checks(&step.action)
            && announced(&self.work, step).is_some()
        {
            reader.begun(&step.address);
        }
    }

    fn finish(&mut self, finished: Finished) -> Result<(), Error> {
        let Finished { id, effect, elapsed, result } = finished;
        let plan = self.work.plan;
        let Some(step) = plan.steps.get(id.index()) else { return Ok(()) };
        self.counted -= usize::from(!self.waiting.contains(&step.rate_class));
        match result {
            Ok((applied, done)) => {
                if let StepAction::Operation { name, arguments } = &step.action {
                    take_removal(&mut self.work.snapshot, &step.address, (name.as_str(), arguments), &done);
                }
                take_effect(&mut self.work.snapshot, effect, &done);
                if let EndResult::Done { node, .. } = done
                    && node != NewNode::Unnamed
                {
                    self.work.nodes.insert(id, node);
                }
                if matches!(step.action, StepAction::Create | StepAction::Update | StepAction::Tag) {
                    self.expectations.carry_forward(&step.address, &applied.attributes);
                    self.work.outputs.insert(&step.address, applied);
                }
                let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
                tracing::info!(step = %self.titles.title(step), elapsed_ms, "done");
                self.report.done += 1;
                self.queue.finish(id);
                self.shared.events.send(Event::Done(id, elapsed));
            }
            Err(Failure::Provider(error)) => {
                let failed = EndResult::Failed {
                    class: error.class.clone(),
                    message: String::new(),
                    identity: error.identity.clone(),
                };
                take_effect(&mut self.work.snapshot, effect, &failed);
                self.fail(id, *error);
            }
            Err(Failure::Stopped { begun }) => self.report.under_way += usize::from(begun),
            Err(Failure::Store(error)) => return Err(Error::store(&plan.cluster, *error)),
        }
        Ok(())
    }

    fn fail(&mut self, id: StepId, error: ProviderError) {
        let step = self.work.plan.steps.get(id.index());
        let title = step.map(|step| self.titles.title(step)).unwrap_or_default();
        tracing::warn!(step = %title, class = %error.class, error = %error, "failed");
        self.shared.events.send(Event::Failed(id, error.clone()));
        if error.class == ErrorClass::Unauthenticated {
            // No other record can be written either: no new step begins, and the next run resumes the rest.
            self.queue.close();
        }
        let blocked = self.queue.dependents_of(id);
        self.report.failures.push(StepFailure { step: id, error, blocked });
        self.queue.fail(id);
    }

    /// The idempotency token of a step: the same for every attempt, also when a run is resumed.
    fn token(&self, id: StepId) -> slipway_resource::Token {
        let RunBegin { plan, epoch, .. } = &self.work.run;
        let text = format!("{}\n{plan}\n{epoch}\n{id}", self.work.uid);
        slipway_resource::Token::new(
            Digest::of_bytes(text.as_bytes()).as_str().get(7..47).unwrap_or_default(),
        )
    }
}

/// Announces to the reader of a provider the objects that the steps of a run will check.
fn announce(work: &Work<'_>, provider: &str, reader: &Reader) {
    for step in work.plan.steps.iter().filter(|step| !work.done.contains_key(&step.id)) {
        let is_of_it = work.providers.of_type(step.address.kind()).is_some_and(|(name, ..)| name == provider);
        if is_of_it
            && checks(&step.action)
            && let Some(identity) = announced(work, step)
        {
            reader.expect(&step.address, &identity);
        }
    }
}

/// Whether a step checks its object before it changes it.
fn checks(action: &StepAction) -> bool {
    match action {
        StepAction::Update | StepAction::Tag | StepAction::Operation { .. } => true,
        StepAction::Delete { surplus } => !surplus,
        StepAction::Create
        | StepAction::Record
        | StepAction::Forget
        | StepAction::RemovedWithParent { .. } => false,
    }
}

/// The object of a step, as far as it is known before the run; none for an object that the run creates.
fn announced(work: &Work<'_>, step: &Step) -> Option<Identity> {
    step.identity.clone().or_else(|| identity_of(&work.snapshot, &step.address))
}

#[cfg(test)]
mod rolls;
#[cfg(test)]
mod tests;
