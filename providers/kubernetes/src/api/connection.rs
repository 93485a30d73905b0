//! From a kubeconfig to a connection that is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::Client;
use kube::client::{Body, ConfigExt as _};
use kube::config::{Config, KubeConfigOptions, Kubeconfig, KubeconfigError};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use slipway_resource::{ErrorClass, ProviderError, with_causes};
use slipway_trust::Reach;
use tokio::sync::Mutex;
use tower::ServiceBuilder;

use super::silence::Silence;
use crate::access::{Access, SecretKubeconfig};

/// A connection to a cluster's API.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// For people.
    pub(crate) endpoint: Arc<str>,
    /// Whether it failed, so that there may be another way by now.
    is_broken: Arc<AtomicBool>,
    /// What is known of servers that did not answer, on all connections of a session.
    pub(super) silence: Silence,
}

impl Connection {
    /// The next who needs a connection asks for the way again.
    pub(super) fn broke(&self) {
        self.is_broken.store(true, Ordering::Relaxed);
    }
}

/// Connects when asked, and again when the way to the API has changed.
pub(crate) struct Connector {
    access: Arc<dyn Access>,
    current: Mutex<Option<(SecretKubeconfig, Connection)>>,
    silence: Silence,
}

impl Connector {
    pub(crate) fn new(access: Arc<dyn Access>) -> Self {
        Self { access, current: Mutex::new(None), silence: Silence::default() }
    }

    /// The connection; `None` when the API does not exist yet.
    ///
    /// # Errors
    /// As the access says; `invalid` for a kubeconfig that cannot be used.
    pub(crate) async fn connection(&self) -> Result<Option<Connection>, ProviderError> {
        let mut current = self.current.lock().await;
        if let Some((_, connection)) = current.as_ref()
            && (!connection.is_broken.load(Ordering::Relaxed)
                || self.silence.is_the_only_way(&connection.endpoint))
        {
            return Ok(Some(connection.clone()));
        }
        // Asking may make new credentials: it is done when there is need.
        let Some(kubeconfig) = self.access.kubeconfig().await? else { return Ok(None) };
        if let Some((known, connection)) = current.as_ref()
            && *known == kubeconfig
        {
            connection.is_broken.store(false, Ordering::Relaxed);
            self.silence.looked(&connection.endpoint);
            return Ok(Some(connection.clone()));
        }
        let connection = Connection { silence: self.silence.clone(), ..connect(&kubeconfig).await? };
        self.silence.looked(&connection.endpoint);
        *current = Some((kubeconfig, connection.clone()));
        Ok(Some(connection))
    }

    /// The connection, for what makes no sense without one.
    ///
    /// # Errors
    /// As above; `transient` when the API does not exist yet.
    pub(crate) async fn required(&self) -> Result<Connection, ProviderError> {
        self.connection().await?.ok_or_else(|| {
            ProviderError::new(ErrorClass::Transient, "the cluster's API does not exist yet")
                .with_hint("it comes with the cluster's control plane")
        })
    }
}

async fn connect(kubeconfig: &SecretKubeconfig) -> Result<Connection, ProviderError> {
    let unusable = |error: &(dyn std::error::Error + 'static)| {
        let text = format!("the kubeconfig cannot be used: {}", with_causes(error));
        ProviderError::new(ErrorClass::Invalid, text)
    };
    let document = Kubeconfig::from_yaml(kubeconfig.text.expose()).map_err(|error| unparsable(&error))?;
    if !kubeconfig.is_callers {
        confine(&document)?;
    }
    let options = KubeConfigOptions { context: kubeconfig.context.clone(), ..KubeConfigOptions::default() };
    let mut config =
        Config::from_custom_kubeconfig(document, &options).await.map_err(|error| unusable(&error))?;
    config.connect_timeout = Some(Duration::from_secs(5));
    // Each request has its own patience.
    config.read_timeout = None;
    config.write_timeout = None;
    // The engine alone repeats requests, since it alone knows of the pace of others.
    config.default_retry = false;
    let endpoint: Arc<str> = config.cluster_url.to_string().trim_end_matches('/').into();
    let client = client(config, kubeconfig.networks.as_deref()).map_err(|error| unusable(&error))?;
    Ok(Connection { client, endpoint, is_broken: Arc::default(), silence: Silence::default() })
}

