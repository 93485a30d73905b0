//! Connections of the tenant's clients: TLS with a client certificate, always.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::server::Connected;

use super::error::Error;
use super::files::Contents;
use super::settings::TlsFiles;

/// How long a client may take to show its certificate.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The pause after the system refused a connection, for lack of file descriptors for example.
const PAUSE: Duration = Duration::from_millis(100);

/// The configuration of TLS that new connections get.
#[derive(Debug)]
pub struct Serving(RwLock<Arc<ServerConfig>>);

impl Serving {
    /// Reads certificates.
    pub fn new(files: &TlsFiles, contents: &Contents) -> Result<Self, Error> {
        Ok(Self(RwLock::new(configuration(files, contents)?)))
    }

    /// Uses these certificates for connections from now on. Existing connections stay.
    pub fn install(&self, files: &TlsFiles, contents: &Contents) -> Result<(), Error> {
        let configuration = configuration(files, contents)?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = configuration;
        Ok(())
    }

    fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn configuration(files: &TlsFiles, contents: &Contents) -> Result<Arc<ServerConfig>, Error> {
    let unusable = |path: &std::path::Path| {
        let path = path.to_owned();
        move |error: &dyn std::error::Error| Error::Tls { path, reason: error.to_string() }
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(contents.authorities.as_bytes()) {
        let certificate = certificate.map_err(|error| unusable(&files.authorities)(&error))?;
        roots.add(certificate).map_err(|error| unusable(&files.authorities)(&error))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
        .build()
        .map_err(|error| unusable(&files.authorities)(&error))?;
    let chain = CertificateDer::pem_slice_iter(contents.certificate.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| unusable(&files.certificate)(&error))?;
    let key = PrivateKeyDer::from_pem_slice(contents.key.as_bytes())
        .map_err(|error| unusable(&files.key)(&error))?;
    let mut configuration = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_client_cert_verifier(verifier).with_single_cert(chain, key))
        .map_err(|error| unusable(&files.certificate)(&error))?;
    configuration.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Arc::new(configuration))
}

/// A client's connection.
pub struct Connection {
    stream: TlsStream<TcpStream>,
    _place: OwnedSemaphorePermit,
}

/// A socket on which clients connect, and how many may.
pub struct Listener {
    socket: TcpListener,
    places: Arc<Semaphore>,
}

impl Listener {
    /// Listens.
    pub async fn bind(address: SocketAddr, connections: usize) -> Result<Self, Error> {
        let socket = TcpListener::bind(address).await.map_err(|source| Error::Listen { address, source })?;
        Ok(Self { socket, places: Arc::new(Semaphore::new(connections)) })
    }

    /// Accepts clients until it is stopped. A slow handshake keeps no other client waiting.
    pub async fn accept(
        self,
        serving: Arc<Serving>,
        accepted: mpsc::Sender<io::Result<Connection>>,
        stop: CancellationToken,
    ) {
        let mut handshakes = JoinSet::new();
        let next = || async {
            let place = Arc::clone(&self.places).acquire_owned().await.map_err(io::Error::other)?;
            Ok::<_, io::Error>((self.socket.accept().await?.0, place))
        };
        while let Some(connected) = stop.run_until_cancelled(next()).await {
            // Those that are done.
            while handshakes.try_join_next().is_some() {}
            let Ok((stream, place)) = connected else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let (acceptor, accepted, stop) = (serving.acceptor(), accepted.clone(), stop.clone());
            handshakes.spawn(async move {
                let handshake = tokio::time::timeout(HANDSHAKE, shake(acceptor, stream));
                match stop.run_until_cancelled(handshake).await {
                    Some(Ok(Ok(stream))) => {
                        let connection = Connection { stream, _place: place };
                        // When the server is gone, so is the client's connection.
                        let _ = accepted.send(Ok(connection)).await;
                    }
                    Some(Ok(Err(error))) => tracing::debug!(%error, "a client did not get a connection"),
                    Some(Err(_)) | None => {}
                }
            });
        }
        while handshakes.join_next().await.is_some() {}
    }
}

async fn shake(acceptor: TlsAcceptor, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
    stream.set_nodelay(true)?;
    acceptor.accept(stream).await
}

impl Connected for Connection {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
