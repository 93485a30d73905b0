//! Answers of the registration API.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value as Json, json};
use slipway_controller::kube;

/// A request that is not carried out: its status, and the reason for the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal(pub(super) StatusCode, pub(super) String);

impl From<kube::Error> for Refusal {
    fn from(error: kube::Error) -> Self {
        match &error {
            kube::Error::Api(status) if status.code == 409 => {
                Self(StatusCode::CONFLICT, "the object has changed at the same time: ask again".to_owned())
            }
            kube::Error::Api(status) if status.code == 404 => {
                Self(StatusCode::NOT_FOUND, "it does not exist".to_owned())
            }
            _ => {
                // The details are for the operator, not for a host.
                tracing::warn!(error = %slipway_resource::with_causes(&error), "a request of a host failed");
                Self(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "the management cluster cannot be used now".to_owned(),
                )
            }
        }
    }
}

/// An answer: its status, its body if it has one, and where the new object is.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Option<Json>,
    pub(super) location: Option<String>,
}

impl Answer {
    /// An answer with a body.
    pub(super) fn with(status: StatusCode, body: Json) -> Self {
        Self { status, body: Some(body), location: None }
    }
}

/// The response of an answer.
pub(super) fn response(answer: Result<Answer, Refusal>) -> Response<Full<Bytes>> {
    let answer =
        answer.unwrap_or_else(|Refusal(status, message)| Answer::with(status, json!({ "message": message })));
    let body = answer.body.map(|body| body.to_string()).unwrap_or_default();
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = answer.status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(location) = answer.location.and_then(|text| HeaderValue::from_str(&text).ok()) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}
