//! A connection to a cluster's API, by whatever a machine has to trust it with and to be known by.

mod kubeconfig;

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, DATE, USER_AGENT};
use http::{Method, Request, StatusCode};
use serde_json::Value as Json;
use slipway_cluster_api::https;
use slipway_cluster_api::{Client, Server, Unusable};
use slipway_trust::Reach;

use crate::code;
use crate::error::Error;

pub use slipway_cluster_api::{Credentials, Trust};

/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(15);

/// A connection to an API.
#[derive(Debug)]
pub struct Api {
    client: Client,
}

/// An answer that is no failure.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The object.
    pub body: Json,
    /// When the server gave it, by the server's clock.
    pub date: Option<jiff::Timestamp>,
}

/// Why the API did not answer as it should.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The CA or the credentials cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// No server answers, or its certificate is not trusted.
    #[error("{server} does not answer: {text}")]
    Unreachable {
        /// The URL of the server.
        server: String,
        /// The problem.
        text: String,
    },
    /// The server refuses the request.
    #[error("{method} {path}: {status} {message}")]
    Refused {
        /// The method of the request.
        method: Method,
        /// The path of the object.
        path: String,
        /// The status of the answer.
        status: StatusCode,
        /// The message of the server; empty if it has none.
        message: String,
    },
    /// The answer cannot be read.
    #[error("the answer to {path} cannot be read: {text}")]
    Unreadable {
        /// The path of the object.
        path: String,
        /// The problem.
        text: String,
    },
}

impl ApiError {
    /// The HTTP status of a refusal.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(status.as_u16()),
            _ => None,
        }
    }

    /// Whether the same request may succeed in a moment.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused { status, .. } => status.as_u16() == 429 || status.is_server_error(),
            Self::Unusable(_) | Self::Unreadable { .. } => false,
        }
    }
}

impl From<Unusable> for ApiError {
    fn from(error: Unusable) -> Self {
        Self::Unusable(error.to_string())
    }
}

impl From<https::Error> for ApiError {
    fn from(error: https::Error) -> Self {
        match error {
            https::Error::Unusable(text) => Self::Unusable(text),
            https::Error::Unreachable { url, text } => Self::Unreachable { server: url, text },
            https::Error::Refused { url, status } => Self::Refused {
                method: Method::GET,
                path: url,
                status: StatusCode::from_u16(status).unwrap_or_default(),
                message: String::new(),
            },
            https::Error::Unreadable { url, text } => Self::Unreadable { path: url, text },
        }
    }
}

impl From<ApiError> for Error {
    fn from(error: ApiError) -> Self {
        let hint = match &error {
            ApiError::Unusable(_) => "name a kubeconfig that works with --kubeconfig",
            ApiError::Unreachable { .. } => {
                "check that the API server runs (`slipway node logs kube-apiserver` there) and can be reached from here"
            }
            ApiError::Refused { status, .. } if status.as_u16() == 401 => {
                "the token or the certificate is not known there, or its time is over"
            }
            ApiError::Refused { .. } => "use credentials that may do this, or check the cluster's RBAC",
            ApiError::Unreadable { .. } => "this may be no Kubernetes API",
        };
        Self::new(code::API, "the cluster's API refused or failed a request")
            .cause(error.to_string())
            .hint(hint)
    }
}

impl Api {
    /// Prepares a connection to a server such as `https://10.0.0.1:6443`; nothing is called yet.
    pub fn new(server: &str, trust: &Trust, credentials: &Credentials) -> Result<Self, ApiError> {
        if !server.starts_with("https://") {
            return Err(ApiError::Unusable(format!("{server} is not an https URL")));
        }
        let server = Server {
            url: server.to_owned(),
            trust: trust.clone(),
            credentials: credentials.clone(),
            // The user of a node command names the server.
            reach: Reach::anywhere(),
        };
        Ok(Self { client: Client::to(&server)? })
    }

    /// Gets an object.
    pub async fn get(&self, path: &str) -> Result<Answer, ApiError> {
        self.send(Method::GET, path, None).await
    }

    /// Gets an object that may not exist.
    pub async fn find(&self, path: &str) -> Result<Option<Json>, ApiError> {
        match self.get(path).await {
            Ok(answer) => Ok(Some(answer.body)),
            Err(error) if error.status() == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes an object.
    pub async fn post(&self, path: &str, body: &Json) -> Result<Json, ApiError> {
        Ok(self.send(Method::POST, path, Some(("application/json", body))).await?.body)
    }

    /// Changes fields of an object.
    pub async fn merge(&self, path: &str, body: &Json) -> Result<Json, ApiError> {
        Ok(self.send(Method::PATCH, path, Some(("application/merge-patch+json", body))).await?.body)
    }

    /// Removes an object.
    pub async fn delete(&self, path: &str) -> Result<(), ApiError> {
        self.send(Method::DELETE, path, None).await.map(drop)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, &Json)>,
    ) -> Result<Answer, ApiError> {
        let (body, date) = self.exchange(method, path, body).await?;
        let body = serde_json::from_slice(&body)
            .map_err(|error| ApiError::Unreadable { path: path.to_owned(), text: error.to_string() })?;
        Ok(Answer { body, date })
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, &Json)>,
    ) -> Result<(Bytes, Option<jiff::Timestamp>), ApiError> {
        let server = self.client.endpoint();
        let mut request = Request::builder()
            .method(method.clone())
            .uri(path)
            .header(ACCEPT, "application/json, */*;q=0.5")
            .header(USER_AGENT, concat!("slipway/", env!("CARGO_PKG_VERSION")));
        if let Some((media_type, _)) = &body {
            request = request.header(CONTENT_TYPE, *media_type);
        }
        let body = body.map(|(_, body)| body.to_string()).unwrap_or_default();
        let request = request
            .body(Bytes::from(body))
            .map_err(|error| ApiError::Unusable(format!("{server}{path}: {error}")))?;
        let unreachable = |text: String| ApiError::Unreachable { server: server.to_string(), text };
        let exchange = self.client.exchange(request, slipway_limits::size::MANIFEST.in_memory());
        let reply = tokio::time::timeout(REQUEST, exchange)
            .await
            .map_err(|_| unreachable(format!("no answer within {} s", REQUEST.as_secs())))?
            .map_err(|failure| unreachable(failure.to_string()))?;
        let status = reply.status;
        if !status.is_success() {
            let said: Json = serde_json::from_slice(&reply.body).unwrap_or_default();
            let message = said.get("message").and_then(Json::as_str).unwrap_or_default().to_owned();
            return Err(ApiError::Refused { method, path: path.to_owned(), status, message });
        }
        let date = reply.headers.get(DATE);
        let date = date.and_then(|date| jiff::fmt::rfc2822::parse(date.to_str().ok()?).ok());
        Ok((reply.body, date.map(|date| date.timestamp())))
    }
}
