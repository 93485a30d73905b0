//! One request and its answer.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use serde_json::Value as Json;
use slipway_cluster_api::{Failure, Reply};
use slipway_limits::size;
use slipway_resource::{ErrorClass, ProviderError};

use super::Refusal;
use super::connection::Connection;
use crate::provider::RATE_CLASS;

/// How long a request may take that reads one object or changes one.
const ONE: Duration = Duration::from_secs(30);
/// How long a request may take that reads many.
const MANY: Duration = Duration::from_secs(90);

/// How often a read request is sent, and the pauses between attempts.
const ATTEMPTS: usize = 4;
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    method: http::Method,
    path: String,
    accept: &'static str,
    content: Option<(&'static str, Vec<u8>)>,
    patience: Duration,
}

impl Request {
    /// Reads one object.
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self {
            method: http::Method::GET,
            path: path.into(),
            accept: "application/json",
            content: None,
            patience: ONE,
        }
    }

    /// Reads many objects, or much of the server.
    pub(crate) fn list(path: impl Into<String>) -> Self {
        Self { patience: MANY, ..Self::get(path) }
    }

    /// The same request for another form of the answer.
    pub(crate) fn accept(self, accept: &'static str) -> Self {
        Self { accept, ..self }
    }

    fn with_body(method: http::Method, path: impl Into<String>, kind: &'static str, body: &Json) -> Self {
        // The JSON of values always serialises.
        let bytes = serde_json::to_vec(body).unwrap_or_default();
        Self { method, content: Some((kind, bytes)), ..Self::get(path) }
    }

    /// Server-side apply. JSON is YAML.
    pub(crate) fn apply(path: impl Into<String>, body: &Json) -> Self {
        Self::with_body(http::Method::PATCH, path, "application/apply-patch+yaml", body)
    }

    /// A merge of some fields.
    pub(crate) fn merge(path: impl Into<String>, body: &Json) -> Self {
        Self::with_body(http::Method::PATCH, path, "application/merge-patch+json", body)
    }

    /// Makes an object.
    pub(crate) fn post(path: impl Into<String>, body: &Json) -> Self {
        Self::with_body(http::Method::POST, path, "application/json", body)
    }

    /// Replaces an object.
    pub(crate) fn put(path: impl Into<String>, body: &Json) -> Self {
        Self::with_body(http::Method::PUT, path, "application/json", body)
    }

    /// Deletes an object.
    pub(crate) fn delete(path: impl Into<String>, options: &Json) -> Self {
        Self::with_body(http::Method::DELETE, path, "application/json", options)
    }

    fn changes(&self) -> bool {
        self.method != http::Method::GET && !self.path.contains("dryRun=All")
    }
}

/// The answer of the server.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The server carried out the request.
    Done {
        /// Whether the request created an object.
        created: bool,
        /// The object, the list, or a `Status`.
        body: Json,
    },
    /// The server refused the request.
    Refused(Refusal),
}

impl Answer {
    /// The body; a refusal becomes an error.
    ///
    /// # Errors
    /// The refusal, with its error class.
    pub(crate) fn body(self) -> Result<Json, ProviderError> {
        match self {
            Self::Done { body, .. } => Ok(body),
            Self::Refused(refusal) => Err(refusal.into_error()),
        }
    }

    /// The body; `None` when the object does not exist.
    ///
    /// # Errors
    /// Any other refusal.
    pub(crate) fn found(self) -> Result<Option<Json>, ProviderError> {
        match self {
            Self::Refused(refusal) if refusal.is_not_found() => Ok(None),
            other => other.body().map(Some),
        }
    }
}

impl Connection {
    /// Sends a request once. Nothing is repeated here; the engine does that.
    ///
    /// # Errors
    /// When there is no answer: `transient` where the request cannot have had an effect, `outcome-unknown` where it
    /// may have; `throttled` and `unauthenticated` as the server says.
    pub(crate) async fn send(&self, request: &Request) -> Result<Answer, ProviderError> {
        let changes = request.changes();
        let mut builder = http::Request::builder()
            .method(request.method.clone())
            .uri(&request.path)
            .header(ACCEPT, request.accept)
            .header(USER_AGENT, concat!("slipway/", env!("CARGO_PKG_VERSION")));
        let body = match &request.content {
            Some((kind, bytes)) => {
                builder = builder.header(CONTENT_TYPE, *kind);
                Bytes::from(bytes.clone())
            }
            None => Bytes::new(),
        };
        let sent = builder.body(body).map_err(|error| {
            ProviderError::new(ErrorClass::Invalid, format!("{} is not a request: {error}", request.path))
        })?;
        let begun = Instant::now();
        let answered = tokio::time::timeout(request.patience, async {
            let answer = self.client.exchange(sent, size::API_ANSWER.in_memory()).await;
            let reply = answer.map_err(|error| {
                let error = self.unanswered(&error, changes);
                self.silence.note(&self.endpoint, begun, &error);
                error
            })?;
            self.silence.end(&self.endpoint);
            Ok::<_, ProviderError>(reply)
        });
        let reply = match answered.await {
            Ok(answered) => answered?,
            Err(_) => {
                self.broke();
                let text = format!(
                    "the cluster's API did not answer {} {} within {} s",
                    request.method,
                    request.path,
                    request.patience.as_secs()
                );
                let error = ProviderError::new(lost(changes), text);
                self.silence.note(&self.endpoint, begun, &error);
                return Err(error);
            }
        };
        let body: Json = match serde_json::from_slice(&reply.body) {
            Ok(body) => body,
            // Some refusals come from before the API, as plain text.
            Err(_) if !reply.status.is_success() => {
                Json::String(String::from_utf8_lossy(&reply.body).chars().take(500).collect())
            }
            Err(error) => {
                let text =
                    format!("the answer to {} {} cannot be read: {error}", request.method, request.path);
                return Err(ProviderError::new(lost(changes), text));
            }
        };
        if reply.status.is_success() {
            return Ok(Answer::Done { created: reply.status == http::StatusCode::CREATED, body });
        }
        let refusal = Refusal::new(reply.status.as_u16(), &body);
        if refusal.status == 401 {
            self.broke();
        }
        match unready(refusal.status, &reply, changes) {
            Some(class) if refusal.status != 429 || !refusal.is_budget() => {
                Err(ProviderError::new(class, refusal.message))
            }
            _ => Ok(Answer::Refused(refusal)),
        }
    }

