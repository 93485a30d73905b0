//! From the announcement to the end.

use std::io::{Read, Write};
use std::sync::Arc;

use slipway_protocol::FRAME_BYTES;
use slipway_protocol::handshake::{Announcement, MAGIC, PROTOCOL, TRANSPORT};
use slipway_resource::{Digest, Provider, ProviderError};
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::Server;

use crate::contract::Contract;
use crate::service::Service;
use crate::sessions::{OpenSession, Sessions};
use crate::{ServeError, ServeOptions};

/// Serves a provider: listens, announces it on standard output, and answers until standard input closes, which
/// it does when the engine ends in whatever way.
///
/// Actions that still run then are cancelled and have [`ServeOptions::grace`] to stop.
///
/// # Errors
/// When the provider cannot be announced or reached.
pub async fn serve(provider: Arc<dyn Provider>, options: ServeOptions) -> Result<(), ServeError> {
    let info = provider.info().await.map_err(ServeError::Provider)?;
    let schema = provider.schema().await.map_err(ServeError::Provider)?;
    let schema_digest = Digest::of(schema.as_ref()).map_err(|error| {
        let class = slipway_resource::ErrorClass::Permanent;
        ServeError::Provider(ProviderError::new(class, error.to_string()))
    })?;
    let socket = options.directory.join("provider.sock");
    let listener =
        UnixListener::bind(&socket).map_err(|source| ServeError::Listen { path: socket.clone(), source })?;
    announce(&Announcement {
        magic: MAGIC.to_owned(),
        protocol: vec![PROTOCOL.to_owned()],
        transport: TRANSPORT.to_owned(),
        address: socket.clone(),
        pid: std::process::id(),
        name: info.name,
        version: info.version,
        schema_digest,
        nonce: options.nonce.clone(),
    })?;

    let served = serve_on(provider, listener, &options, end()).await;
    // The directory is removed when it is empty, because the engine that made it may be dead.
    let _ = std::fs::remove_file(&socket);
    let _ = std::fs::remove_dir(&options.directory);
    // The sessions are closed. The kernel frees the memory of a process that ends faster than their destructors.
    served.map(std::mem::forget)
}

/// Serves a provider on a socket until `end`, without an announcement: [`serve`] for a provider that has no
/// process of its own.
///
/// # Errors
/// When the provider cannot be reached.
pub async fn serve_until(
    provider: Arc<dyn Provider>,
    listener: UnixListener,
    options: &ServeOptions,
    end: impl Future<Output = ()> + Send,
) -> Result<(), ServeError> {
    serve_on(provider, listener, options, end).await.map(drop)
}

/// Serves until the end, and returns the sessions that were open; they are closed.
async fn serve_on(
    provider: Arc<dyn Provider>,
    listener: UnixListener,
    options: &ServeOptions,
    end: impl Future<Output = ()> + Send,
) -> Result<Vec<Arc<OpenSession>>, ServeError> {
    let batch = provider.info().await.map_err(ServeError::Provider)?.batch;
    let sessions = Arc::new(Sessions::new(options.actions));
    let service = Contract::of(Service { provider, sessions: Arc::clone(&sessions), batch });
    let server = Server::builder()
        .initial_stream_window_size(4 << 20)
        .initial_connection_window_size(16 << 20)
        .max_frame_size(Some(FRAME_BYTES))
        .serve_with_incoming(service, UnixListenerStream::new(listener));
    tokio::select! {
        served = server => served.map(|()| Vec::new()).map_err(ServeError::Server),
        // The engine is gone, so no client would read the socket any more.
        () = end => Ok(sessions.end(options.grace).await),
    }
}

/// Writes the one line that the engine waits for.
fn announce(announcement: &Announcement) -> Result<(), ServeError> {
    let mut line = serde_json::to_vec(announcement).map_err(|error| ServeError::Announce(error.into()))?;
    line.push(b'\n');
    let mut output = std::io::stdout().lock();
    output.write_all(&line).and_then(|()| output.flush()).map_err(ServeError::Announce)
}

/// Waits for the end of standard input, or for a request to terminate.
async fn end() {
    let (sender, closed) = oneshot::channel();
    // A separate thread, because a read of standard input cannot be cancelled: it ends with the process.
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let mut bytes = [0; 256];
        while !matches!(input.read(&mut bytes), Ok(0) | Err(_)) {}
        // The receiver is gone when the process ends for another reason.
        let _ = sender.send(());
    });
    let terminated = async {
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = closed => {}
        () = terminated => {}
    }
}
