//! The provider: its process, its session, and the requests to it.

mod traffic;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde::Deserialize;
use slipway_controller::Fence;
use slipway_limits::{file, size};
use slipway_protocol::{LockFile, Running, SearchPath};
use slipway_resource::provider::{
    Capabilities, InstanceAnswer, InstanceQuery, InstancesRequest, SessionRequest, Terms,
};
use slipway_resource::{Provider as _, ProviderError, Session, Value};

use crate::arguments::Arguments;
use crate::metrics::Metrics;

/// The provider cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CloudError {
    /// The file of `--cloud-config` cannot be read.
    #[error("--cloud-config: {path} cannot be read")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// The file of `--cloud-config` is no configuration.
    #[error("--cloud-config: {path} is not a configuration of a provider")]
    Malformed {
        /// The file.
        path: String,
        /// Why.
        #[source]
        cause: serde_yaml::Error,
    },
    /// The provider cannot be found, or does not start.
    #[error(transparent)]
    Start(#[from] slipway_protocol::Error),
    /// The provider does not answer, or refuses its configuration.
    #[error("provider {provider}")]
    Refused {
        /// The provider.
        provider: String,
        /// The error of the provider.
        #[source]
        cause: Box<ProviderError>,
    },
    /// The provider finds problems in its configuration.
    #[error("--cloud-config: provider {provider}: {problems}")]
    Invalid {
        /// The provider.
        provider: String,
        /// The problems.
        problems: String,
    },
    /// The provider has no instances.
    #[error(
        "provider {0} does not declare the capability `instances`: it cannot tell which instance a node is"
    )]
    NoInstances(String),
}

/// The content of `--cloud-config`: the same fields as `spec.provider` of a cluster.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Configuration {
    region: Option<String>,
    config: serde_json::Map<String, serde_json::Value>,
}

/// A running provider with a session.
pub(crate) struct Provider {
    running: Running,
    session: Arc<dyn Session>,
    /// The optional parts of the contract that the provider has.
    pub(crate) capabilities: Capabilities,
}

/// The parts of the contract that the controllers need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needs {
    /// A provider without instances is refused.
    pub(crate) instances: bool,
    /// Load balancers are created, where the provider has them.
    pub(crate) load_balancers: bool,
    /// Routes are created, where the provider has them.
    pub(crate) routes: bool,
}

impl Provider {
    /// Starts the provider and opens a session. It only looks, unless a controller needs more.
    pub(crate) async fn start(arguments: &Arguments, needs: Needs) -> Result<Self, CloudError> {
        let name = &arguments.cloud_provider;
        let configuration = arguments.cloud_config.as_deref().map(read).transpose()?.unwrap_or_default();
        let search = SearchPath::from_environment();
        let running = match &arguments.lock_file {
            Some(lock) => Running::locked(name, &search, &LockFile::read(lock)?).await?,
            None => {
                let installed = search.find(name)?;
                Running::launch(&installed.launch(&installed.executable)).await?
            }
        };
        match open(&running, name, configuration, needs).await {
            Ok((session, capabilities)) => Ok(Self { running, session, capabilities }),
            Err(error) => {
                running.end().await;
                Err(error)
            }
        }
    }

    /// The controllers' view of the cloud.
    pub(crate) fn cloud(&self, arguments: &Arguments, metrics: &Metrics) -> Cloud {
        Cloud {
            session: Arc::clone(&self.session),
            cluster: arguments.cluster_name.clone(),
            metrics: metrics.clone(),
            fence: None,
        }
    }

    /// Waits until the process of the provider has ended by itself; returns how.
    pub(crate) async fn ended(&self) -> String {
        let end = self.running.client().life().wait_for_end().await;
        end.unwrap_or_else(|| "the process of the provider is not watched any more".to_owned())
    }

    /// Ends the provider.
    pub(crate) async fn end(self) {
        let _ = self.session.close().await;
        self.running.end().await;
    }
}

async fn open(
    running: &Running,
    name: &str,
    configuration: Configuration,
    needs: Needs,
) -> Result<(Arc<dyn Session>, Capabilities), CloudError> {
    let refused = |cause| CloudError::Refused { provider: name.to_owned(), cause: Box::new(cause) };
    let provider = running.client();
    let capabilities = provider.info().await.map_err(refused)?.capabilities;
    if needs.instances && !capabilities.instances {
        return Err(CloudError::NoInstances(name.to_owned()));
    }
    // The operator who starts the controller has written the file.
    let from_caller = configuration.config.keys().cloned().collect();
    let config = Value::from_json(&serde_json::Value::Object(configuration.config));
    let problems = provider.validate_config(&config).await.map_err(refused)?;
    if !problems.is_empty() {
        return Err(CloudError::Invalid { provider: name.to_owned(), problems: problems.join("; ") });
    }
    let request = SessionRequest { config, region: configuration.region, offline: false };
    let writes = needs.load_balancers && capabilities.load_balancers || needs.routes && capabilities.routes;
    let terms = Terms { read_only: !writes, from_caller, networks: Vec::new() };
    Ok((provider.open_session_on(request, terms).await.map_err(refused)?, capabilities))
}

fn read(path: &Path) -> Result<Configuration, CloudError> {
    let shown = || path.display().to_string();
    let text = file::read_given_text(path, size::CONFIGURATION)
        .map_err(|cause| CloudError::Unreadable { path: shown(), cause })?;
    serde_yaml::from_str(&text).map_err(|cause| CloudError::Malformed { path: shown(), cause })
}

/// The controllers' view of the cloud.
#[derive(Clone)]
pub(crate) struct Cloud {
    session: Arc<dyn Session>,
    cluster: String,
    metrics: Metrics,
    /// The fence of the leader; `None` without election.
    fence: Option<Fence>,
}

impl Cloud {
    /// The same for a leader: it changes nothing in the cloud once its lease may be lost.
    pub(crate) fn inside(&self, fence: Fence) -> Self {
        Self { fence: Some(fence), ..self.clone() }
    }

    /// The instances behind nodes; one answer for each query, in their order. A failure is logged and counted.
    pub(crate) async fn instances(
        &self,
        queries: Vec<InstanceQuery>,
    ) -> Result<Vec<InstanceAnswer>, ProviderError> {
        let (cluster, asked) = (self.cluster.clone(), queries.len());
        let call = self.session.instances(InstancesRequest { cluster, queries });
        let answers = self.counted("Instances", call).await;
        if let Err(error) = &answers {
            tracing::warn!(nodes = asked, %error, "the provider does not tell the instances of nodes");
        }
        answers
    }

    /// The name of the cluster, as its instances carry it.
    pub(crate) fn cluster(&self) -> &str {
        &self.cluster
    }

    /// Waits for the answer to a call, and counts it.
    async fn counted<T>(
        &self,
        call: &str,
        answer: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        let begun = Instant::now();
        let answer = answer.await;
        let request = [("request", call.to_owned())];
        self.metrics.request_duration.get_or_create(&request).observe(begun.elapsed().as_secs_f64());
        if answer.is_err() {
            self.metrics.request_errors.get_or_create(&request).inc();
        }
        let outcome = answer.as_ref().map_or_else(|error| error.class.name().to_owned(), |_| "ok".to_owned());
        let labels = [("call", call.to_owned()), ("outcome", outcome)];
        self.metrics.calls.get_or_create(&labels).inc();
        answer
    }
}
