//! Processes, a store, and requests between them that take any time.

use std::time::Duration;

use stateright::{Model, Property};

use crate::write::put;

use super::mutation::Mutation;
use super::process::{Budget, Process, Stage, TERM};
use super::properties;
use super::store::{Answer, Request, Store};
use super::work::Lane;

/// The kinds of clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clocks {
    /// All clocks run at one pace.
    Honest,
    /// The clock of a contender may jump at any time.
    Wild,
}

/// The possible events, and their number.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) processes: u8,
    pub(super) clocks: Clocks,
    pub(super) budget: Budget,
    /// The number of requests without an answer in time.
    pub(super) timeouts: u8,
    /// Whether a process may abandon such a request. Otherwise it sends the request again.
    pub(super) may_give_up: bool,
    /// For how many seconds honest clocks run.
    pub(super) seconds: u8,
    pub(super) mutation: Option<Mutation>,
}

impl World {
    /// Two processes that may be paused for any time; no request is lost.
    pub(super) fn paused() -> Self {
        Self {
            processes: 2,
            clocks: Clocks::Wild,
            budget: Budget { appends: 2, renewals: 1, commits: 1 },
            timeouts: 0,
            may_give_up: false,
            seconds: 0,
            mutation: None,
        }
    }

    /// A request gets no answer, and may arrive later. Its process may abandon it, or send it again.
    pub(super) fn lossy() -> Self {
        let budget = Budget { appends: 1, renewals: 0, commits: 1 };
        Self { budget, timeouts: 1, may_give_up: true, ..Self::paused() }
    }

    /// The same with processes that never abandon a request: one of them must commit.
    pub(super) fn stubborn() -> Self {
        Self { may_give_up: false, ..Self::lossy() }
    }

    /// Three processes that take over from each other.
    pub(super) fn three() -> Self {
        let budget = Budget { appends: 1, renewals: 0, commits: 0 };
        Self { processes: 3, budget, ..Self::paused() }
    }

    /// Leases are reliable. The journal has no part in that.
    pub(super) fn honest() -> Self {
        let budget = Budget { appends: 0, renewals: 1, commits: 0 };
        Self { clocks: Clocks::Honest, budget, seconds: 4, ..Self::paused() }
    }
}

/// One state of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) store: Store,
    pub(super) processes: Vec<Process>,
    /// Abandoned requests that may still arrive.
    pub(super) late: Vec<Request>,
    pub(super) timeouts: u8,
    pub(super) seconds: u8,
    /// An abandoned request arrived and had an effect.
    pub(super) was_late: bool,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A contender reads the head.
    Look(usize),
    /// A request has its effect.
    Arrive(usize, Lane),
    /// Its answer is received.
    Receive(usize, Lane),
    /// No answer came in time; the request is still in transit. It is sent again.
    TimeOut(usize, Lane),
    /// The same, but it is not sent again.
    GiveUp(usize, Lane),
    /// An abandoned request arrives.
    ArriveLate(usize),
    Append(usize),
    Renew(usize),
    Commit(usize),
    Release {
        who: usize,
        with_commit: bool,
    },
    /// A second passes.
    Tick,
    /// A contender's clock jumps to the end of the term.
    Leap(usize),
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            store: Store::default(),
            processes: (0..self.processes).map(|number| Process::new(number, self.budget)).collect(),
            late: Vec::new(),
            timeouts: self.timeouts,
            seconds: if self.clocks == Clocks::Honest { self.seconds } else { 0 },
            was_late: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (who, process) in state.processes.iter().enumerate() {
            for (lane, flight) in [(Lane::Head, &process.head), (Lane::Journal, &process.journal)] {
                match flight {
                    Some(flight) if flight.answer.is_some() => actions.push(Action::Receive(who, lane)),
                    Some(flight) => {
                        actions.push(Action::Arrive(who, lane));
                        // A read without a timely answer has no effect and is repeated, so it needs no such
                        // event.
                        if state.timeouts > 0 && flight.request.is_write() {
                            actions.push(Action::TimeOut(who, lane));
                            if self.may_give_up {
                                actions.push(Action::GiveUp(who, lane));
                            }
                        }
                    }
                    None => {}
                }
            }
            self.own_actions(state, who, process, actions);
        }
        actions.extend((0..state.late.len()).map(Action::ArriveLate));
        if state.seconds > 0 {
            actions.push(Action::Tick);
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Look(who) => {
                state.processes.get_mut(who)?.look();
                if self.clocks == Clocks::Wild {
                    state.arrive(who, Lane::Head, self)?;
                }
            }
            Action::Append(who) => state.processes.get_mut(who)?.append(),
            Action::Renew(who) => state.processes.get_mut(who)?.renew(self),
            Action::Commit(who) => state.processes.get_mut(who)?.commit_now(self),
            Action::Release { who, with_commit } => state.processes.get_mut(who)?.release(with_commit, self),
            Action::Arrive(who, lane) => state.arrive(who, lane, self)?,
            Action::Receive(who, lane) => state.processes.get_mut(who)?.receive(lane, &state.store, self),
            Action::TimeOut(who, lane) => {
                state.time_out(who, lane)?;
                let process = state.processes.get_mut(who)?;
                process.lane(lane).as_mut()?.answer = Some(Answer::Put(put::Answer::Lost));
                process.receive(lane, &state.store, self);
            }
            Action::GiveUp(who, lane) => {
                state.time_out(who, lane)?;
                state.processes.get_mut(who)?.give_up(lane);
            }
            Action::ArriveLate(number) => {
                let request = state.late.remove(number);
                let before = state.store.clone();
                state.store.effect(&request, self.mutation);
                state.was_late |= state.store != before;
            }
            Action::Tick => {
                state.seconds -= 1;
                for process in &mut state.processes {
                    process.clock += Duration::from_secs(1);
                }
            }
            Action::Leap(who) => {
                let process = state.processes.get_mut(who)?;
                if let Stage::Contending { until: Some(until), .. } = &process.stage {
                    process.clock = process.clock.max(*until);
                }
            }
        }
        for process in &mut state.processes {
            process.forget(self);
        }
        (state != *before).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all(self)
    }
}