/// A client. The server of a kubeconfig that is not the caller's own is connected to at an address at which it may be.
fn client(config: Config, networks: Option<&[String]>) -> Result<Client, kube::Error> {
    let Some(networks) = networks else { return Client::try_from(config) };
    let host = config.cluster_url.host().unwrap_or_default();
    let reach = Reach::host(host, networks);
    reach.check_literal(host).map_err(|error| kube::Error::Service(error.into()))?;
    if CryptoProvider::get_default().is_none() {
        // Another thread may do so meanwhile, with the same one.
        let _ = aws_lc_rs::default_provider().install_default();
    }
    let mut connector = HttpConnector::new_with_resolver(reach);
    connector.enforce_http(false);
    connector.set_connect_timeout(config.connect_timeout);
    let connector = config.rustls_https_connector_with_connector(connector)?;
    let http = legacy::Client::builder(TokioExecutor::new()).build::<_, Body>(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(tower::BoxError::from)
        .service(http);
    Ok(Client::new(service, config.default_namespace))
}

/// What is wrong with a kubeconfig that cannot be parsed. The parser's own words quote it, and it is secret.
fn unparsable(error: &KubeconfigError) -> ProviderError {
    let place = match error {
        KubeconfigError::Parse(error) => error.location().map(|place| format!(" at line {}", place.line())),
        _ => None,
    };
    let place = place.unwrap_or_default();
    ProviderError::new(
        ErrorClass::Invalid,
        format!("the kubeconfig cannot be used: it is not a kubeconfig{place}"),
    )
}

/// Refuses a kubeconfig of a spec that names anything else: it runs no command, and sends no file.
fn confine(document: &Kubeconfig) -> Result<(), ProviderError> {
    let refused = |reason: String| {
        ProviderError::new(ErrorClass::Invalid, format!("the kubeconfig is named by a spec, and {reason}"))
            .with_hint("name it yourself, by KUBECONFIG, by `kubeconfigs` under [trust] in your configuration, or by `--provider-config`")
    };
    let document = serde_json::to_value(document).map_err(|_| refused("it cannot be checked".to_owned()))?;
    slipway_trust::kubeconfig::confined(&document).map(drop).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kubeconfig(user: &str, is_callers: bool) -> SecretKubeconfig {
        let text = format!(
            "{{apiVersion: v1, kind: Config, current-context: a, contexts: [{{name: a, context: {{cluster: a, user: a}}}}], \
             clusters: [{{name: a, cluster: {{server: 'https://127.0.0.1:1'}}}}], users: [{{name: a, user: {user}}}]}}"
        );
        SecretKubeconfig { is_callers, ..SecretKubeconfig::new(text) }
    }

    #[tokio::test]
    async fn only_a_kubeconfig_of_the_caller_runs_commands_and_names_files() {
        let folder = tempfile::tempdir().unwrap();
        let ran = folder.path().join("ran");
        let exec = format!(
            "{{exec: {{apiVersion: client.authentication.k8s.io/v1, command: touch, args: ['{}'], interactiveMode: Never}}}}",
            ran.display()
        );
        for user in [
            exec.as_str(),
            "{tokenFile: /etc/hostname}",
            "{auth-provider: {name: gcp, config: {cmd-path: ls}}}",
        ] {
            let Err(refused) = connect(&kubeconfig(user, false)).await else { panic!("{user}") };
            assert!(refused.message.contains("named by a spec"), "{refused}");
            assert!(!ran.exists());
        }
        // The same command is run for the caller, so that the refusal above is what stopped it.
        let _ = connect(&kubeconfig(&exec, true)).await;
        assert!(ran.exists());
        assert!(connect(&kubeconfig("{token: hunter2}", false)).await.is_ok());
    }

    #[tokio::test]
    async fn a_kubeconfig_that_is_none_is_not_quoted() {
        for text in ["root:x:0:0:hunter2:/root\nsecond: [", "hunter2", "users: hunter2", "[hunter2]"] {
            let Err(error) = connect(&SecretKubeconfig::new(text)).await else { panic!("it was taken") };
            assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        }
    }
}
