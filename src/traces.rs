//! Traces of a command or of a controller, exported over OTLP (HTTP with JSON). The standard variables of OpenTelemetry turn them on;
//! see [`settings`].
//!
//! The engine makes the spans ([`slipway_engine::trace`]). A layer of the subscriber collects those that have ended, and a thread
//! sends them. Nothing waits for the thread but the end of the command, for a few seconds at most.

mod exporter;
mod layer;
mod settings;
mod wire;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel, sync_channel};
use std::time::Duration;

use slipway_engine::trace::TARGET;
use tokio::sync::Notify;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use exporter::Exporter;
use layer::Collector;
pub(crate) use settings::Settings;

/// How many spans wait to be sent. Further ones are lost.
const QUEUE: usize = 8_192;

/// How long the end of a command waits for the last spans to be sent.
const END: Duration = Duration::from_secs(5);

/// The thread that sends spans.
#[derive(Debug)]
pub(crate) struct Traces {
    ending: Arc<Notify>,
    /// Nothing is sent on it; it is closed when the thread has ended.
    ended: Receiver<()>,
}

impl Traces {
    /// Starts the thread. Returns it with the layer that collects spans for it.
    ///
    /// # Errors
    /// Why there are no traces.
    pub fn start<S>(settings: Settings) -> Result<(Self, impl Layer<S> + Send + Sync + 'static), String>
    where
        S: tracing::Subscriber + for<'a> LookupSpan<'a> + 'static,
    {
        let (spans, collected) = sync_channel(QUEUE);
        let collector = Collector::new(spans);
        let exporter = Exporter::new(settings, collected, collector.lost())?;
        let ending = Arc::new(Notify::new());
        let (alive, ended) = channel::<()>();
        let stop = ending.clone();
        let work = move || {
            exporter.run(&stop);
            drop(alive);
        };
        let thread = std::thread::Builder::new().name("traces".to_owned()).spawn(work);
        thread.map_err(|error| format!("the thread for traces cannot start: {error}"))?;
        let is_wanted = filter_fn(|metadata| metadata.is_span() && metadata.target() == TARGET);
        Ok((Self { ending, ended }, Layer::<S>::with_filter(collector, is_wanted)))
    }

    /// Sends what is left.
    pub fn end(self) {
        self.ending.notify_one();
        if self.ended.recv_timeout(END) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("the last traces were not sent within {END:?}");
        }
    }
}
