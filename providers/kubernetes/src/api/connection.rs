//! From a kubeconfig to a connection that is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use slipway_cluster_api::{Client, KubeconfigText, Unusable};
use slipway_resource::{ErrorClass, ProviderError};
use tokio::sync::Mutex;

use super::silence::Silence;
use crate::access::{Access, SecretKubeconfig};
use crate::endpoint::ApiEndpoint;

/// A connection to a cluster's API.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// For people.
    pub(crate) endpoint: Arc<str>,
    /// Whether it failed, so that there may be another way by now.
    is_broken: Arc<AtomicBool>,
    /// The servers that did not answer, for all connections of a session.
    pub(super) silence: Silence,
}

impl Connection {
    /// Marks the connection as broken: the next use asks for a kubeconfig again.
    pub(super) fn broke(&self) {
        self.is_broken.store(true, Ordering::Relaxed);
    }
}

/// Connects when a connection is needed, and again when the address of the API has changed.
pub(crate) struct Connector {
    access: Arc<dyn Access>,
    current: Mutex<Current>,
    silence: Silence,
}

/// What a session knows about the connection to its API.
#[derive(Default)]
struct Current {
    /// The address at which the API answered a step of this session.
    found: Option<ApiEndpoint>,
    /// The connection that is kept.
    kept: Option<(SecretKubeconfig, Connection)>,
}

impl Connector {
    pub(crate) fn new(access: Arc<dyn Access>) -> Self {
        Self { access, current: Mutex::default(), silence: Silence::default() }
    }

    /// The connection; `None` when the API does not exist yet.
    ///
    /// # Errors
    /// As the access says; `invalid` for a kubeconfig that cannot be used.
    pub(crate) async fn connection(&self) -> Result<Option<Connection>, ProviderError> {
        let mut current = self.current.lock().await;
        if let Some((_, connection)) = current.kept.as_ref()
            && !self.access.is_read_anew()
            && (!connection.is_broken.load(Ordering::Relaxed)
                || self.silence.is_the_only_way(&connection.endpoint))
        {
            return Ok(Some(connection.clone()));
        }
        // The call may create credentials, so it is made only when they are needed.
        let kubeconfig = match &current.found {
            Some(endpoint) => self.access.kubeconfig_at(endpoint).await?,
            None => self.access.kubeconfig().await?,
        };
        let Some(kubeconfig) = kubeconfig else { return Ok(None) };
        if let Some((known, connection)) = current.kept.as_ref()
            && *known == kubeconfig
        {
            connection.is_broken.store(false, Ordering::Relaxed);
            self.silence.looked(&connection.endpoint);
            return Ok(Some(connection.clone()));
        }
        let connection = Connection { silence: self.silence.clone(), ..connect(&kubeconfig).await? };
        self.silence.looked(&connection.endpoint);
        current.kept = Some((kubeconfig, connection.clone()));
        Ok(Some(connection))
    }

    /// Tries an API at an address. The session keeps the address and the connection if the API answers there.
    ///
    /// # Errors
    /// As the access and the request say; `permanent` when there are no credentials.
    pub(crate) async fn try_at(
        &self,
        endpoint: &ApiEndpoint,
        request: impl AsyncFnOnce(Connection) -> Result<(), ProviderError>,
    ) -> Result<(), ProviderError> {
        let kubeconfig = self.access.kubeconfig_at(endpoint).await?.ok_or_else(|| {
            let text = format!("there are no credentials for the API at {endpoint}");
            ProviderError::new(ErrorClass::Permanent, text)
        })?;
        let connection = Connection { silence: self.silence.clone(), ..connect(&kubeconfig).await? };
        request(connection.clone()).await?;
        *self.current.lock().await =
            Current { found: Some(endpoint.clone()), kept: Some((kubeconfig, connection)) };
        Ok(())
    }

    /// Adds the access's hint to an error about credentials.
    pub(crate) fn advised(&self, error: ProviderError) -> ProviderError {
        match self.access.advice().filter(|_| error.class == ErrorClass::Unauthenticated) {
            Some(advice) => error.with_hint(advice),
            None => error,
        }
    }

    /// The connection, for requests that cannot be made without one.
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
    let way = KubeconfigText {
        text: &kubeconfig.text,
        context: kubeconfig.context.as_deref(),
        is_callers: kubeconfig.is_callers,
        networks: kubeconfig.networks.as_deref(),
    };
    let client = Client::by(&way).await.map_err(|error| {
        let failed = ProviderError::new(ErrorClass::Invalid, error.to_string());
        match error {
            Unusable::NotAllowed(_) => failed.with_hint("name it yourself, by KUBECONFIG, by `kubeconfigs` under [trust] in your configuration, or by `--provider-config`"),
            Unusable::Invalid(_) => failed,
        }
    })?;
    let endpoint = Arc::clone(client.endpoint());
    Ok(Connection { client, endpoint, is_broken: Arc::default(), silence: Silence::default() })
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
        // The same command runs for the caller's kubeconfig, so the refusal above is what stopped it.
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
