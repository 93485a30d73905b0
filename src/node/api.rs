//! A connection to a cluster's API, by whatever a machine has to trust it with and to be known by.

mod kubeconfig;
mod trust;

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE, LOCATION, USER_AGENT};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value as Json;
use slipway_resource::{SecretText, with_causes};
use slipway_trust::Reach;

use crate::error::CommandError;

pub(crate) use trust::Trust;

/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(15);

/// As whom the API is spoken to.
#[derive(Clone, Debug, Default)]
pub(crate) enum Credentials {
    /// As nobody.
    #[default]
    Anonymous,
    /// By a bearer token.
    Token(SecretText),
    /// By a client certificate and its key, in PEM.
    Certificate { certificate: String, key: SecretText },
}

/// A connection to an API.
#[derive(Debug)]
pub(crate) struct Api {
    http: Client<HttpsConnector<HttpConnector<Reach>>, Full<Bytes>>,
    server: String,
    token: Option<SecretText>,
}

/// An answer that is no failure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    /// The object.
    pub body: Json,
    /// When the server gave it, by the server's clock.
    pub date: Option<jiff::Timestamp>,
}

/// Why the API did not answer as it should.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    /// What it should be trusted by, or what should be shown to it, cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// Nobody answers, or is not whom one trusts.
    #[error("{server} does not answer: {text}")]
    Unreachable { server: String, text: String },
    /// It refuses.
    #[error("{method} {path}: {status} {message}")]
    Refused { method: Method, path: String, status: StatusCode, message: String },
    /// What is asked for is elsewhere.
    #[error("it is at {to} now")]
    Moved { to: String },
    /// The answer cannot be read.
    #[error("the answer to {path} cannot be read: {text}")]
    Unreadable { path: String, text: String },
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
            Self::Unusable(_) | Self::Moved { .. } | Self::Unreadable { .. } => false,
        }
    }
}

impl From<ApiError> for CommandError {
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
            ApiError::Moved { .. } | ApiError::Unreadable { .. } => "this may be no Kubernetes API",
        };
        Self::new("NODE0014", "the cluster's API refused or failed a request")
            .cause(error.to_string())
            .hint(hint)
    }
}

impl Api {
    /// Prepares a connection to a server such as `https://10.0.0.1:6443`; nothing is called yet.
    pub fn new(server: &str, trust: &Trust, credentials: &Credentials) -> Result<Self, ApiError> {
        Self::guarded(server, trust, credentials, Reach::anywhere())
    }

    /// The same for a server that may be at some addresses only: each address that its name resolves to is looked at right
    /// before the connection.
    pub fn guarded(
        server: &str,
        trust: &Trust,
        credentials: &Credentials,
        reach: Reach,
    ) -> Result<Self, ApiError> {
        let tls = trust::configuration(trust, credentials).map_err(ApiError::Unusable)?;
        let mut http = HttpConnector::new_with_resolver(reach);
        http.enforce_http(false);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_only()
            .enable_http1()
            .wrap_connector(http);
        let token = match credentials {
            Credentials::Token(token) => Some(token.clone()),
            _ => None,
        };
        let http = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { http, server: server.trim_end_matches('/').to_owned(), token })
    }

    /// The server's URL.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Asks for an object.
    pub async fn get(&self, path: &str) -> Result<Answer, ApiError> {
        self.send(Method::GET, path, None).await
    }

    /// Asks for an object that need not exist.
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

    /// Asks for a text that is no object.
    pub async fn text(&self, path: &str) -> Result<String, ApiError> {
        let (body, _) = self.exchange(Method::GET, path, None).await?;
        String::from_utf8(body.to_vec())
            .map_err(|error| ApiError::Unreadable { path: path.to_owned(), text: error.to_string() })
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
        let mut request = Request::builder()
            .method(method.clone())
            .uri(format!("{}{path}", self.server))
            .header(ACCEPT, "application/json, */*;q=0.5")
            .header(USER_AGENT, concat!("slipway/", env!("CARGO_PKG_VERSION")));
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {}", token.expose()));
        }
        if let Some((media_type, _)) = &body {
            request = request.header(CONTENT_TYPE, *media_type);
        }
        let body = body.map(|(_, body)| body.to_string()).unwrap_or_default();
        let request = request
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| ApiError::Unusable(format!("{}{path}: {error}", self.server)))?;
        let unreachable = |text: String| ApiError::Unreachable { server: self.server.clone(), text };
        let exchange = async {
            let answer =
                self.http.request(request).await.map_err(|error| unreachable(with_causes(&error)))?;
            let (status, date) = (answer.status(), answer.headers().get(DATE).cloned());
            if status.is_redirection()
                && let Some(to) = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok())
            {
                return Err(ApiError::Moved { to: to.to_owned() });
            }
            let body =
                Limited::new(answer.into_body(), slipway_limits::size::MANIFEST.in_memory()).collect().await;
            let body = body.map_err(|error| unreachable(with_causes(error.as_ref())))?;
            Ok::<_, ApiError>((status, date, body.to_bytes()))
        };
        let (status, date, body) = tokio::time::timeout(REQUEST, exchange)
            .await
            .map_err(|_| unreachable(format!("no answer within {} s", REQUEST.as_secs())))??;
        if !status.is_success() {
            let said: Json = serde_json::from_slice(&body).unwrap_or_default();
            let message = said.get("message").and_then(Json::as_str).unwrap_or_default().to_owned();
            return Err(ApiError::Refused { method, path: path.to_owned(), status, message });
        }
        let date = date.and_then(|date| jiff::fmt::rfc2822::parse(date.to_str().ok()?).ok());
        Ok((body, date.map(|date| date.timestamp())))
    }
}
