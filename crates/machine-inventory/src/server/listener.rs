//! Connections of hosts: TLS, unless the user allows plain HTTP.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use slipway_controller::kube::Client;
use slipway_limits::{file, size};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::answer::{Refusal, response};
use super::handlers;
use super::route::{NoRoute, Route};
use crate::arguments::ManagerArguments;

/// How long a host may take for its handshake, and for the head of a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a request may take.
const REQUEST: Duration = Duration::from_secs(30);
/// How many hosts are served at once; further ones wait.
const CLIENTS: usize = 256;
/// The largest body of a request.
const BODY: usize = 64 * 1024;
/// The time between two looks at the files of the certificate.
const RELOAD: Duration = Duration::from_secs(30);

/// The registration API cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// There is no certificate.
    #[error(
        "the registration API has no certificate: give --api-cert-file and --api-key-file, or --insecure-allow-http behind a proxy with TLS"
    )]
    NoCertificate,
    /// The address cannot be bound.
    #[error("the registration API cannot be served at {address}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// The certificate or the key cannot be used.
    #[error("{path} cannot be used: {reason}")]
    Certificate {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// The registration API, served by a task of its own.
#[derive(Debug)]
pub struct Serving {
    /// The address, with the port that was taken if 0 was asked for.
    pub address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Serving {
    /// Waits until the API is closed after the stop.
    pub async fn ended(self) {
        let _ = self.task.await;
    }
}

/// The management cluster, and the only namespace that is served, if there is one.
#[derive(Clone)]
struct Backend {
    client: Client,
    namespace: Option<String>,
}

/// The files of a certificate, and the configuration that they make.
struct Certificate {
    chain: PathBuf,
    key: PathBuf,
    current: RwLock<([Vec<u8>; 2], Arc<ServerConfig>)>,
}

impl Certificate {
    fn read(chain: &Path, key: &Path) -> Result<Self, ServerError> {
        let files = contents(chain, key)?;
        let configuration = configuration(chain, &files)?;
        Ok(Self {
            chain: chain.to_owned(),
            key: key.to_owned(),
            current: RwLock::new((files, configuration)),
        })
    }

    fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner).1))
    }

    /// Reads the files again. Files that cannot be used are reported, and the certificate stays.
    fn reload(&self) {
        let known = self.current.read().unwrap_or_else(PoisonError::into_inner).0.clone();
        let read = contents(&self.chain, &self.key).and_then(|files| {
            if files == known {
                Ok(None)
            } else {
                Ok(Some((files.clone(), configuration(&self.chain, &files)?)))
            }
        });
        match read {
            Ok(None) => {}
            Ok(Some(new)) => {
                tracing::info!(certificate = %self.chain.display(), "the certificate was read again");
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = new;
            }
            Err(error) => tracing::warn!(%error, "the changed certificate is not used"),
        }
    }
}

fn contents(chain: &Path, key: &Path) -> Result<[Vec<u8>; 2], ServerError> {
    let read = |path: &Path| {
        let unusable = |error: std::io::Error| ServerError::Certificate {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        file::read_given(path, size::KEY_FILE).map_err(unusable)
    };
    Ok([read(chain)?, read(key)?])
}

fn configuration(path: &Path, files: &[Vec<u8>; 2]) -> Result<Arc<ServerConfig>, ServerError> {
    let unusable = |reason: String| ServerError::Certificate { path: path.to_owned(), reason };
    let chain = CertificateDer::pem_slice_iter(&files[0]).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| unusable(error.to_string()))?;
    let key = PrivateKeyDer::from_pem_slice(&files[1]).map_err(|error| unusable(error.to_string()))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let built = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
    built.map(Arc::new).map_err(|error| unusable(error.to_string()))
}

/// Serves the registration API until the stop.
///
/// # Errors
/// When there is no usable certificate, or the address cannot be bound.
pub async fn start(
    arguments: &ManagerArguments,
    client: Client,
    stop: CancellationToken,
) -> Result<Serving, ServerError> {
    let certificate = match (&arguments.api_cert_file, &arguments.api_key_file) {
        (Some(chain), Some(key)) => Some(Arc::new(Certificate::read(chain, key)?)),
        _ if arguments.insecure_allow_http => None,
        _ => return Err(ServerError::NoCertificate),
    };
    let address = arguments.api_address;
    let failed = |cause| ServerError::Bind { address, cause };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    tracing::info!(%address, tls = certificate.is_some(), "serving the registration API");
    let backend = Backend { client, namespace: arguments.namespace.clone() };
    let task = tokio::spawn(async move { accept(listener, certificate, backend, stop).await });
    Ok(Serving { address, task })
}

async fn accept(
    listener: TcpListener,
    certificate: Option<Arc<Certificate>>,
    backend: Backend,
    stop: CancellationToken,
) {
    let mut clients = JoinSet::new();
    let mut reload = tokio::time::interval(RELOAD);
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            Some(_) = clients.join_next(), if !clients.is_empty() => continue,
            _ = reload.tick() => {
                if let Some(certificate) = &certificate {
                    certificate.reload();
                }
                continue;
            }
            accepted = listener.accept(), if clients.len() < CLIENTS => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // No file descriptor is left: others end meanwhile.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (acceptor, backend) =
            (certificate.as_ref().map(|certificate| certificate.acceptor()), backend.clone());
        clients.spawn(async move {
            match acceptor {
                None => connection(stream, backend).await,
                Some(acceptor) => match tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await {
                    Ok(Ok(stream)) => connection(stream, backend).await,
                    Ok(Err(error)) => tracing::debug!(%error, "a host made no TLS connection"),
                    Err(_) => tracing::debug!("a host took too long for its TLS handshake"),
                },
            }
        });
    }
}

async fn connection(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, backend: Backend) {
    let service = service_fn(move |request: Request<Incoming>| {
        let backend = backend.clone();
        async move { Ok::<_, Infallible>(serve(&backend, request).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = served.await {
        tracing::debug!(%error, "a host was lost");
    }
}

async fn serve(backend: &Backend, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let refused = |status, message: String| response(Err(Refusal(status, message)));
    let route = match Route::of(request.method(), request.uri().path()) {
        Ok(route) => route,
        Err(NoRoute::NotFound) => return refused(StatusCode::NOT_FOUND, "there is nothing here".to_owned()),
        Err(NoRoute::Method) => {
            return refused(StatusCode::METHOD_NOT_ALLOWED, "this method is not allowed here".to_owned());
        }
    };
    if backend.namespace.as_ref().is_some_and(|only| *only != route.namespace) {
        let message = format!("namespace {} is not served here", route.namespace);
        return refused(StatusCode::NOT_FOUND, message);
    }
    let work = async {
        let (head, body) = request.into_parts();
        let body = Limited::new(body, BODY).collect().await;
        let body = body.map_err(|_| {
            Refusal(StatusCode::PAYLOAD_TOO_LARGE, format!("a body has at most {BODY} bytes"))
        })?;
        handlers::handle(&backend.client, &route, &head.headers, &body.to_bytes()).await
    };
    match tokio::time::timeout(REQUEST, work).await {
        Ok(answer) => response(answer),
        Err(_) => refused(StatusCode::GATEWAY_TIMEOUT, "the management cluster gives no answer".to_owned()),
    }
}
