//! Sends spans to a receiver of OTLP.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use reqwest::Client;
use reqwest::header::CONTENT_TYPE;
use reqwest::redirect::Policy;
use slipway_resource::with_causes;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::Settings;
use super::layer::Span;
use super::wire;

/// How long spans wait until they are sent together.
const DELAY: Duration = Duration::from_secs(1);
/// How many spans one request has at most.
const BATCH: usize = 512;
/// How long a request may take.
const REQUEST: Duration = Duration::from_secs(10);

/// Sends spans until the program ends it.
pub(super) struct Exporter {
    settings: Settings,
    spans: Receiver<Span>,
    lost: Arc<AtomicU64>,
    client: Client,
    runtime: Runtime,
    /// Whether the last request failed.
    has_failed: bool,
}

impl Exporter {
    pub fn new(settings: Settings, spans: Receiver<Span>, lost: Arc<AtomicU64>) -> Result<Self, String> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("the runtime for traces cannot start: {error}"))?;
        let client = Client::builder()
            // A redirect could lead the headers to another host.
            .redirect(Policy::none())
            .timeout(REQUEST)
            .user_agent(concat!("slipway/", env!("CARGO_PKG_VERSION")))
            .default_headers(settings.headers.clone())
            .build()
            .map_err(|error| with_causes(&error))?;
        Ok(Self { settings, spans, lost, client, runtime, has_failed: false })
    }

    /// Sends what is collected every second, and the rest at the end.
    pub fn run(mut self, ending: &Notify) {
        loop {
            let is_ending = self.runtime.block_on(async { timeout(DELAY, ending.notified()).await.is_ok() });
            loop {
                let batch: Vec<Span> = self.spans.try_iter().take(BATCH).collect();
                if batch.is_empty() {
                    break;
                }
                let sent = self.runtime.block_on(self.send(&batch));
                self.report(sent);
            }
            if is_ending {
                return;
            }
        }
    }

    async fn send(&self, spans: &[Span]) -> Result<(), String> {
        let body = wire::request(&self.settings.resource, spans).to_string();
        let request = self.client.post(self.settings.url.clone()).header(CONTENT_TYPE, "application/json");
        let answer = request.body(body).send().await.map_err(|error| with_causes(&error.without_url()))?;
        let status = answer.status();
        if status.is_success() { Ok(()) } else { Err(format!("the receiver answers {status}")) }
    }

    /// Logs the first failure, the end of failures, and lost spans. What was not sent is lost.
    fn report(&mut self, sent: Result<(), String>) {
        match sent {
            Ok(()) if self.has_failed => tracing::info!("traces are sent again"),
            Err(reason) if !self.has_failed => {
                // The URL has no credentials, but its query may be a secret.
                let host = self.settings.url.host_str().unwrap_or_default();
                tracing::warn!(host, "traces cannot be sent: {reason}");
                self.has_failed = true;
                return;
            }
            Err(_) => return,
            Ok(()) => {}
        }
        self.has_failed = false;
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            tracing::warn!(lost, "more spans ended than could be sent");
        }
    }
}
