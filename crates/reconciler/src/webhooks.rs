//! The endpoint of webhooks, which let a source be read or a pull request be looked at now.
//!
//! A webhook is of the source that its path names, and counts when its signature is right. Nothing in it decides what is read
//! or applied; only a push to a branch or a tag that the source does not follow is ignored. So an old or repeated webhook
//! causes one more read at most.

use std::error::Error as StdError;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use slipway_controller::{Clients, Served, listen};
use slipway_forges::Repository;
use slipway_forges::webhook::{Bodies, Delivery, Event, Handler, Secret, Sender, Settings, Taken};
use slipway_limits::{file, size};
use slipway_resource::Digest;
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

use crate::configuration::{Configuration, Git, Reference, Webhook, WebhookKind};
use crate::controller::Handle;
use crate::error::Error;
use crate::metrics::Metrics;

/// The path ahead of the name of a source.
const PATH: &str = "/hooks/";

/// What senders may use. A connection has one request, whose body may take 10 s.
const CLIENTS: Clients =
    Clients { at_once: 64, head: Duration::from_secs(5), connection: Some(Duration::from_secs(20)) };

/// The webhooks of all sources.
pub(crate) struct Endpoint {
    hooks: Vec<Hook>,
    metrics: Metrics,
}

/// The webhooks of a source.
struct Hook {
    source: String,
    /// The digest of the source's name.
    name: Digest,
    handler: Handler,
}

impl Endpoint {
    /// The webhooks of the sources that have them. Reads their secrets.
    pub fn new(configuration: &Configuration, metrics: Metrics, handle: &Handle) -> Result<Self, Error> {
        let bodies = Bodies::default();
        let mut hooks = Vec::new();
        for source in &configuration.sources {
            let Some(webhook) = &source.webhook else { continue };
            let secret = read_secret(&source.name, webhook)?;
            let settings = Settings { sender: sender(webhook.kind), secrets: vec![secret] };
            let (name, git, handle) = (source.name.clone(), source.git.clone(), handle.clone());
            let repository = source.pull_requests.as_ref().and_then(|reviews| reviews.repository().ok());
            let take = move |delivery: Delivery| {
                if let Some(number) = pull_request(repository.as_ref(), &delivery.event) {
                    tracing::debug!(
                        source = name,
                        delivery = delivery.id,
                        number,
                        "a webhook of a pull request"
                    );
                    handle.pull_request_changed(name.as_str(), number);
                    return Taken::Accepted;
                }
                if !concerns(git.as_ref(), &delivery.event) {
                    return Taken::Ignored;
                }
                tracing::debug!(source = name, delivery = delivery.id, "a webhook lets the source be read");
                handle.changed(name.as_str());
                Taken::Accepted
            };
            let handler = Handler::new(settings, bodies.clone(), take);
            let name = Digest::of_bytes(source.name.as_bytes());
            hooks.push(Hook { source: source.name.clone(), name, handler });
        }
        Ok(Self { hooks, metrics })
    }

    /// Answers one request, as [`Handler::handle`] does; 404 for any other path.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let (source, response) = match self.find(request.uri().path()) {
            Some(hook) => (hook.source.as_str(), hook.handler.handle(request).await),
            None => ("", not_found()),
        };
        let outcome = outcome(response.status());
        let labels = [("source", source.to_owned()), ("outcome", outcome.to_owned())];
        self.metrics.webhooks.get_or_create(&labels).inc();
        response
    }

    /// The webhooks that a path names. All names are compared, by their digests: how long it takes says nothing about them.
    fn find(&self, path: &str) -> Option<&Hook> {
        let name = Digest::of_bytes(path.strip_prefix(PATH)?.as_bytes());
        self.hooks.iter().fold(None, |found, hook| if hook.name == name { Some(hook) } else { found })
    }
}

/// Serves the endpoint until the stop.
///
/// # Errors
/// When the address cannot be used.
pub(crate) async fn serve(
    endpoint: Endpoint,
    address: std::net::SocketAddr,
    stop: CancellationToken,
) -> Result<Served, Error> {
    let endpoint = Arc::new(endpoint);
    let respond = move |request: Request<Incoming>| {
        let endpoint = endpoint.clone();
        async move { endpoint.answer(request).await }
    };
    listen(address, CLIENTS, stop, respond).await.map_err(|source| Error::Listen { address, source })
}

/// Whether an event can mean that a source has changed. A source in a folder follows no branch.
fn concerns(git: Option<&Git>, event: &Event) -> bool {
    match (event, git.map(Git::reference)) {
        (Event::Changed, _) | (Event::SourceChanged { .. }, None) => true,
        (Event::SourceChanged { reference, .. }, Some(Reference::Branch(name))) => {
            reference.strip_prefix("refs/heads/") == Some(name.as_str())
        }
        (Event::SourceChanged { reference, .. }, Some(Reference::Tag(name))) => {
            reference.strip_prefix("refs/tags/") == Some(name.as_str())
        }
        // A commit never changes, and a merge is a push too.
        (Event::SourceChanged { .. }, Some(Reference::Commit(_)))
        | (Event::PullRequest { .. } | Event::Review { .. } | Event::Comment { .. }, _) => false,
    }
}

/// The pull request that an event is about, if those of its repository are reviewed.
fn pull_request(repository: Option<&Repository>, event: &Event) -> Option<u64> {
    match event {
        Event::PullRequest { repository: name, number }
        | Event::Review { repository: name, number }
        | Event::Comment { repository: name, number } => {
            repository.is_some_and(|repository| repository.is_named(name)).then_some(*number)
        }
        Event::Changed | Event::SourceChanged { .. } => None,
    }
}

/// How a kind of sender proves that it knows the secret.
fn sender(kind: WebhookKind) -> Sender {
    match kind {
        WebhookKind::GitHub => Sender::GitHub,
        WebhookKind::GitLab => Sender::GitLab,
        WebhookKind::Gitea => Sender::Gitea,
        WebhookKind::Generic => Sender::Generic,
    }
}

#[allow(clippy::disallowed_methods, reason = "the operator names the file")]
fn read_secret(source: &str, webhook: &Webhook) -> Result<Secret, Error> {
    let path: &Path = &webhook.secret_file;
    let text = file::read_text(path, size::KEY_FILE).map_err(|source| Error::File {
        what: "the secret of a webhook",
        path: path.to_owned(),
        source,
    })?;
    Secret::new(&Zeroizing::new(text)).map_err(|error| Error::Secret {
        name: source.to_owned(),
        path: path.to_owned(),
        source: Box::new(error),
    })
}

/// The same answer for every path that no source with webhooks has.
fn not_found() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(b"not found\n")));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// What became of a webhook, for metrics.
fn outcome(status: StatusCode) -> &'static str {
    match status {
        StatusCode::ACCEPTED => "accepted",
        status if status.is_success() => "ignored",
        _ => "refused",
    }
}

#[cfg(test)]
mod tests;
