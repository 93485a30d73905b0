//! A client on kube's service stack. Its connections go to addresses that a [`Reach`] allows.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ConfigExt as _};
use kube::config::Config;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use slipway_trust::Reach;
use tower::ServiceBuilder;

use crate::{Credentials, Failure, KubeconfigText, Server, Unusable, configuration};

/// How long a server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// How long a connection may be silent before its peer is probed, and the time between two probes.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// An answer of a server, whatever its status.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// A client for one server of an API.
#[derive(Clone)]
pub struct Client {
    inner: kube::Client,
    endpoint: Arc<str>,
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Client({})", self.endpoint)
    }
}

impl Client {
    /// A client for a server. Nothing is called yet. It needs a runtime, which carries its requests.
    ///
    /// # Errors
    /// When the URL, the trust or the credentials cannot be used, or when the host is an address at which it may not be.
    pub fn to(server: &Server) -> Result<Self, Unusable> {
        let url: Uri = server
            .url
            .trim_end_matches('/')
            .parse()
            .map_err(|_| Unusable::Invalid(format!("{} is not the URL of an API server", server.url)))?;
        let mut config = Config::new(url);
        config.connect_timeout = Some(CONNECT);
        if let Credentials::Token(token) = &server.credentials {
            config.auth_info.token = Some(token.expose().to_owned().into());
        }
        let tls = configuration(&server.trust, &server.credentials)?;
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector(&config, server.reach.clone())?);
        Self::with(&config, connector)
    }

    /// A client by a kubeconfig. Its credential plugins are run when they are needed.
    ///
    /// # Errors
    /// When the kubeconfig cannot be used, or names what is not allowed.
    pub async fn by(kubeconfig: &KubeconfigText<'_>) -> Result<Self, Unusable> {
        let (mut config, reach) = kubeconfig.load().await?;
        config.connect_timeout = Some(CONNECT);
        Self::trusting(&config, reach)
    }

    /// A client of a pod, by its service account: `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT` name the server, the
    /// token and the authority are read from `/var/run/secrets/kubernetes.io/serviceaccount`. A token that was renewed is read again.
    ///
    /// # Errors
    /// When the process runs in no pod, or the service account cannot be used.
    pub fn in_cluster() -> Result<Self, Unusable> {
        let mut config = Config::incluster().map_err(|error| Unusable::of(&error))?;
        config.connect_timeout = Some(CONNECT);
        Self::trusting(&config, Reach::anywhere())
    }

    /// A client for a server that is trusted as the configuration says.
    fn trusting(config: &Config, reach: Reach) -> Result<Self, Unusable> {
        if CryptoProvider::get_default().is_none() {
            // Another thread may do so meanwhile, with the same one.
            let _ = aws_lc_rs::default_provider().install_default();
        }
        let connector = config
            .rustls_https_connector_with_connector(connector(config, reach)?)
            .map_err(|error| Unusable::of(&error))?;
        Self::with(config, connector)
    }

    fn with(config: &Config, connector: HttpsConnector<HttpConnector<Reach>>) -> Result<Self, Unusable> {
        let unusable = |error: kube::Error| Unusable::of(&error);
        let http = legacy::Client::builder(TokioExecutor::new()).build::<_, Body>(connector);
        // Nothing is repeated here, and each request has the patience of its caller.
        let service = ServiceBuilder::new()
            .layer(config.base_uri_layer())
            .option_layer(config.auth_layer().map_err(unusable)?)
            .layer(config.extra_headers_layer().map_err(unusable)?)
            .map_err(tower::BoxError::from)
            .service(http);
        let endpoint = config.cluster_url.to_string().trim_end_matches('/').into();
        Ok(Self { inner: kube::Client::new(service, config.default_namespace.clone()), endpoint })
    }

    /// The client for typed objects, watches and events, as controllers use it.
    #[must_use]
    pub fn typed(&self) -> kube::Client {
        self.inner.clone()
    }

    /// The URL of the server.
    #[must_use]
    pub fn endpoint(&self) -> &Arc<str> {
        &self.endpoint
    }

    /// Sends a request, whose URI is a path, and waits for the whole answer, of at most so many bytes.
    ///
    /// # Errors
    /// When there is no answer. A refusal is an answer.
    pub async fn exchange(&self, request: Request<Bytes>, largest: usize) -> Result<Reply, Failure> {
        let answer = self.inner.send(request.map(Body::from)).await.map_err(|error| Failure::of(&error))?;
        let (parts, body) = answer.into_parts();
        let body = Limited::new(body, largest).collect().await;
        let body = body.map_err(|error| Failure::of(error.as_ref()))?.to_bytes();
        Ok(Reply { status: parts.status, headers: parts.headers, body })
    }
}

fn connector(config: &Config, reach: Reach) -> Result<HttpConnector<Reach>, Unusable> {
    // The connector does not resolve what is an address already.
    reach
        .check_literal(config.cluster_url.host().unwrap_or_default())
        .map_err(|error| Unusable::Invalid(error.to_string()))?;
    let mut connector = HttpConnector::new_with_resolver(reach);
    connector.enforce_http(false);
    connector.set_connect_timeout(config.connect_timeout);
    // A watch is silent for minutes; keep-alives detect a dead peer within a minute.
    connector.set_keepalive(Some(KEEPALIVE));
    connector.set_keepalive_interval(Some(KEEPALIVE));
    connector.set_keepalive_retries(Some(3));
    Ok(connector)
}

#[cfg(test)]
mod tests {
    use slipway_resource::SecretText;

    use super::*;
    use crate::Trust;

    fn server(url: &str, reach: Reach) -> Server {
        Server { url: url.to_owned(), trust: Trust::Anybody, credentials: Credentials::Anonymous, reach }
    }

    #[tokio::test]
    async fn a_server_at_a_reserved_address_is_not_called() {
        let metadata = "https://169.254.169.254";
        assert!(Client::to(&server(metadata, Reach::servers(&[]))).is_err());
        assert!(Client::to(&server(metadata, Reach::servers(&["169.254.0.0/16".to_owned()]))).is_ok());
        assert!(Client::to(&server(metadata, Reach::anywhere())).is_ok());
        let text = "{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], \
             clusters: [{name: a, cluster: {server: 'https://169.254.169.254'}}], users: [{name: a, user: {token: a}}]}";
        let text = SecretText::new(text);
        let mut kubeconfig =
            KubeconfigText { text: &text, context: None, is_callers: false, networks: Some(&[]) };
        let refused = Client::by(&kubeconfig).await.unwrap_err();
        assert!(refused.to_string().contains("169.254.169.254"), "{refused}");
        kubeconfig.networks = None;
        assert!(Client::by(&kubeconfig).await.is_ok());
    }

    #[tokio::test]
    async fn a_server_that_refuses_the_connection_has_seen_no_request() {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let client = Client::to(&server(&format!("https://127.0.0.1:{port}"), Reach::anywhere())).unwrap();
        let request = Request::post("/api").body(Bytes::new()).unwrap();
        let failure = client.exchange(request, 1_024).await.unwrap_err();
        assert!(matches!(failure, Failure::Unconnected(_)), "{failure:?}");
    }
}
