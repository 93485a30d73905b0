//! The settings of the controller.

use std::net::SocketAddr;
use std::path::PathBuf;

use slipway_controller::Terms;

/// The settings of the controller.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The namespace of the proxies, and of the controller's Lease.
    pub namespace: String,
    /// URLs of the core etcd.
    pub core_urls: Vec<String>,
    /// The ConfigMap in the namespace with the core's authorities, as `ca.crt`.
    pub core_ca_config_map: String,
    /// The Secret in the namespace with the proxies' client certificate for the core, as `tls.crt` and `tls.key`.
    pub core_certs_secret: String,
    /// The image of the proxies. `slipway-etcd-storage` is in its `PATH`.
    pub proxy_image: String,
    /// The service account of the proxies; that of the namespace if absent.
    pub proxy_service_account: Option<String>,
    /// The domain of the cluster's services.
    pub cluster_domain: String,
    /// The kubeconfig. Without it, the service account of the pod is used.
    pub kubeconfig: Option<PathBuf>,
    /// The address of `/healthz`, `/readyz` and `/metrics`.
    pub address: SocketAddr,
    /// Whether a leader is elected among the replicas.
    pub leader_elect: bool,
    /// The times of the election.
    pub terms: Terms,
}
