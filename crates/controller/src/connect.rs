//! The client of a controller.

use std::path::Path;

use slipway_cluster_api::{Client, KubeconfigText, Unusable};
use slipway_limits::{file, size};
use slipway_resource::SecretText;

/// There is no client.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be read.
    #[error("the kubeconfig {path} cannot be read")]
    Unreadable {
        /// Its path.
        path: String,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// The kubeconfig, or the service account, cannot be used.
    #[error("{0}")]
    Unusable(#[from] Unusable),
}

/// The client by a kubeconfig; without one, by the service account of the pod. Nothing is called yet.
///
/// # Errors
/// When the kubeconfig or the service account cannot be read or used.
pub async fn connect(kubeconfig: Option<&Path>) -> Result<kube::Client, ConnectError> {
    let Some(path) = kubeconfig else {
        return Ok(Client::in_cluster()?.typed());
    };
    let text = file::read_given_text(path, size::KUBECONFIG)
        .map_err(|cause| ConnectError::Unreadable { path: path.display().to_string(), cause })?;
    let text = SecretText::new(text);
    let kubeconfig = KubeconfigText { text: &text, context: None, is_callers: true, networks: None };
    Ok(Client::by(&kubeconfig).await?.typed())
}
