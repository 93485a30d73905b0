//! The endpoints `/healthz`, `/readyz` and `/metrics`, over plain HTTP.

use std::future::ready;
use std::net::SocketAddr;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio_util::sync::CancellationToken;

use crate::health::Health;
use crate::listener::{Clients, Served, listen};
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

fn answer(method: &Method, path: &str, health: &Health, metrics: &Metrics) -> Response<Full<Bytes>> {
    let plain = "text/plain; charset=utf-8";
    let check = |problem: Option<String>| match problem {
        None => (StatusCode::OK, plain, "ok".to_owned()),
        Some(problem) => (StatusCode::INTERNAL_SERVER_ERROR, plain, problem),
    };
    let (status, kind, text) = match (method, path) {
        (&Method::GET | &Method::HEAD, "/healthz" | "/livez") => check(health.problems()),
        (&Method::GET | &Method::HEAD, "/readyz") => check(health.unready()),
        (&Method::GET | &Method::HEAD, "/metrics") => match metrics.text() {
            Ok(text) => (StatusCode::OK, "application/openmetrics-text; version=1.0.0; charset=utf-8", text),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, plain, error.to_string()),
        },
        (&Method::GET | &Method::HEAD, _) => (StatusCode::NOT_FOUND, plain, "not found".to_owned()),
        _ => (StatusCode::METHOD_NOT_ALLOWED, plain, "only GET".to_owned()),
    };
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
