//! An HTTP client whose answers are replies of a recording.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;

use crate::recording::Reply;

/// The maximum number of calls for one object. More of them are pages without an end.
pub(crate) const MOST_CALLS: usize = 1_000;

/// The path of the API of Route 53.
const ROUTE53: &str = "/2013-04-01/";

/// The replies to calls. The last reply to a call is repeated; a call without a reply has the status 404.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    replies: Arc<BTreeMap<String, Vec<Reply>>>,
    calls: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl Answers {
    pub(crate) fn new(replies: BTreeMap<String, Vec<Reply>>) -> Self {
        Self { replies: Arc::new(replies), calls: Arc::default() }
    }

    /// The HTTP client.
    pub(crate) fn client(&self) -> SharedHttpClient {
        let connector = SharedHttpConnector::new(self.clone());
        http_client_fn(move |_, _| connector.clone())
    }

    /// The number of calls so far.
    pub(crate) fn calls(&self) -> usize {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }

    /// Counts a call; the number of equal ones before it.
    fn count(&self, call: &str) -> usize {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let count = calls.entry(call.to_owned()).or_default();
        *count += 1;
        *count - 1
    }

    fn answer(&self, request: &HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let call = call_of(request);
        let number = self.count(&call);
        if self.calls() > MOST_CALLS {
            return Err(ConnectorError::io("too many calls".into()));
        }
        let replies = self.replies.get(&call).map(Vec::as_slice).unwrap_or_default();
        let absent = Reply { status: 404, ..Reply::default() };
        let reply = replies.get(number).or(replies.last()).unwrap_or(&absent);
        let status = StatusCode::try_from(reply.status);
        let status = status.map_err(|error| ConnectorError::other(error.into(), None))?;
        let mut response = HttpResponse::new(status, SdkBody::from(reply.body.clone()));
        for (name, value) in &reply.headers {
            // A header that HTTP does not allow is left out, as an HTTP client would refuse it.
            let _ = response.headers_mut().try_insert(name.to_ascii_lowercase(), value.clone());
        }
        Ok(response)
    }
}

impl HttpConnector for Answers {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::ready(self.answer(&request))
    }
}

/// The name of a call in recordings.
fn call_of(request: &HttpRequest) -> String {
    if let Some(target) = request.headers().get("x-amz-target") {
        return target.rsplit('.').next().unwrap_or_default().to_owned();
    }
    let body = request.body().bytes().unwrap_or_default();
    if let Some(action) = body.strip_prefix(b"Action=") {
        let end = action.iter().position(|byte| *byte == b'&').unwrap_or(action.len());
        return String::from_utf8_lossy(&action[..end]).into_owned();
    }
    let (method, uri) = (request.method(), request.uri());
    let path = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    let path = path.find('/').map_or("", |start| &path[start..]);
    let path = path.split('?').next().unwrap_or_default();
    match path.strip_prefix(ROUTE53) {
        // Every other part is an id.
        Some(rest) => {
            let parts: Vec<&str> = rest.split('/').step_by(2).collect();
            format!("{method}-{}", parts.join("-"))
        }
        None => format!("{method}-object"),
    }
}
