//! An HTTP server, with bounds for its clients.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::certificate::ServingCertificate;

/// The most bytes that are kept of what a client has sent and nobody has read. The head of a request is not larger.
const BUFFER: usize = 64 << 10;

/// What clients may use.
#[derive(Clone, Copy, Debug)]
pub struct Clients {
    /// How many are served at once. Further ones wait in the queue of the kernel.
    pub at_once: usize,
    /// How long the head of a request may take.
    pub head: Duration,
    /// How long a connection may last. It then has one request. Without it, it has any number, each with its own time.
    pub connection: Option<Duration>,
}

impl Default for Clients {
    fn default() -> Self {
        Self { at_once: 64, head: Duration::from_secs(5), connection: None }
    }
}

/// A server, which runs in a task of its own.
#[derive(Debug)]
pub struct Served {
    /// The address, with the port that was taken if 0 was asked for.
    pub address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Served {
    /// Waits until the server is closed after the stop.
    pub async fn ended(self) {
        let _ = self.task.await;
    }
}

/// Answers requests without TLS at an address until the stop.
///
/// # Errors
/// When the address cannot be bound.
pub async fn listen<F, A>(
    address: SocketAddr,
    bounds: Clients,
    stop: CancellationToken,
    respond: F,
) -> std::io::Result<Served>
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + 'static,
    A: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    listen_with(address, None, bounds, stop, respond).await
}

/// As [`listen`], with TLS if there is a certificate.
pub(crate) async fn listen_with<F, A>(
    address: SocketAddr,
    certificate: Option<Arc<ServingCertificate>>,
    bounds: Clients,
    stop: CancellationToken,
    respond: F,
) -> std::io::Result<Served>
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + 'static,
    A: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let task = tokio::spawn(async move {
        let mut clients = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => return,
                Some(_) = clients.join_next(), if !clients.is_empty() => continue,
                accepted = listener.accept(), if clients.len() < bounds.at_once => accepted,
            };
            let Ok((stream, _)) = accepted else {
                // No file descriptor is left: others end meanwhile.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let acceptor = certificate.as_deref().map(ServingCertificate::acceptor);
            clients.spawn(serve_stream(stream, acceptor, bounds, respond.clone()));
        }
    });
    Ok(Served { address, task })
}

/// Serves one client, after the handshake if there is TLS.
async fn serve_stream<F, A>(stream: TcpStream, acceptor: Option<TlsAcceptor>, bounds: Clients, respond: F)
where
    F: Fn(Request<Incoming>) -> A + Send + 'static,
    A: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let Some(acceptor) = acceptor else {
        serve_client(stream, bounds, respond).await;
        return;
    };
    match tokio::time::timeout(bounds.head, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => serve_client(stream, bounds, respond).await,
        Ok(Err(error)) => tracing::debug!(%error, "a client of an endpoint was lost"),
        Err(_) => tracing::debug!("the handshake of a client of an endpoint took too long"),
    }
}

/// Serves one client until it closes its connection, or takes too long.
async fn serve_client<S, F, A>(stream: S, bounds: Clients, respond: F)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    F: Fn(Request<Incoming>) -> A + Send + 'static,
    A: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let response = respond(request);
        async move { Ok::<_, Infallible>(response.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.head)
        .keep_alive(bounds.connection.is_none())
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service);
    match tokio::time::timeout(bounds.connection.unwrap_or(Duration::MAX), connection).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a client of an endpoint was lost"),
        Err(_) => tracing::debug!("a client of an endpoint took too long"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use http_body_util::BodyExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// Answers with the length of the body.
    async fn length(request: Request<Incoming>) -> Response<Full<Bytes>> {
        let length = request.into_body().collect().await.map_or(0, |body| body.to_bytes().len());
        Response::new(Full::new(Bytes::from(format!("{length} bytes"))))
    }

    /// What the server sends for some bytes, until it closes the connection.
    async fn send(address: SocketAddr, bytes: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut answer = Vec::new();
        // A server that has read enough resets the connection.
        let _ = stream.write_all(bytes.as_bytes()).await;
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8(answer).unwrap()
    }

    const WHOLE: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}";

    #[tokio::test]
    async fn slow_clients_are_closed_and_leave_their_places_to_others() {
        let bounds = Clients {
            at_once: 2,
            head: Duration::from_millis(300),
            connection: Some(Duration::from_millis(900)),
        };
        let stop = CancellationToken::new();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let served = listen(any, bounds, stop.clone(), length).await.unwrap();
        let address = served.address;
        assert!(send(address, WHOLE).await.ends_with("2 bytes"), "closed after one request");

        let begun = Instant::now();
        let slow_head = tokio::spawn(async move { send(address, "POST / HTTP/1.1\r\nHost: a\r\n").await });
        let slow_body = WHOLE.strip_suffix("{}").unwrap();
        let slow_body = tokio::spawn(async move { send(address, slow_body).await });
        while begun.elapsed() < Duration::from_millis(100) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        // Both places are taken. This one waits for the slow head to be given up.
        assert!(send(address, WHOLE).await.ends_with("2 bytes"));
        assert!(begun.elapsed() >= Duration::from_millis(250), "it did not wait: {:?}", begun.elapsed());
        assert!(!slow_head.await.unwrap().contains("bytes"));
        assert!(!slow_body.await.unwrap().contains("bytes"), "the body never came");
        assert!(begun.elapsed() >= Duration::from_millis(850), "{:?}", begun.elapsed());

        let giant = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", "a".repeat(4 * BUFFER));
        assert!(!send(address, &giant).await.contains("bytes"), "a giant head is refused");
        stop.cancel();
        served.ended().await;
    }
}
