//! The endpoints `/healthz`, `/readyz` and `/metrics`, over plain HTTP.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::health::Health;
use crate::metrics::Metrics;

/// How long a client may take to send the head of a request.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many clients are served at once; further ones wait.
const CLIENTS: usize = 64;

/// The endpoints, served by a task of their own.
#[derive(Debug)]
pub struct Served {
    /// The address, with the port that was taken if 0 was asked for.
    pub address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Served {
    /// Waits until the endpoints are closed after the stop.
    pub async fn ended(self) {
        let _ = self.task.await;
    }
}

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
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let task = tokio::spawn(async move {
        let mut clients = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => return,
                Some(_) = clients.join_next(), if !clients.is_empty() => continue,
                accepted = listener.accept(), if clients.len() < CLIENTS => accepted,
            };
            let Ok((stream, _)) = accepted else {
                // No file descriptor is left: others end meanwhile.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let (health, metrics) = (health.clone(), metrics.clone());
            clients.spawn(async move {
                let service = service_fn(|request: Request<Incoming>| {
                    let answer = answer(request.method(), request.uri().path(), &health, &metrics);
                    async move { Ok::<_, Infallible>(answer) }
                });
                let served = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(PATIENCE)
                    .serve_connection(TokioIo::new(stream), service);
                if let Err(error) = served.await {
                    tracing::debug!(%error, "a client of the endpoints was lost");
                }
            });
        }
    });
    Ok(Served { address, task })
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
