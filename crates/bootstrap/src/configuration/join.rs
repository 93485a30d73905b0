use serde::{Deserialize, Serialize};
use slipway_resource::Secret;

use super::Endpoint;

/// How a node joins a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Join {
    /// How it finds and comes to trust the cluster.
    pub discovery: Discovery,
    /// The token with which the kubelet asks for its certificate; absent when the discovery file has credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_bootstrap_token: Option<Secret>,
    /// The path of the cluster CA's certificate on the node; `/etc/kubernetes/pki/ca.crt` unless given.
    pub ca_cert_path: String,
    /// Whether it becomes a control plane.
    pub control_plane: bool,
}

/// How a node comes to trust a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Discovery {
    /// By what a shared token signed.
    Token(TokenDiscovery),
    /// By a kubeconfig that the user brought there.
    File(FileDiscovery),
}

/// Trust by what a shared token signed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TokenDiscovery {
    /// The token, as `id.secret`.
    pub token: Secret,
    /// The API server for discovery; it has a port.
    pub api_server_endpoint: Endpoint,
    /// Pins of the CA's public key, `sha256:<hex>`; one has to fit.
    pub ca_cert_hashes: Vec<String>,
    /// Whether any CA is accepted without a pin.
    pub unsafe_skip_ca_verification: bool,
}

/// Trust by a kubeconfig that the user brought there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileDiscovery {
    /// The path of the file, or an `https` URL.
    pub kubeconfig_path: String,
}
