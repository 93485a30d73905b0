//! Takes the requests of senders.

use std::error::Error as StdError;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Body;
use slipway_limits::size;
use slipway_resource::Digest;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use super::event::Delivery;
use super::payload;
use super::seen::Seen;
use super::signature::{Secret, Sender, header, is_promising, is_valid, proof};

/// Events that wait for the caller; a sender whose event does not fit gets 503 and tries again.
const WAITING: usize = 256;
/// Bodies that are read at the same time.
const AT_ONCE: usize = 16;
/// How long a body may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest id of a delivery.
const ID: usize = 200;

/// Who may send, and how they prove it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The sender.
    pub sender: Sender,
    /// The secrets, of which a sender must know one: two while a secret is replaced.
    pub secrets: Vec<Secret>,
}

/// The bodies that are read at the same time, by all handlers that share it. The memory use is bounded by their number and by
/// [`size::WEBHOOK`].
#[derive(Clone, Debug)]
pub struct Bodies(Arc<Semaphore>);

impl Default for Bodies {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

/// What became of the event of a genuine delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Something is done about it.
    Accepted,
    /// It is of no interest.
    Ignored,
    /// Too many others wait. The answer asks the sender to try again.
    Full,
}

/// Takes requests, verifies them, and passes their events on. Clones share what they remember.
#[derive(Clone)]
pub struct Handler(Arc<Inner>);

struct Inner {
    settings: Settings,
    seen: Mutex<Seen>,
    bodies: Bodies,
    take: Box<dyn Fn(Delivery) -> Taken + Send + Sync>,
}

impl fmt::Debug for Handler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Handler").field(&self.0.settings.sender).finish()
    }
}

/// A handler for requests, and the channel with their events.
#[must_use]
pub fn receiver(settings: Settings) -> (Handler, mpsc::Receiver<Delivery>) {
    let (events, received) = mpsc::channel(WAITING);
    let take = move |delivery| match events.try_send(delivery) {
        Ok(()) => Taken::Accepted,
        Err(_) => Taken::Full,
    };
    (Handler::new(settings, Bodies::default(), take), received)
}

