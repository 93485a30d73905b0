//! The objects of a controller in a Kubernetes cluster.

use std::net::SocketAddr;
use std::path::PathBuf;

use reqwest::Url;
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
    /// How plans that wait are offered as artifacts of Flux; without it they are not.
    pub plans: Option<PlanSettings>,
}

/// Plans as artifacts of Flux: `ExternalArtifact` objects in the namespace, whose archives the controller serves.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PlanSettings {
    /// Where the archives are served.
    pub listen: SocketAddr,
    /// The URL of this address for consumers, without a path.
    pub url: String,
}

impl KubernetesSettings {
    /// Why the table cannot be used; `None` if it can.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let is_namespace = self.namespace.len() <= 63 && is_label(&self.namespace);
        if !is_namespace {
            return Some("`namespace` is not the name of a namespace");
        }
        let is_usable = self.plans.as_ref().is_none_or(|plans| is_origin(&plans.url));
        (!is_usable).then_some("`plans.url` is a URL with `http://` or `https://`, and without a path")
    }
}

/// Whether a text is a URL with a host, and perhaps a port, and nothing else.
fn is_origin(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && is_bare
        && url.username().is_empty()
        && url.password().is_none()
}

fn usual_namespace() -> String {
    "slipway".to_owned()
}
