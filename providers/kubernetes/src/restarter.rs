//! Restarts of what runs in a cluster, outside of plans.

use std::sync::Arc;

use serde_json::json;
use slipway_resource::ProviderError;

use crate::access::SecretKubeconfig;
use crate::api::{Connector, Request};
use crate::reader::Given;

/// The annotation by which kubectl starts pods again (`kubectl rollout restart`).
const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

/// Restarts workloads of one cluster.
pub struct Restarter {
    connector: Connector,
}

impl Restarter {
    /// A restarter with a kubeconfig. No request is sent yet.
    #[must_use]
    pub fn new(kubeconfig: SecretKubeconfig) -> Self {
        Self { connector: Connector::new(Arc::new(Given(kubeconfig))) }
    }

    /// Has a Deployment, DaemonSet or StatefulSet at a path start its pods again, by its own rollout. `at` is the time, in the form
    /// of RFC 3339.
    ///
    /// # Errors
    /// When there is no answer, or a refusal.
    pub async fn restart(&self, path: &str, at: &str) -> Result<(), ProviderError> {
        let annotations = json!({ RESTARTED_AT: at });
        let patch = json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
        self.connector.required().await?.send(&Request::merge(path, &patch)).await?.body().map(drop)
    }
}