impl Handler {
    /// A handler that passes each event to a function, which does not wait.
    #[must_use]
    pub fn new(
        settings: Settings,
        bodies: Bodies,
        take: impl Fn(Delivery) -> Taken + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Inner { settings, seen: Mutex::default(), bodies, take: Box::new(take) }))
    }

    /// Answers one request.
    ///
    /// | status | meaning |
    /// | --- | --- |
    /// | 202 | the event was passed on |
    /// | 200 | the delivery is genuine, and of no interest or received before |
    /// | 400 | the body is not what the sender sends |
    /// | 401 | the proof is missing or wrong |
    /// | 405, 408, 413, 415 | no POST, too slow, too large, no JSON |
    /// | 503 | too much at once; the sender should try again |
    ///
    /// A body is read only when its size is allowed and its headers can belong to a genuine delivery.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let (status, text) = match self.take(request).await {
            Ok(taken) | Err(taken) => taken,
        };
        if !status.is_success() {
            tracing::debug!(status = status.as_u16(), text, "a webhook was refused");
        }
        let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
        *response.status_mut() = status;
        let plain = http::HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, plain);
        response
    }

    async fn take<B>(&self, request: Request<B>) -> Result<Answer, Answer>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let Inner { settings: Settings { sender, secrets }, bodies, .. } = &*self.0;
        let (head, body) = request.into_parts();
        check_head(*sender, &head.method, &head.headers)?;
        let unproved = (StatusCode::UNAUTHORIZED, "the signature is missing or wrong\n");
        if !is_promising(*sender, secrets, &head.headers) {
            return Err(unproved);
        }
        let busy = (StatusCode::SERVICE_UNAVAILABLE, "too many deliveries at once\n");
        let body = {
            let _one = bodies.0.try_acquire().map_err(|_| busy)?;
            read(body).await?
        };
        if !is_valid(*sender, secrets, &head.headers, &body) {
            return Err(unproved);
        }
        self.pass_on(&head.headers, &body)
    }

    /// Passes the event of a genuine delivery on, once.
    fn pass_on(&self, headers: &HeaderMap, body: &[u8]) -> Result<Answer, Answer> {
        let sender = self.0.settings.sender;
        let kind = kind_header(sender).and_then(|name| header(headers, name)).unwrap_or_default();
        let event = payload::event(sender, kind, body)
            .map_err(|_| (StatusCode::BAD_REQUEST, "the body is not what this sender sends\n"))?;
        let nothing = Ok((StatusCode::OK, "nothing to do\n"));
        let Some(event) = event else { return nothing };
        let digest = Digest::of_bytes(body);
        let given = id_headers(sender).iter().find_map(|name| header(headers, name));
        let given = given.filter(|id| id.len() <= ID);
        let keys = keys(sender, headers, &digest, given);
        let is_new = self.seen().is_new(&keys);
        if !is_new {
            return Ok((StatusCode::OK, "received before\n"));
        }
        let id = given.map_or_else(|| digest.short().to_owned(), str::to_owned);
        match (self.0.take)(Delivery { id, event }) {
            Taken::Accepted => Ok((StatusCode::ACCEPTED, "accepted\n")),
            Taken::Ignored => nothing,
            Taken::Full => {
                self.seen().forget(&keys);
                Err((StatusCode::SERVICE_UNAVAILABLE, "too many events wait\n"))
            }
        }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Answer = (StatusCode, &'static str);

/// What identifies a delivery: its id, and its proof. GitLab's proof is the same every time, so its body is taken instead.
/// Nothing identifies the delivery of a generic sender, which may sign the same bytes each time: each counts.
fn keys(sender: Sender, headers: &HeaderMap, digest: &Digest, id: Option<&str>) -> Vec<String> {
    let proof = match sender {
        Sender::GitLab => digest.hex(),
        Sender::GitHub | Sender::Gitea => proof(sender, headers).unwrap_or_default(),
        Sender::Generic => return Vec::new(),
    };
    let id = id.map(|id| format!("id {id}"));
    id.into_iter().chain([format!("proof {proof}")]).collect()
}

/// Refuses what is no document of an allowed size, by its head alone. Forges send JSON.
fn check_head(sender: Sender, method: &Method, headers: &HeaderMap) -> Result<(), Answer> {
    if method != Method::POST {
        return Err((StatusCode::METHOD_NOT_ALLOWED, "only POST\n"));
    }
    let kind = header(headers, CONTENT_TYPE.as_str()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if sender != Sender::Generic && !kind.eq_ignore_ascii_case("application/json") {
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "only application/json\n"));
    }
    let length = header(headers, CONTENT_LENGTH.as_str()).and_then(|text| text.parse::<u64>().ok());
    if length.is_some_and(|length| length > size::WEBHOOK.bytes) {
        return Err(TOO_LARGE);
    }
    Ok(())
}

const TOO_LARGE: Answer = (StatusCode::PAYLOAD_TOO_LARGE, "the body is too large\n");

/// The whole body, up to its limit also when its length was not announced.
async fn read<B>(body: B) -> Result<Bytes, Answer>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    let limited = Box::pin(Limited::new(body, size::WEBHOOK.in_memory()));
    match timeout(PATIENCE, limited.collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(TOO_LARGE),
        Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, "the body cannot be read\n")),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the body takes too long\n")),
    }
}

/// The header with the kind of event, for forges whose bodies do not say it.
fn kind_header(sender: Sender) -> Option<&'static str> {
    match sender {
        Sender::GitHub => Some("x-github-event"),
        Sender::Gitea => Some("x-gitea-event"),
        Sender::GitLab | Sender::Generic => None,
    }
}

/// The headers with the id of a delivery, the preferred one first.
fn id_headers(sender: Sender) -> &'static [&'static str] {
    match sender {
        Sender::GitHub => &["x-github-delivery"],
        Sender::Gitea => &["x-gitea-delivery"],
        // GitLab sends the same key again when it repeats a delivery.
        Sender::GitLab => &["idempotency-key", "x-gitlab-event-uuid"],
        Sender::Generic => &[],
    }
}

#[cfg(test)]
mod tests;
