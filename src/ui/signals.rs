//! Ctrl-C: once to finish what is under way, twice to stop at once. Between two runs of a command, it ends the command.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use slipway_engine::{Stop, StopSignal};
use tokio::signal::unix::{SignalKind, signal};

use crate::output::Output;

/// The interrupt and termination signals of this process, from its first run on. Before that, the system ends the process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signals(Arc<Mutex<Received>>);

#[derive(Debug, Default)]
struct Received {
    is_watched: bool,
    is_stopped: bool,
    /// Whether the command looks at signals itself between its runs.
    is_left: bool,
    /// The stop signal of the present run.
    run: Option<StopSignal>,
}

/// The effect of a signal.
#[derive(Debug, PartialEq, Eq)]
enum After {
    /// A run is in progress, with this stop so far.
    Run(Stop),
    /// No run is in progress: the process ends.
    End,
    /// No run is in progress, and the command handles signals itself.
    Leave,
}

impl Signals {
    /// Passes signals on to a run until [`Self::end`].
    pub fn begin(&self, output: Output, stop: StopSignal) {
        let mut received = self.lock();
        received.run = Some(stop);
        if !received.is_watched {
            let signals = self.clone();
            // A thread of its own: questions to a person block the one of the command.
            let watcher = thread::Builder::new().name("signals".to_owned());
            received.is_watched = watcher.spawn(move || signals.watch(output)).is_ok();
        }
    }

    /// The run has ended.
    pub fn end(&self) {
        self.lock().run = None;
    }

    /// Leaves signals that come between runs to the command, which looks at them itself.
    pub fn leave_between_runs(&self) {
        self.lock().is_left = true;
    }

    /// Whether a signal came: then no new work begins.
    pub fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }

    fn watch(&self, output: Output) {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let (Ok(mut interrupt), Ok(mut terminate)) =
                (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
            else {
                return;
            };
            loop {
                let number = tokio::select! {
                    _ = interrupt.recv() => SignalKind::interrupt(),
                    _ = terminate.recv() => SignalKind::terminate(),
                };
                match self.receive() {
                    After::End => end_process(number.as_raw_value()),
                    After::Leave => {}
                    After::Run(Stop::AtOnce) => output
                        .message("Stopping at once; the next run finds out what became of the open steps."),
                    After::Run(_) => output.message(
                        "Stopping: what is under way is finished and recorded. Once more to stop at once.",
                    ),
                }
            }
        });
    }

    /// Notes a signal.
    fn receive(&self) -> After {
        let mut received = self.lock();
        received.is_stopped = true;
        match &received.run {
            Some(stop) => After::Run(stop.raise()),
            None if received.is_left => After::Leave,
            None => After::End,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Received> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the process as the system would have done.
#[allow(clippy::exit, reason = "nothing is under way, and the thread of the command may wait for a person")]
fn end_process(signal: i32) {
    std::process::exit(128 + signal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_stops_the_run_and_what_would_begin_after_it() {
        let (signals, stop) = (Signals::default(), StopSignal::default());
        signals.lock().is_watched = true;
        signals.begin(Output::standard(), stop.clone());
        assert!(!signals.is_stopped());
        assert_eq!(signals.receive(), After::Run(Stop::Finish));
        assert_eq!(stop.level(), Stop::Finish);
        // The run was at its last step.
        signals.end();
        assert!(signals.is_stopped());
        assert_eq!(signals.receive(), After::End);
        signals.leave_between_runs();
        assert_eq!(signals.receive(), After::Leave);
    }
}
