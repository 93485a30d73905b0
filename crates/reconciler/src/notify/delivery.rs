//! Sends messages to receivers, one after the other, with waits after failures.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use slipway_limits::{file, size};
use slipway_resource::with_causes;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

use super::{Notice, Notices, Queue, Template};
use crate::configuration::{Notification, Retry};
use crate::error::Error;
use crate::metrics::Metrics;

/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(15);
/// How often a message is sent.
const ATTEMPTS: u32 = 8;
/// How long all messages may take that wait when the controller ends.
const LAST: Duration = Duration::from_secs(5);

/// The tasks that send messages.
pub(crate) struct Deliveries {
    tasks: Vec<JoinHandle<()>>,
    stop: CancellationToken,
}

/// A receiver that can be reached.
struct Sender {
    client: Client,
    url: Url,
    token: Option<HeaderValue>,
    template: Template,
}

/// Why a message was not received.
struct Refusal {
    text: String,
    /// Whether the same message may be received later.
    may_pass: bool,
}

impl Deliveries {
    /// Starts a task for each receiver. Reads their URLs and tokens.
    ///
    /// # Errors
    /// When a file cannot be read, or has no URL or token that can be used.
    pub fn start(notices: &Notices, retry: Retry, metrics: &Metrics) -> Result<Self, Error> {
        let stop = CancellationToken::new();
        let senders: Vec<(Arc<Queue>, Sender)> = notices
            .0
            .iter()
            .map(|queue| Ok((queue.clone(), sender(&queue.receiver)?)))
            .collect::<Result<_, Error>>()?;
        let start =
            |(queue, sender)| tokio::spawn(deliver(queue, sender, retry, metrics.clone(), stop.clone()));
        let tasks = senders.into_iter().map(start).collect();
        Ok(Self { tasks, stop })
    }

    /// Sends what waits, for a few seconds, and ends.
    pub async fn end(self) {
        self.stop.cancel();
        let end = Instant::now() + LAST;
        for mut task in self.tasks {
            if tokio::time::timeout_at(end, &mut task).await.is_err() {
                task.abort();
            }
        }
    }
}

async fn deliver(queue: Arc<Queue>, sender: Sender, retry: Retry, metrics: Metrics, stop: CancellationToken) {
    let name = queue.receiver.name.as_str();
    let count = |outcome: &str| {
        let labels = [("name", name.to_owned()), ("outcome", outcome.to_owned())];
        metrics.notifications.get_or_create(&labels).inc();
    };
    let mut problem = String::new();
    while let Some(notice) = queue.next(&stop).await {
        let mut attempt = 1;
        loop {
            let Err(refusal) = sender.send(&notice, &queue.receiver).await else {
                count("sent");
                problem.clear();
                break;
            };
            // The same failure is logged once.
            if problem != refusal.text {
                tracing::warn!(notification = name, "a message was not received: {}", refusal.text);
                problem = refusal.text;
            }
            if !refusal.may_pass || attempt >= ATTEMPTS || stop.is_cancelled() {
                count("failed");
                break;
            }
            let wait = retry.wait(attempt, name);
            attempt += 1;
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = stop.cancelled() => {}
            }
        }
    }
}

impl Sender {
    async fn send(&self, notice: &Notice, receiver: &Notification) -> Result<(), Refusal> {
        let (content, body) = notice.body(receiver.kind, &self.template);
        let mut request =
            self.client.post(self.url.clone()).header(CONTENT_TYPE, content).body(body.to_string());
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token.clone());
        }
        match request.send().await {
            Ok(answer) if answer.status().is_success() => Ok(()),
            Ok(answer) => {
                let status = answer.status();
                let may_pass = status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429);
                Err(Refusal { text: format!("the receiver answers {status}"), may_pass })
            }
            // The URL may be a secret.
            Err(error) => Err(Refusal { text: with_causes(&error.without_url()), may_pass: true }),
        }
    }
}

fn sender(receiver: &Notification) -> Result<Sender, Error> {
    let refused = |reason: String| Error::Configuration {
        place: format!("notification {}", receiver.name),
        reason,
        hint: None,
    };
    let text = match (&receiver.url, &receiver.url_file) {
        (_, Some(path)) => read(path)?,
        (url, None) => Zeroizing::new(url.clone().unwrap_or_default()),
    };
    let url = place_of(text.trim(), receiver.insecure_http)
        .map_err(|reason| refused(format!("its URL {reason}")))?;
    let token = receiver.token_file.as_deref().map(read).transpose()?;
    let token = token.map(|token| HeaderValue::try_from(format!("Bearer {}", token.trim())));
    let mut token =
        token.transpose().map_err(|_| refused("its token has characters that no token has".to_owned()))?;
    token.iter_mut().for_each(|token| token.set_sensitive(true));
    #[allow(clippy::disallowed_methods, reason = "the operator names the receiver")]
    let client = Client::builder()
        // A redirect could lead the token to another host.
        .redirect(Policy::none())
        .timeout(REQUEST)
        .user_agent(concat!("slipway/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| refused(with_causes(&error)))?;
    // The configuration was checked.
    let template = Template::parse(&receiver.template).map_err(refused)?;
    Ok(Sender { client, url, token, template })
}

/// The URL of a receiver: `https`, or `http` on this machine.
///
/// # Errors
/// Why it cannot be used, as the end of a sentence that does not contain the URL.
pub(crate) fn place_of(text: &str, insecure_http: bool) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("cannot be used: {error}"))?;
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    match url.scheme() {
        "https" => Ok(url),
        "http" if insecure_http || is_here => Ok(url),
        "http" => Err("is not encrypted; use https, or set `insecure-http`".to_owned()),
        _ => Err("does not begin with https://".to_owned()),
    }
}

#[allow(clippy::disallowed_methods, reason = "the operator names the file")]
fn read(path: &std::path::Path) -> Result<Zeroizing<String>, Error> {
    let text = file::read_text(path, size::KEY_FILE).map_err(|source| Error::File {
        what: "the file of a notification",
        path: path.to_owned(),
        source,
    })?;
    Ok(Zeroizing::new(text))
}