impl World {
    /// The events that a process may cause by itself.
    fn own_actions(&self, state: &State, who: usize, process: &Process, actions: &mut Vec<Action>) {
        match &process.stage {
            Stage::Contending { seen, until, .. } if process.head.is_none() => {
                let tag = state.store.head.as_ref().map(|(_, tag)| *tag);
                let is_over = until.is_some_and(|until| process.clock >= until);
                // Another look shows nothing new unless the head has changed, or the term has ended.
                let is_first = until.is_none() && seen.is_none();
                // All processes are alike: the first looks are taken in one order.
                let is_next = who == 0 || state.processes.get(who - 1).is_some_and(Process::has_begun);
                if is_first && is_next || !is_first && (*seen != tag || is_over) {
                    actions.push(Action::Look(who));
                }
                if self.clocks == Clocks::Wild && until.is_some() && !is_over {
                    actions.push(Action::Leap(who));
                }
            }
            Stage::Holding(holding) if holding.tenure.held().is_ok() && !holding.is_leaving => {
                let budget = process.budget;
                if process.journal.is_none() && budget.appends > 0 && !holding.journal_failed {
                    actions.push(Action::Append(who));
                }
                if process.head.is_none() && budget.renewals > 0 {
                    actions.push(Action::Renew(who));
                }
                if process.head.is_none() && process.journal.is_none() {
                    if budget.commits > 0 {
                        actions.push(Action::Commit(who));
                        actions.push(Action::Release { who, with_commit: true });
                    } else {
                        actions.push(Action::Release { who, with_commit: false });
                    }
                }
            }
            _ => {}
        }
    }
}

impl State {
    /// A request has its effect. The time of the answer matters to clocks only.
    fn arrive(&mut self, who: usize, lane: Lane, world: &World) -> Option<()> {
        let process = self.processes.get_mut(who)?;
        let flight = process.lane(lane).as_mut()?;
        flight.answer = Some(self.store.effect(&flight.request, world.mutation));
        if world.clocks == Clocks::Wild {
            process.receive(lane, &self.store, world);
        }
        Some(())
    }

    /// The process stops waiting for a request.
    fn time_out(&mut self, who: usize, lane: Lane) -> Option<()> {
        self.timeouts -= 1;
        let request = self.processes.get_mut(who)?.lane(lane).as_ref()?.request.clone();
        self.late.push(request);
        Some(())
    }

    /// No contender waits longer than one term.
    pub(super) fn waits_for_no_more_than_a_term(&self) -> bool {
        self.processes.iter().all(|process| match &process.stage {
            Stage::Contending { until: Some(until), .. } => *until <= process.clock + TERM,
            _ => true,
        })
    }
}
