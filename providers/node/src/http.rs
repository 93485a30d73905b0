//! HTTP requests: whether a component is ready, and the API of etcd.

mod accepted;
mod lines;
mod trust;

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::ClientConfig;
use slipway_resource::with_causes;

pub(crate) use accepted::accepted_authorities;
pub(crate) use lines::Lines;
pub(crate) use trust::Trust;

/// The largest accepted answer.
const LARGEST: usize = 4 << 20;

/// Sends requests, with one configuration of trust.
pub(crate) struct Client {
    http: legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    limit: Duration,
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
}

/// The request failed, or no server answered. It may have had its effect.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Failure(pub(crate) String);

impl Client {
    /// A client that waits that long for one answer.
    pub(crate) fn new(trust: &Trust, limit: Duration) -> Result<Self, Failure> {
        Ok(Self::with(trust.to_tls()?, limit))
    }

    fn with(tls: ClientConfig, limit: Duration) -> Self {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(limit));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        Self { http: legacy::Client::builder(TokioExecutor::new()).build(connector), limit }
    }

    pub(crate) async fn get(&self, url: &str) -> Result<Answer, Failure> {
        self.send(Method::GET, url, Bytes::new()).await
    }

    pub(crate) async fn post(&self, url: &str, document: &serde_json::Value) -> Result<Answer, Failure> {
        self.send(Method::POST, url, Bytes::from(document.to_string())).await
    }

    pub(crate) async fn put(&self, url: &str, document: &serde_json::Value) -> Result<Answer, Failure> {
        self.send(Method::PUT, url, Bytes::from(document.to_string())).await
    }

    pub(crate) async fn delete(&self, url: &str) -> Result<Answer, Failure> {
        self.send(Method::DELETE, url, Bytes::new()).await
    }

    /// Asks for an answer that comes line by line, each of which may take as long as one answer.
    pub(crate) async fn post_for_lines(
        &self,
        url: &str,
        document: &serde_json::Value,
    ) -> Result<Lines, Failure> {
        self.for_lines(request(Method::POST, url, Bytes::from(document.to_string()))?).await
    }

    /// The same without a document.
    pub(crate) async fn get_for_lines(&self, url: &str) -> Result<Lines, Failure> {
        self.for_lines(request(Method::GET, url, Bytes::new())?).await
    }

    async fn for_lines(&self, request: Request<Full<Bytes>>) -> Result<Lines, Failure> {
        let answer = tokio::time::timeout(self.limit, self.http.request(request)).await;
        let answer = answer.map_err(|_| Failure(format!("no answer within {} s", self.limit.as_secs())))?;
        let answer = answer.map_err(|error| Failure(with_causes(&error)))?;
        Ok(Lines::new(answer, self.limit))
    }

    async fn send(&self, method: Method, url: &str, body: Bytes) -> Result<Answer, Failure> {
        let request = request(method, url, body)?;
        let exchange = async {
            let answer = self.http.request(request).await.map_err(|error| Failure(with_causes(&error)))?;
            let status = answer.status().as_u16();
            let body = Limited::new(answer.into_body(), LARGEST).collect().await;
            let body = body.map_err(|error| Failure(with_causes(error.as_ref())))?.to_bytes();
            Ok(Answer { status, body })
        };
        match tokio::time::timeout(self.limit, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(Failure(format!("no answer within {} s", self.limit.as_secs()))),
        }
    }
}

fn request(method: Method, url: &str, body: Bytes) -> Result<Request<Full<Bytes>>, Failure> {
    let uri: Uri = url.parse().map_err(|_| Failure(format!("`{url}` is not a URL")))?;
    Request::builder()
        .method(method)
        .uri(uri)
        .header("content-type", "application/json")
        .header("user-agent", concat!("slipway/", env!("CARGO_PKG_VERSION")))
        .body(Full::new(body))
        .map_err(|error| Failure(error.to_string()))
}
