//! Observation of HTTP: the last request of a call, and its outcome.
//!
//! Errors of the client library do not say whether a request was sent, which code the server returned, or
//! when to retry. Each backend call runs in its own scope, in which the HTTP client records these facts.

use std::cell::RefCell;
use std::time::Duration;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService, ReqwestConnector,
};

use crate::backend::error::describe;
use futures_util::StreamExt;
use slipway_limits::{Size, size};

tokio::task_local! {
    static LAST: RefCell<Option<Exchange>>;
}

/// The last request of a call.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    /// The verb and the address without its query, for messages.
    pub request: String,
    /// The host and port that it was for.
    pub authority: String,
    /// Its outcome.
    pub outcome: Outcome,
}

/// The outcome of a request.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    /// It has no answer yet.
    Sent,
    /// No connection was made: nothing was sent.
    NotSent(String),
    /// It may have been sent; no answer came.
    Broken(String),
    /// It was answered.
    Answered(Answer),
}

/// The parts of an answer besides its body.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub status: u16,
    /// The machine-readable code of an error: `NoSuchBucket`, `ContainerNotFound`.
    pub code: Option<String>,
    /// The text of the error, for messages.
    pub message: Option<String>,
    /// The region in which the bucket is (S3).
    pub region: Option<String>,
    /// The delay before a retry.
    pub retry_after: Option<Duration>,
}

/// Runs a call. Returns its result and its last exchange.
pub(super) async fn observed<T>(call: impl Future<Output = T>) -> (T, Option<Exchange>) {
    let scope = LAST.scope(RefCell::new(None), async {
        let result = call.await;
        (result, LAST.with(|last| last.borrow_mut().take()))
    });
    scope.await
}

fn note(exchange: Exchange) {
    // Outside of a call no scope receives the exchange.
    let _ = LAST.try_with(|last| *last.borrow_mut() = Some(exchange));
}

/// Makes HTTP clients that record their exchanges.
#[derive(Debug, Default)]
pub(super) struct Observing(ReqwestConnector);

impl HttpConnector for Observing {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Observed(self.0.connect(options)?)))
    }
}

#[derive(Debug)]
struct Observed(HttpClient);

#[async_trait]
impl HttpService for Observed {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let uri = request.uri();
        let authority = uri.authority().map(|authority| authority.as_str().to_owned()).unwrap_or_default();
        let scheme = uri.scheme_str().unwrap_or("https");
        let seen = Exchange {
            request: format!("{} {scheme}://{authority}{}", request.method(), uri.path()),
            authority,
            outcome: Outcome::Sent,
        };
        note(seen.clone());
        let noted = |outcome| note(Exchange { outcome, ..seen.clone() });
        let response = match self.0.execute(request).await {
            Ok(response) => response,
            Err(error) => {
                let text = describe(&error);
                noted(match error.kind() {
                    HttpErrorKind::Connect => Outcome::NotSent(text),
                    _ => Outcome::Broken(text),
                });
                return Err(error);
            }
        };
        let header = |name: &str| response.headers().get(name)?.to_str().ok().map(str::to_owned);
        let mut answer = Answer {
            status: response.status().as_u16(),
            code: header("x-ms-error-code"),
            region: header("x-amz-bucket-region"),
            retry_after: header("retry-after").and_then(|text| text.parse().ok()).map(Duration::from_secs),
            ..Answer::default()
        };
        if response.status().is_success() {
            noted(Outcome::Answered(answer));
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        // The rest of an error document is not needed, and may be endless.
        let (body, _) = beginning(body, size::REPORT).await;
        let text = String::from_utf8_lossy(&body);
        answer.code = answer.code.or_else(|| element(&text, "Code"));
        answer.region = answer.region.or_else(|| element(&text, "Region"));
        answer.message = element(&text, "Message");
        noted(Outcome::Answered(answer));
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::from(body)))
    }
}

/// The first bytes of a body, at most `limit`, and whether these are the whole body. A body that breaks off
/// counts as whole.
pub(super) async fn beginning(body: HttpResponseBody, limit: Size) -> (Bytes, bool) {
    let mut read = BytesMut::new();
    let mut chunks = body.bytes_stream();
    while let Some(Ok(chunk)) = chunks.next().await {
        let room = limit.in_memory().saturating_sub(read.len());
        if chunk.len() > room {
            read.extend_from_slice(&chunk[..room]);
            return (read.freeze(), false);
        }
        read.extend_from_slice(&chunk);
    }
    (read.freeze(), true)
}

/// The text of the first element of this name: the error documents of all three stores are flat.
pub(super) fn element(document: &str, name: &str) -> Option<String> {
    let (_, rest) = document.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    (!text.is_empty() && text.len() <= 1_000).then(|| text.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_in_error_documents() {
        let document = "<?xml version=\"1.0\"?>\n<Error><Code>NoSuchBucket</Code><Message>It is\nnot there</Message></Error>";
        assert_eq!(element(document, "Code").as_deref(), Some("NoSuchBucket"));
        assert_eq!(element(document, "Message").as_deref(), Some("It is"));
        assert_eq!(element("<html>", "Code"), None);
    }
}
