//! The connection to the API server, and calls that end.

use std::fmt::Debug;
use std::time::Duration;

use serde::de::DeserializeOwned;
use slipway_controller::kube::api::{Api, DeleteParams, Preconditions};
use slipway_controller::kube::{self, Client, Resource};
use slipway_controller::{Events, connect};
use slipway_resource::with_causes;
use slipway_state_store::Error as StoreError;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::MANAGER;
use crate::configuration::KubernetesSettings;
use crate::shared::Shared;

/// How long one request may take.
pub(super) const REQUEST: Duration = Duration::from_secs(10);

/// The connection to the API server.
pub(super) struct Connection {
    pub shared: Shared,
    pub client: Client,
    /// The namespace of all objects.
    pub namespace: String,
    /// The identity of this replica.
    pub replica: String,
    pub events: Events,
}

/// Why an object was not read or written.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The API server refused, or cannot be reached.
    #[error("{}", explained(.0))]
    Api(#[from] kube::Error),
    /// The API server gave no answer in time.
    #[error("the API server did not answer in time")]
    Silent,
    /// Others change the object all the time.
    #[error("the object is changed by others all the time")]
    Changed,
    /// A stored plan cannot be read.
    #[error("the plan cannot be read: {0}")]
    Plan(String),
    /// The state store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Failure {
    /// Whether other requests would fail too.
    pub fn is_general(&self) -> bool {
        match self {
            Self::Api(kube::Error::Api(status)) => {
                matches!(status.code, 401 | 403 | 404 | 429) || status.code >= 500
            }
            Self::Changed | Self::Plan(_) => false,
            Self::Api(_) | Self::Silent | Self::Store(_) => true,
        }
    }
}

/// The message of an answer of the API without its Rust form.
fn explained(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => with_causes(other),
    }
}

impl Connection {
    /// Makes a client. Without a service account or a kubeconfig that can be used, attempts are repeated with growing waits. `None`
    /// if the stop came first.
    pub async fn open(
        shared: &Shared,
        settings: &KubernetesSettings,
        replica: &str,
        stop: &CancellationToken,
    ) -> Option<Self> {
        let mut failures = 0_u32;
        let client = loop {
            let error = match connect(settings.kubeconfig.as_deref()).await {
                Ok(client) => break client,
                Err(error) => error,
            };
            if failures == 0 {
                tracing::warn!(error = %with_causes(&error), "objects in Kubernetes are neither written nor served");
            }
            failures = failures.saturating_add(1);
            let wait = shared.configuration.retry.wait(failures, "kubernetes");
            tokio::select! {
                () = stop.cancelled() => return None,
                () = sleep(wait) => {}
            }
        };
        let events = Events::of(&client, MANAGER, replica);
        Some(Self {
            shared: shared.clone(),
            client,
            namespace: settings.namespace.clone(),
            replica: replica.to_owned(),
            events,
        })
    }
}

/// The answer to a request.
///
/// # Errors
/// When it is refused, or does not come in time.
pub(super) async fn answered<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, Failure> {
    match timeout(REQUEST, request).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(Failure::Silent),
    }
}

/// Deletes an object, if it is still the one that was read.
///
/// # Errors
/// As [`answered`].
pub(super) async fn delete<K>(api: &Api<K>, object: &K) -> Result<(), Failure>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let meta = object.meta();
    let preconditions = Preconditions { uid: meta.uid.clone(), resource_version: None };
    let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    match answered(api.delete(meta.name.as_deref().unwrap_or_default(), &parameters)).await {
        // It is gone, or another one has its name.
        Err(Failure::Api(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => Ok(()),
        other => other.map(drop),
    }
}
