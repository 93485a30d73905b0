//! Connections to the etcd that tenants share.

use std::error::Error as _;
use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use slipway_cluster_api::{Credentials, Trust};
use slipway_resource::SecretText;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Response, Status};

use super::error::Error;
use super::files::Contents;
use super::settings::CoreSettings;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// etcd refuses clients that ask more often than every five seconds whether it is there.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// How much of a stream may be on its way, in bytes.
const STREAM_WINDOW: u32 = 1 << 20;
/// The same of a connection: more than all streams together, so that a watch that its client does not read holds up no
/// other stream.
const CONNECTION_WINDOW: u32 = 1 << 30;

/// The core. One of its endpoints is used until it does not answer.
#[derive(Debug)]
pub struct Core {
    endpoints: Vec<Address>,
    /// One for each endpoint; never empty.
    channels: RwLock<Arc<Vec<Channel>>>,
    current: AtomicUsize,
}

#[derive(Clone, Debug)]
struct Address {
    host: String,
    port: u16,
    name: ServerName<'static>,
}

/// Checks a URL of an endpoint.
///
/// # Errors
/// When it does not have the form `https://<host>:<port>`.
pub fn check_endpoint(url: &str) -> Result<(), Error> {
    Address::parse(url).map(|_| ())
}

impl Core {
    /// Prepares connections. The first request makes them.
    pub fn new(settings: &CoreSettings, files: &Contents) -> Result<Self, Error> {
        let endpoints =
            settings.endpoints.iter().map(|url| Address::parse(url)).collect::<Result<Vec<_>, _>>()?;
        if endpoints.is_empty() {
            return Err(Error::Endpoint(String::new()));
        }
        let core = Self { endpoints, channels: RwLock::default(), current: AtomicUsize::new(0) };
        core.install(settings, files)?;
        Ok(core)
    }

    /// Makes further requests with these certificates. Running requests continue with the previous ones.
    pub fn install(&self, settings: &CoreSettings, files: &Contents) -> Result<(), Error> {
        let trust = Trust::Authorities(files.authorities.clone());
        let credentials = Credentials::Certificate {
            certificate: files.certificate.clone(),
            key: SecretText::new(files.key.clone()),
        };
        let mut configuration =
            slipway_cluster_api::configuration(&trust, &credentials).map_err(|error| Error::Tls {
                path: settings.files.certificate.clone(),
                reason: error.to_string(),
            })?;
        configuration.alpn_protocols = vec![b"h2".to_vec()];
        let configuration = Arc::new(configuration);
        let channels =
            self.endpoints.iter().map(|address| address.channel(&configuration)).collect::<Result<_, _>>()?;
        *self.channels.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(channels);
        Ok(())
    }

    /// The connection to the endpoint in use, for a stream.
    pub fn channel(&self) -> Channel {
        let channels = self.channels.read().unwrap_or_else(PoisonError::into_inner);
        let index = self.current.load(Ordering::Relaxed) % channels.len();
        channels[index].clone()
    }

    /// Sends a request to an endpoint that can be reached. It is sent once: another endpoint is tried only when there
    /// was no connection. The error is the core's own and not for tenants.
    pub async fn call<Q, A, F>(&self, request: Q, send: impl Fn(Channel, Q) -> F) -> Result<A, Status>
    where
        Q: Clone,
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let channels = Arc::clone(&self.channels.read().unwrap_or_else(PoisonError::into_inner));
        let first = self.current.load(Ordering::Relaxed);
        let mut last = Status::unavailable("no endpoint");
        for attempt in 0..channels.len() {
            let index = (first + attempt) % channels.len();
            match send(channels[index].clone(), request.clone()).await {
                Ok(answer) => return Ok(answer.into_inner()),
                Err(status) if status.code() == Code::Unavailable => {
                    self.current.store(index + 1, Ordering::Relaxed);
                    last = status;
                }
                Err(status) => return Err(status),
            }
            if !is_unsent(&last) {
                break;
            }
        }
        Err(last)
    }
}

/// Whether there was no connection, so that the core cannot have received the request.
fn is_unsent(status: &Status) -> bool {
    let mut cause = status.source();
    while let Some(error) = cause {
        if error.is::<tonic::ConnectError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

impl Address {
    fn parse(url: &str) -> Result<Self, Error> {
        let wrong = || Error::Endpoint(url.to_owned());
        let parsed: http::Uri = url.parse().map_err(|_| wrong())?;
        let path_is_empty = matches!(parsed.path(), "" | "/") && parsed.query().is_none();
        if parsed.scheme_str() != Some("https") || !path_is_empty {
            return Err(wrong());
        }
        let host = parsed.host().ok_or_else(wrong)?.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(host.clone()).map_err(|_| wrong())?;
        Ok(Self { host, port: parsed.port_u16().unwrap_or(2379), name })
    }

    fn channel(&self, configuration: &Arc<ClientConfig>) -> Result<Channel, Error> {
        // The connector adds TLS. With `https` here, tonic would demand its own.
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let url = format!("http://{host}:{}", self.port);
        let endpoint = Endpoint::from_shared(url)
            .map_err(|_| Error::Endpoint(self.host.clone()))?
            .connect_timeout(CONNECT)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW);
        let (address, configuration) = (self.clone(), Arc::clone(configuration));
        let connect = move |_: http::Uri| {
            let (address, connector) = (address.clone(), TlsConnector::from(Arc::clone(&configuration)));
            async move {
                let stream = TcpStream::connect((address.host.as_str(), address.port)).await?;
                stream.set_nodelay(true)?;
                Ok::<_, io::Error>(TokioIo::new(connector.connect(address.name, stream).await?))
            }
        };
        Ok(endpoint.connect_with_connector_lazy(tower::service_fn(connect)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_https_urls() {
        for (url, host, port) in [
            ("https://etcd-svc-1.etcd.svc:2379", "etcd-svc-1.etcd.svc", 2379),
            ("https://10.0.0.1:4000/", "10.0.0.1", 4000),
            ("https://[fd00::1]:2379", "fd00::1", 2379),
            ("https://etcd", "etcd", 2379),
        ] {
            let address = Address::parse(url).unwrap();
            assert_eq!((&*address.host, address.port), (host, port));
        }
        for url in ["http://etcd:2379", "etcd:2379", "https://etcd:2379/v3", ""] {
            assert!(Address::parse(url).is_err(), "{url}");
        }
    }
}