    /// Reads text that is not JSON. Sends the request once.
    ///
    /// # Errors
    /// `transient` when there is no answer, `throttled` and `transient` when the server is busy, `permanent` when it refuses.
    pub(crate) async fn text(&self, path: &str) -> Result<String, ProviderError> {
        let request = http::Request::get(path)
            .header(ACCEPT, "text/plain, */*")
            .header(USER_AGENT, concat!("slipway/", env!("CARGO_PKG_VERSION")))
            .body(Bytes::new())
            .map_err(|error| {
                ProviderError::new(ErrorClass::Invalid, format!("{path} is not a request: {error}"))
            })?;
        let answer = tokio::time::timeout(ONE, self.client.exchange(request, size::API_ANSWER.in_memory()));
        let reply = match answer.await {
            Ok(answered) => answered.map_err(|failure| self.unanswered(&failure, false))?,
            Err(_) => {
                self.broke();
                let text = format!("the cluster's API did not answer GET {path} within {} s", ONE.as_secs());
                return Err(ProviderError::new(ErrorClass::Transient, text));
            }
        };
        if !reply.status.is_success() {
            if reply.status == http::StatusCode::UNAUTHORIZED {
                self.broke();
            }
            let text = format!("the cluster's API answered {} to GET {path}", reply.status);
            return Err(ProviderError::new(
                unready(reply.status.as_u16(), &reply, false).unwrap_or(ErrorClass::Permanent),
                text,
            ));
        }
        Ok(String::from_utf8_lossy(&reply.body).into_owned())
    }

    /// Sends a read request, and repeats it when the server is busy, because the engine does not repeat
    /// reads. A silent server is not waited for a second time.
    ///
    /// # Errors
    /// As [`Connection::send`], after the last attempt.
    pub(crate) async fn ask(&self, request: &Request) -> Result<Answer, ProviderError> {
        let mut wait = FIRST_WAIT;
        for _ in 1..ATTEMPTS {
            if let Some(error) = self.silence.of(&self.endpoint) {
                return Err(error);
            }
            match self.send(request).await {
                Err(error) if error.class.is_retryable() => {
                    if self.silence.of(&self.endpoint).is_some() {
                        return Err(error);
                    }
                    if let ErrorClass::Throttled { retry_after_ms: Some(after), .. } = error.class {
                        wait = wait.max(Duration::from_millis(after).min(LONGEST_WAIT));
                    }
                    tracing::debug!(%error, ?wait, "asked again");
                }
                answer => return answer,
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
        self.send(request).await
    }

    fn unanswered(&self, failure: &Failure, changes: bool) -> ProviderError {
        self.broke();
        let text = format!("the cluster's API at {} does not answer: {failure}", self.endpoint);
        let class = match failure {
            Failure::Unconnected(_) => ErrorClass::Transient,
            Failure::Lost(_) => lost(changes),
        };
        ProviderError::new(class, text)
    }
}

/// The class of an answer by which the server says nothing about the request, because it is busy or not ready; `None` for others. The
/// status is that of the refusal, which some answers have in their body only.
fn unready(status: u16, reply: &Reply, changes: bool) -> Option<ErrorClass> {
    match status {
        // Too many requests, as priority and fairness say; 503 and 504 before the request was begun.
        429 => {
            let after =
                reply.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
            let retry_after_ms = Some(after.unwrap_or(1).saturating_mul(1000));
            Some(ErrorClass::Throttled { rate_class: RATE_CLASS.to_owned(), retry_after_ms })
        }
        503 => Some(ErrorClass::Transient),
        500 | 502 | 504 => Some(lost(changes)),
        _ => None,
    }
}

/// The class of an answer that was lost.
fn lost(changes: bool) -> ErrorClass {
    if changes { ErrorClass::OutcomeUnknown } else { ErrorClass::Transient }
}
