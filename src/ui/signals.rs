//! Ctrl-C: once to finish what is under way, twice to stop at once.

use slipway_engine::{Stop, StopSignal};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use crate::output::Output;

/// Passes interrupt and termination signals on to a run, until the task is aborted.
pub(crate) fn watch(output: Output, stop: StopSignal) -> JoinHandle<()> {
    tokio::spawn(async move {
        let (Ok(mut interrupt), Ok(mut terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            return;
        };
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            output.message(match stop.raise() {
                Stop::AtOnce => "Stopping at once; the next run finds out what became of the open steps.",
                _ => "Stopping: what is under way is finished and recorded. Once more to stop at once.",
            });
        }
    })
}
