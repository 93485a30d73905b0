//! The settings of `node init`, `node join` and `node reset`, by the names of kubeadm's flags.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Source of the settings.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SourceArguments {
    /// Configuration file: documents of kubeadm (v1beta3, v1beta4). Options override it.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
}

/// Options of every bootstrap.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct NodeSettingsArguments {
    /// Address that the API server of this machine advertises; by default that of the default route.
    #[arg(long, value_name = "ADDRESS")]
    pub apiserver_advertise_address: Option<IpAddr>,
    /// Port of the API server of this machine.
    #[arg(long, value_name = "PORT")]
    pub apiserver_bind_port: Option<u16>,
    /// Key that encrypts uploaded certificates: 64 hexadecimal digits.
    #[arg(long, value_name = "KEY", env = "SLIPWAY_CERTIFICATE_KEY", hide_env_values = true)]
    pub certificate_key: Option<String>,
    /// Socket of the container runtime.
    #[arg(long, value_name = "URL")]
    pub cri_socket: Option<String>,
    /// Name of the node; by default the hostname.
    #[arg(long, value_name = "NAME")]
    pub node_name: Option<String>,
    /// Folder with patches, such as kube-apiserver0+merge.yaml.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub patches: Option<PathBuf>,
    /// Bootstrap token, such as abcdef.0123456789abcdef.
    #[arg(long, value_name = "TOKEN", env = "SLIPWAY_BOOTSTRAP_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
}

/// Options of `node init`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct InitSettings {
    #[command(flatten)]
    pub node: NodeSettingsArguments,
    /// Additional names and addresses in the certificate of the API server.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub apiserver_cert_extra_sans: Vec<String>,
    /// Folder of keys and certificates.
    #[arg(long, value_name = "FOLDER")]
    pub cert_dir: Option<String>,
    /// Stable address of the API, such as api.example.com:6443.
    #[arg(long, value_name = "HOST[:PORT]")]
    pub control_plane_endpoint: Option<String>,
    /// Feature gates of kubeadm, such as Name=true.
    #[arg(long, value_name = "GATES", value_delimiter = ',')]
    pub feature_gates: Vec<String>,
    /// Registry of the control plane images.
    #[arg(long, value_name = "REGISTRY")]
    pub image_repository: Option<String>,
    /// Version of the control plane, such as 1.34.4.
    #[arg(long, value_name = "VERSION")]
    pub kubernetes_version: Option<String>,
    /// Address range of pods.
    #[arg(long, value_name = "CIDR")]
    pub pod_network_cidr: Option<String>,
    /// Address range of Services.
    #[arg(long, value_name = "CIDR")]
    pub service_cidr: Option<String>,
    /// DNS domain of Services.
    #[arg(long, value_name = "DOMAIN")]
    pub service_dns_domain: Option<String>,
    /// Do not print the key that encrypts uploaded certificates.
    #[arg(long)]
    pub skip_certificate_key_print: bool,
    /// Do not print the bootstrap token.
    #[arg(long)]
    pub skip_token_print: bool,
    /// Lifetime of the bootstrap token, such as 24h; 0 means that it never expires.
    #[arg(long, value_name = "DURATION")]
    pub token_ttl: Option<String>,
    /// Upload the shared certificates, encrypted, for control planes that join within two hours.
    #[arg(long)]
    pub upload_certs: bool,
}

/// Options of `node join`, with the address of an API server.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct JoinSettings {
    /// Address of an API server of the cluster, such as 10.0.0.1:6443.
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
    /// Join as an additional control plane.
    #[arg(long)]
    pub control_plane: bool,
    /// Kubeconfig that establishes trust in the cluster: a file or an https URL.
    #[arg(long, value_name = "FILE|URL")]
    pub discovery_file: Option<String>,
    /// Token that establishes trust in the cluster, instead of --token.
    #[arg(long, value_name = "TOKEN")]
    pub discovery_token: Option<String>,
    /// Pins of the cluster CA's public key, such as sha256:<hex>; one of them must match.
    #[arg(long, value_name = "HASHES", value_delimiter = ',')]
    pub discovery_token_ca_cert_hash: Vec<String>,
    /// Trust any CA that the signature of the token covers, without a pin.
    #[arg(long)]
    pub discovery_token_unsafe_skip_ca_verification: bool,
    /// Token that the kubelet requests its certificate with, instead of --token.
    #[arg(long, value_name = "TOKEN")]
    pub tls_bootstrap_token: Option<String>,
}

/// Options of `node reset`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ResetSettings {
    /// Folder of keys and certificates.
    #[arg(long, value_name = "FOLDER")]
    pub cert_dir: Option<String>,
    /// Delete /etc/kubernetes/tmp as well.
    #[arg(long)]
    pub cleanup_tmp_dir: bool,
    /// Socket of the container runtime.
    #[arg(long, value_name = "URL")]
    pub cri_socket: Option<String>,
    /// Do not ask for a confirmation.
    #[arg(short, long)]
    pub yes: bool,
    /// Confirm by name that the keys and the data on this machine are lost: `--confirm node`.
    ///
    /// The plan says whether it needs this name. `--yes` does not confirm it.
    #[arg(long, value_name = "NAME")]
    pub confirm: Vec<String>,
    /// Do not ask for anything, as with kubeadm: the same as `--yes --confirm node`.
    ///
    /// kubeadm's short form `-f` is not supported: `-f` names spec files.
    #[arg(long)]
    pub force: bool,
    /// Kubeconfig that may delete the Node object; needed on a machine that is not a control plane.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub kubeconfig: Option<PathBuf>,
    /// Continue if the API of the cluster does not answer. The Node object and the etcd member then have to be removed on
    /// another control plane.
    #[arg(long)]
    pub offline: bool,
}
