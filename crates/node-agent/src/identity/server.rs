//! The endpoint itself: HTTP over TLS, with the certificate of the API server on this machine.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::Serialize;
use serde_json::json;
use slipway_resource::SecretText;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use super::desk::{Desk, Refusal};
use super::registry::Registry;
use super::{Ask, CHALLENGE, CREDENTIAL};
use crate::authority::Authority;
use crate::code;
use crate::error::Error;

/// The largest body of a request, in bytes.
const BODY: usize = 64 * 1024;
/// How many connections are served at once; further ones wait to be accepted.
const CONNECTIONS: usize = 128;
/// How long a connection may last: a handshake and two requests.
const CONNECTION: Duration = Duration::from_secs(60);
/// How long the headers of a request may take.
const HEADERS: Duration = Duration::from_secs(10);

/// Where the machine has the keys of its cluster.
pub struct Keys {
    /// The folder of certificates.
    pub folder: PathBuf,
}

impl Keys {
    /// The certificate and the key of the API server. They are read again for each connection, because they
    /// are renewed.
    fn serving(&self) -> Result<ServerConfig, Error> {
        let (certificate, key) = (self.folder.join("apiserver.crt"), self.folder.join("apiserver.key"));
        let unusable = |path: &Path, error: &dyn std::fmt::Display| {
            Error::new(code::IDENTITY, format!("{} cannot be used", path.display())).cause(error.to_string())
        };
        let pem = slipway_limits::file::read(&certificate, slipway_limits::size::KEY_FILE)
            .map_err(|error| unusable(&certificate, &error))?;
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&pem)
            .collect::<Result<_, _>>()
            .map_err(|error| unusable(&certificate, &error))?;
        let pem = slipway_limits::file::read(&key, slipway_limits::size::KEY_FILE)
            .map_err(|error| unusable(&key, &error))?;
        let der = PrivateKeyDer::from_pem_slice(&pem).map_err(|error| unusable(&key, &error))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, der))
            .map_err(|error| unusable(&certificate, &error))
    }

    /// The authority of the cluster.
    fn authority(&self) -> Result<Authority, Error> {
        let text = |name: &str| {
            let path = self.folder.join(name);
            slipway_limits::file::read_text(&path, slipway_limits::size::KEY_FILE)
                .map_err(|error| Error::file("the authority", &path, &error))
        };
        Authority::from_pem(&text("ca.crt")?, &SecretText::new(text("ca.key")?))
    }
}

/// Serves until the process ends.
pub async fn serve<R: Registry + 'static>(
    listen: SocketAddr,
    desk: Desk<R>,
    keys: Keys,
) -> Result<Infallible, Error> {
    // Unusable files are reported at the start, and not to the first machine.
    keys.serving()?;
    keys.authority()?;
    let listener = TcpListener::bind(listen).await.map_err(|error| {
        Error::new(code::IDENTITY, format!("nothing can listen on {listen}")).cause(error.to_string())
    })?;
    accept(listener, desk, keys).await
}

/// Accepts connections until the process ends.
pub(super) async fn accept<R: Registry + 'static>(
    listener: TcpListener,
    desk: Desk<R>,
    keys: Keys,
) -> Result<Infallible, Error> {
    let shared = Arc::new((desk, keys));
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let place = places.clone().acquire_owned().await;
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let shared = shared.clone();
        tokio::spawn(async move {
            let _place = place;
            match tokio::time::timeout(CONNECTION, attend(stream, shared)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(%error, "a connection ended"),
                Err(_) => tracing::debug!("a connection took too long"),
            }
        });
    }
}

async fn attend<R: Registry + 'static>(
    stream: TcpStream,
    shared: Arc<(Desk<R>, Keys)>,
) -> Result<(), String> {
    let config = shared.1.serving().map_err(|error| error.to_string())?;
    let stream =
        TlsAcceptor::from(Arc::new(config)).accept(stream).await.map_err(|error| error.to_string())?;
    let service = service_fn(|request| {
        let shared = shared.clone();
        async move { Ok::<_, Infallible>(answer(&shared.0, &shared.1, request).await) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .serve_connection(TokioIo::new(stream), service)
        .await
        .map_err(|error| error.to_string())
}

async fn answer<R: Registry>(
    desk: &Desk<R>,
    keys: &Keys,
    request: Request<Incoming>,
) -> Response<Full<Bytes>> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let result = match (method, path.as_str()) {
        (Method::GET, "/healthz") => return reply(StatusCode::OK, &json!("ok")),
        (Method::POST, CHALLENGE) => desk.challenge().map(|challenge| reply(StatusCode::OK, &challenge)),
        (Method::POST, CREDENTIAL) => credential(desk, keys, request.into_body()).await,
        _ => return refusal(StatusCode::NOT_FOUND, "nothing is there"),
    };
    match result {
        Ok(reply) => reply,
        Err(Refusal::Nonce) => refusal(StatusCode::CONFLICT, "the nonce is used up or too old"),
        Err(Refusal::Refused(reason)) => {
            tracing::warn!(%reason, "a machine is refused");
            refusal(StatusCode::FORBIDDEN, &reason)
        }
        Err(Refusal::Unavailable(reason)) => {
            tracing::warn!(%reason, "a machine has to wait");
            refusal(StatusCode::SERVICE_UNAVAILABLE, &reason)
        }
    }
}

async fn credential<R: Registry>(
    desk: &Desk<R>,
    keys: &Keys,
    body: Incoming,
) -> Result<Response<Full<Bytes>>, Refusal> {
    let unreadable =
        |error: &dyn std::fmt::Display| Refusal::Refused(format!("the request cannot be read: {error}"));
    let body = Limited::new(body, BODY).collect().await.map_err(|error| unreadable(&error))?.to_bytes();
    let ask: Ask = serde_json::from_slice(&body).map_err(|error| unreadable(&error))?;
    let authority = keys.authority().map_err(|error| Refusal::Unavailable(error.to_string()))?;
    Ok(reply(StatusCode::OK, &desk.grant(&ask, &authority).await?))
}

fn refusal(status: StatusCode, message: &str) -> Response<Full<Bytes>> {
    reply(status, &json!({"message": message}))
}

fn reply(status: StatusCode, body: &impl Serialize) -> Response<Full<Bytes>> {
    let text = serde_json::to_vec(body).unwrap_or_default();
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    response
}
