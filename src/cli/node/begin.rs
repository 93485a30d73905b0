//! The settings of `node init`, `node join` and `node reset`, by the names of kubeadm's flags.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Where the settings come from.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SourceArguments {
    /// The configuration: kubeadm's documents (v1beta3, v1beta4). Options win over what it says.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
}

/// Options of every bootstrap.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct NodeSettingsArguments {
    /// The address that this machine's API server advertises; that of the default route without.
    #[arg(long, value_name = "ADDRESS")]
    pub apiserver_advertise_address: Option<IpAddr>,
    /// The port of this machine's API server.
    #[arg(long, value_name = "PORT")]
    pub apiserver_bind_port: Option<u16>,
    /// The key under which shared certificates are uploaded or were, 64 hexadecimal digits.
    #[arg(long, value_name = "KEY", env = "SLIPWAY_CERTIFICATE_KEY", hide_env_values = true)]
    pub certificate_key: Option<String>,
    /// The socket of the container runtime.
    #[arg(long, value_name = "URL")]
    pub cri_socket: Option<String>,
    /// The node's name; the host's name without.
    #[arg(long, value_name = "NAME")]
    pub node_name: Option<String>,
    /// A folder of patches for what is written, as kube-apiserver0+merge.yaml.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub patches: Option<PathBuf>,
    /// A bootstrap token, as abcdef.0123456789abcdef.
    #[arg(long, value_name = "TOKEN", env = "SLIPWAY_BOOTSTRAP_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
}

/// Options of `node init`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct InitSettings {
    #[command(flatten)]
    pub node: NodeSettingsArguments,
    /// Further names and addresses in the API server's certificate.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub apiserver_cert_extra_sans: Vec<String>,
    /// The folder of keys and certificates.
    #[arg(long, value_name = "FOLDER")]
    pub cert_dir: Option<String>,
    /// A stable address of the API, as api.example.com:6443.
    #[arg(long, value_name = "HOST[:PORT]")]
    pub control_plane_endpoint: Option<String>,
    /// Feature gates of kubeadm, as Name=true.
    #[arg(long, value_name = "GATES", value_delimiter = ',')]
    pub feature_gates: Vec<String>,
    /// The registry of the control plane's images.
    #[arg(long, value_name = "REGISTRY")]
    pub image_repository: Option<String>,
    /// The version of the control plane, as 1.34.4.
    #[arg(long, value_name = "VERSION")]
    pub kubernetes_version: Option<String>,
    /// The range of pods' addresses.
    #[arg(long, value_name = "CIDR")]
    pub pod_network_cidr: Option<String>,
    /// The range of services' addresses.
    #[arg(long, value_name = "CIDR")]
    pub service_cidr: Option<String>,
    /// The domain of services' names.
    #[arg(long, value_name = "DOMAIN")]
    pub service_dns_domain: Option<String>,
    /// Do not print the key of uploaded certificates.
    #[arg(long)]
    pub skip_certificate_key_print: bool,
    /// Do not print the bootstrap token.
    #[arg(long)]
    pub skip_token_print: bool,
    /// How long the bootstrap token lives, as 24h; 0 for ever.
    #[arg(long, value_name = "DURATION")]
    pub token_ttl: Option<String>,
    /// Upload the shared certificates, encrypted, for control planes that join within two hours.
    #[arg(long)]
    pub upload_certs: bool,
}

/// Options of `node join`, with the API server to ask.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct JoinSettings {
    /// An API server of the cluster, as 10.0.0.1:6443.
    #[arg(value_name = "HOST:PORT")]
    pub api_server: Option<String>,
    #[command(flatten)]
    pub options: JoinOptions,
}

/// Options of `node join`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct JoinOptions {
    #[command(flatten)]
    pub node: NodeSettingsArguments,
    /// Become a further control plane.
    #[arg(long)]
    pub control_plane: bool,
    /// A kubeconfig by which to trust the cluster: a file, or an https URL.
    #[arg(long, value_name = "FILE|URL")]
    pub discovery_file: Option<String>,
    /// The token by which to trust the cluster, instead of --token.
    #[arg(long, value_name = "TOKEN")]
    pub discovery_token: Option<String>,
    /// Pins of the cluster CA's public key, as sha256:<hex>; one has to fit.
    #[arg(long, value_name = "HASHES", value_delimiter = ',')]
    pub discovery_token_ca_cert_hash: Vec<String>,
    /// Trust any CA that the token's signature covers, without a pin.
    #[arg(long)]
    pub discovery_token_unsafe_skip_ca_verification: bool,
    /// The token with which the kubelet asks for its certificate, instead of --token.
    #[arg(long, value_name = "TOKEN")]
    pub tls_bootstrap_token: Option<String>,
}

/// Options of `node reset`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ResetSettings {
    /// The folder of keys and certificates.
    #[arg(long, value_name = "FOLDER")]
    pub cert_dir: Option<String>,
    /// Remove /etc/kubernetes/tmp too.
    #[arg(long)]
    pub cleanup_tmp_dir: bool,
    /// The socket of the container runtime.
    #[arg(long, value_name = "URL")]
    pub cri_socket: Option<String>,
    /// Do not ask.
    #[arg(short, long, visible_alias = "yes", short_alias = 'y')]
    pub force: bool,
    /// A kubeconfig that may remove the Node, for a machine that is no control plane.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub kubeconfig: Option<PathBuf>,
    /// Go on when the cluster's API does not answer: the node's part of the cluster then has to be removed from another
    /// control plane.
    #[arg(long)]
    pub offline: bool,
}
