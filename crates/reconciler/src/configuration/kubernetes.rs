//! The objects of a controller in a Kubernetes cluster.

use std::path::PathBuf;

use serde::Deserialize;

use super::flux::is_label;

/// Where the objects of the controller are: `ManagedCluster`, which it writes, and `PlanRequest`, which it serves.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct KubernetesSettings {
    /// Their namespace. No other controller has its objects in it.
    #[serde(default = "usual_namespace")]
    pub namespace: String,
    /// The kubeconfig of the cluster; without it the service account of the controller's pod is used.
    pub kubeconfig: Option<PathBuf>,
}

impl KubernetesSettings {
    /// Why the table cannot be used; `None` if it can.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let is_namespace = self.namespace.len() <= 63 && is_label(&self.namespace);
        (!is_namespace).then_some("`namespace` is not the name of a namespace")
    }
}

fn usual_namespace() -> String {
    "slipway".to_owned()
}
