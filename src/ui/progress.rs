//! Live progress: one thread owns the terminal; plain lines where there is none.

mod bars;
mod work;

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use slipway_engine::Event;
use slipway_plan::render;
use slipway_plan::{Plan, StepId};

use crate::output::Output;
use work::Work;

/// How long plain lines may say nothing while steps run.
const QUIET: Duration = Duration::from_secs(10);

/// Shows the progress of a run.
pub(crate) struct Progress {
    events: Sender<Event>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Begins to show a run of a plan.
    pub fn new(output: Output, plan: &Plan) -> Self {
        let (events, receiver) = mpsc::channel();
        let work = Work::of(plan);
        let show: fn(&Receiver<Event>, Output, &Work) =
            if output.shows_progress() { bars::show } else { lines };
        // A thread of its own: its end can be awaited where nothing else can be, so that no line is lost.
        let thread = thread::Builder::new().name("progress".to_owned());
        let thread = thread.spawn(move || show(&receiver, output, &work)).ok();
        Self { events, thread }
    }

    /// Shows an event of the run.
    pub fn show(&self, event: Event) {
        // A closed channel only means that progress is not shown any more.
        drop(self.events.send(event));
    }

    /// Shows all events so far, and clears the terminal for what comes after.
    pub fn finish(self) {
        let Self { events, thread } = self;
        drop(events);
        if let Some(thread) = thread {
            // A panic of the thread has been reported where it happened.
            drop(thread.join());
        }
    }
}

/// Plain lines: finished and failed steps. The begin of a step is shown only when the step takes long.
fn lines(events: &Receiver<Event>, output: Output, work: &Work) {
    let count = work.steps.len();
    let mut done = 0;
    let mut running: BTreeMap<StepId, Instant> = BTreeMap::new();
    loop {
        let event = match events.recv_timeout(QUIET) {
            Ok(event) => event,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                if let Some(text) = waited_for(&running, work) {
                    output.message(&text);
                }
                continue;
            }
        };
        match &event {
            Event::Started(id) => drop(running.entry(*id).or_insert_with(Instant::now)),
            Event::Done(id, _) | Event::DoneBefore(id) | Event::Failed(id, _) => drop(running.remove(id)),
            _ => {}
        }
        match event {
            Event::Done(id, elapsed) => {
                done += 1;
                output.message(&format!("[{done}/{count}] {} ({})", work.title(id), short(elapsed)));
            }
            Event::DoneBefore(_) => done += 1,
            Event::Failed(id, error) => output.message(&failed(work, id, &error.message)),
            Event::Retrying { step, error, delay } => {
                let text = format!("again in {}: {}: {}", short(delay), work.title(step), error.message);
                output.message(&text);
            }
            Event::Progress(id, text) => output.message(&format!("{}: {text}", work.title(id))),
            Event::Started(_) | Event::Stopping => {}
        }
    }
}

/// The step that has run longest, and the number of other running steps.
fn waited_for(running: &BTreeMap<StepId, Instant>, work: &Work) -> Option<String> {
    let (id, begun) = running.iter().min_by_key(|(_, begun)| **begun)?;
    let others = match running.len() - 1 {
        0 => String::new(),
        others => format!(", and for {others} more"),
    };
    Some(format!("waiting for: {} ({}){others}", work.title(*id), short(begun.elapsed())))
}

fn failed(work: &Work, id: StepId, message: &str) -> String {
    format!("failed: {}: {message}", work.title(id))
}

fn short(duration: Duration) -> String {
    render::duration(milliseconds(duration))
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
