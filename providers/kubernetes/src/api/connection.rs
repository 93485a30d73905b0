//! From a kubeconfig to a connection that is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use slipway_resource::{ErrorClass, ProviderError, with_causes};
use tokio::sync::Mutex;

use crate::access::{Access, SecretKubeconfig};

/// A connection to a cluster's API.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// For people.
    pub(crate) endpoint: Arc<str>,
    /// Whether it failed, so that there may be another way by now.
    is_broken: Arc<AtomicBool>,
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
}

impl Connector {
    pub(crate) fn new(access: Arc<dyn Access>) -> Self {
        Self { access, current: Mutex::new(None) }
    }

    /// The connection; `None` when the API does not exist yet.
    ///
    /// # Errors
    /// As the access says; `invalid` for a kubeconfig that cannot be used.
    pub(crate) async fn connection(&self) -> Result<Option<Connection>, ProviderError> {
        let mut current = self.current.lock().await;
        if let Some((_, connection)) = current.as_ref()
            && !connection.is_broken.load(Ordering::Relaxed)
        {
            return Ok(Some(connection.clone()));
        }
        // Asking may make new credentials: it is done when there is need.
        let Some(kubeconfig) = self.access.kubeconfig().await? else { return Ok(None) };
        if let Some((known, connection)) = current.as_ref()
            && *known == kubeconfig
        {
            connection.is_broken.store(false, Ordering::Relaxed);
            return Ok(Some(connection.clone()));
        }
        let connection = connect(&kubeconfig).await?;
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
    let document = Kubeconfig::from_yaml(kubeconfig.text.expose()).map_err(|error| unusable(&error))?;
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
    let client = Client::try_from(config).map_err(|error| unusable(&error))?;
    Ok(Connection { client, endpoint, is_broken: Arc::default() })
}
