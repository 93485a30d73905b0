//! The endpoints `/healthz`, `/readyz` and `/metrics`, over plain HTTP or over TLS.

use std::future::ready;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio_util::sync::CancellationToken;

use crate::access::Access;
use crate::certificate::ServingCertificate;
use crate::health::Health;
use crate::listener::{Clients, Served, listen, listen_with};
use crate::metrics::Metrics;

/// Serves the endpoints at an address until the stop.
///
/// # Errors
/// When the address cannot be bound.
pub async fn serve(
    address: SocketAddr,
    health: Health,
    metrics: Metrics,
    stop: CancellationToken,
) -> std::io::Result<Served> {
    let respond = move |request: Request<Incoming>| {
        ready(answer(request.method(), request.uri().path(), &health, &metrics))
    };
    listen(address, Clients::default(), stop, respond).await
}

/// The content of the endpoints over TLS.
#[derive(Clone, Debug)]
pub struct SecureEndpoints {
    /// The answers of `/healthz` and `/readyz`, which everybody may read.
    pub health: Health,
    /// The answer of `/metrics`.
    pub metrics: Metrics,
    /// The answer of `/configz`: the configuration of the process, as JSON.
    pub configuration: Arc<str>,
}

/// Serves the endpoints over TLS until the stop. Who may read `/metrics` and `/configz` is decided by the API server of the
/// client, for tokens of the cluster.
///
/// # Errors
/// When the address cannot be bound.
pub async fn serve_secure(
    address: SocketAddr,
    certificate: ServingCertificate,
    client: kube::Client,
    endpoints: SecureEndpoints,
    stop: CancellationToken,
) -> std::io::Result<Served> {
    let access = Access::new(client);
    let respond = move |request: Request<Incoming>| {
        let (access, endpoints) = (access.clone(), endpoints.clone());
        async move {
            let (request, _) = request.into_parts();
            match access.check(&request).await {
                Ok(()) => endpoints.answer(&request.method, request.uri.path()),
                Err((status, reason)) => response(status, PLAIN, reason),
            }
        }
    };
    listen_with(address, Some(Arc::new(certificate)), Clients::default(), stop, respond).await
}

impl SecureEndpoints {
    fn answer(&self, method: &Method, path: &str) -> Response<Full<Bytes>> {
        if path == "/configz" && [Method::GET, Method::HEAD].contains(method) {
            return response(StatusCode::OK, "application/json", self.configuration.to_string());
        }
        answer(method, path, &self.health, &self.metrics)
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";

fn answer(method: &Method, path: &str, health: &Health, metrics: &Metrics) -> Response<Full<Bytes>> {
    let check = |problem: Option<String>| match problem {
        None => (StatusCode::OK, PLAIN, "ok".to_owned()),
        Some(problem) => (StatusCode::INTERNAL_SERVER_ERROR, PLAIN, problem),
    };
    let (status, kind, text) = match (method, path) {
        (&Method::GET | &Method::HEAD, "/healthz" | "/livez") => check(health.problems()),
        (&Method::GET | &Method::HEAD, "/readyz") => check(health.unready()),
        (&Method::GET | &Method::HEAD, "/metrics") => match metrics.text() {
            Ok(text) => (StatusCode::OK, "application/openmetrics-text; version=1.0.0; charset=utf-8", text),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, PLAIN, error.to_string()),
        },
        (&Method::GET | &Method::HEAD, _) => (StatusCode::NOT_FOUND, PLAIN, "not found".to_owned()),
        _ => (StatusCode::METHOD_NOT_ALLOWED, PLAIN, "only GET".to_owned()),
    };
    response(status, kind, text)
}

fn response(status: StatusCode, kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    async fn get(address: SocketAddr, path: &str) -> String {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn the_endpoints_tell_what_is_wrong() {
        let (health, stop) = (Health::default(), CancellationToken::new());
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let served = serve(any, health.clone(), Metrics::default(), stop.clone()).await.unwrap();
        let address = served.address;
        assert!(get(address, "/healthz").await.ends_with("\r\n\r\nok"));
        health.waits("provider", "no session");
        let answer = get(address, "/readyz").await;
        assert!(answer.starts_with("HTTP/1.1 500") && answer.ends_with("provider: no session\n"), "{answer}");
        assert!(get(address, "/healthz").await.starts_with("HTTP/1.1 200"));
        health.ready("provider");
        assert!(get(address, "/readyz").await.starts_with("HTTP/1.1 200"));
        health.broken("watch", "it ended");
        assert!(get(address, "/healthz").await.starts_with("HTTP/1.1 500"));
        let metrics = get(address, "/metrics").await;
        assert!(
            metrics.contains("application/openmetrics-text") && metrics.ends_with("# EOF\n"),
            "{metrics}"
        );
        assert!(get(address, "/secret").await.starts_with("HTTP/1.1 404"));
        stop.cancel();
        served.ended().await;
    }
}
