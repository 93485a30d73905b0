//! Serving over one stream of bytes, as the standard input and output of a process behind SSH.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use slipway_protocol::FRAME_BYTES;
use slipway_resource::Provider;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;
use tokio_stream::StreamExt as _;
use tonic::transport::Server;
use tonic::transport::server::Connected;

use crate::contract::Contract;
use crate::service::Service;
use crate::sessions::Sessions;
use crate::{ServeError, ServeOptions};

/// Serves a provider over one stream until that ends. Actions that still run then are cancelled and have
/// [`ServeOptions::grace`] to stop.
///
/// # Errors
/// When the provider cannot be reached.
pub async fn serve_stream<S>(
    provider: Arc<dyn Provider>,
    stream: S,
    options: &ServeOptions,
) -> Result<(), ServeError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let batch = provider.info().await.map_err(ServeError::Provider)?.batch;
    let sessions = Arc::new(Sessions::new(options.actions));
    let service = Contract::of(Service { provider, sessions: Arc::clone(&sessions), batch });
    let (alive, mut ended) = oneshot::channel();
    let only = Only { stream, _alive: alive };
    // There is one connection, and none after it.
    let incoming = tokio_stream::once(Ok::<_, std::io::Error>(only)).chain(tokio_stream::pending());
    let server = Server::builder()
        .initial_stream_window_size(4 << 20)
        .initial_connection_window_size(16 << 20)
        .max_frame_size(Some(FRAME_BYTES))
        .serve_with_incoming(service, incoming);
    tokio::select! {
        served = server => served.map_err(ServeError::Server),
        _ = &mut ended => {
            sessions.end(options.grace).await;
            Ok(())
        }
    }
}

/// A stream that signals its drop. The server drops it at the end of the connection.
struct Only<S> {
    stream: S,
    _alive: oneshot::Sender<()>,
}

impl<S> Connected for Only<S> {
    type ConnectInfo = ();

    fn connect_info(&self) -> Self::ConnectInfo {}
}

impl<S: AsyncRead + Unpin> AsyncRead for Only<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Only<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
