//! Arguments of the smaller commands of `slipway node`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::super::ReportFormat;

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Serve one client on standard input and output.
    #[arg(long, conflicts_with = "socket", required_unless_present = "socket")]
    pub stdio: bool,
    /// Serve on this unix socket.
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ApiBalancerArguments {
    /// Settings that `slipway apply` wrote.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/etc/slipway/api-balancer.json",
        value_hint = ValueHint::FilePath
    )]
    pub config: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct VirtualAddressArguments {
    /// Settings that `slipway apply` wrote.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/etc/slipway/virtual-address.json",
        value_hint = ValueHint::FilePath
    )]
    pub config: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ControlPlaneRecoveryArguments {
    /// Settings that `slipway apply` wrote.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/etc/slipway/control-plane-recovery.json",
        value_hint = ValueHint::FilePath
    )]
    pub config: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct EtcdBackupArguments {
    /// Settings that `slipway apply` wrote.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/etc/slipway/etcd-backup.json",
        value_hint = ValueHint::FilePath
    )]
    pub config: PathBuf,
    /// Write this snapshot of the store to the file of `--out`, for `etcdutl snapshot restore`, and end.
    #[arg(long, value_name = "NAME", requires = "out")]
    pub fetch: Option<String>,
    /// File for the snapshot; it must not exist. Only its owner can read it.
    #[arg(long, value_name = "FILE", requires = "fetch", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}

/// Access to the API of the cluster.
#[derive(Clone, Debug, Args)]
pub(crate) struct ApiArguments {
    /// Kubeconfig to use.
    #[arg(long, default_value = "/etc/kubernetes/admin.conf", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub kubeconfig: PathBuf,
}

/// Create, list and delete bootstrap tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token in the cluster.
    Create(TokenCreateArguments),
    /// List the tokens of the cluster.
    List(TokenListArguments),
    /// Delete tokens from the cluster.
    Delete(TokenDeleteArguments),
    /// Approve certificate requests of tokens that are bound to a node, and deny requests of any other node.
    Approve(TokenApproveArguments),
    /// Print a random token. It is not stored.
    Generate,
}

#[derive(Debug, Args)]
pub(crate) struct TokenCreateArguments {
    /// Token, such as abcdef.0123456789abcdef; by default a random one.
    #[arg(value_name = "TOKEN")]
    pub token: Option<String>,
    /// Lifetime of the token, such as 24h0m0s; 0 means that it never expires.
    #[arg(long, default_value = "24h0m0s", value_name = "DURATION")]
    pub ttl: String,
    /// Permitted uses of the token.
    #[arg(long, value_name = "USAGES", value_delimiter = ',', default_value = "signing,authentication")]
    pub usages: Vec<String>,
    /// Bind the token to this node name. The certificate request of the node waits for `--wait` or
    /// `slipway node token approve`.
    #[arg(long, value_name = "NAME", conflicts_with = "groups")]
    pub node: Option<String>,
    /// With --node: the token admits one machine, and is deleted when that machine has joined.
    #[arg(long, requires = "node")]
    pub once: bool,
    /// With --node: wait until the machine has joined, and decide about its certificate request.
    #[arg(long, requires = "node")]
    pub wait: bool,
    /// Groups of users that authenticate with the token.
    #[arg(
        long,
        value_name = "GROUPS",
        value_delimiter = ',',
        default_value = "system:bootstrappers:kubeadm:default-node-token"
    )]
    pub groups: Vec<String>,
    /// Description of the token.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub description: String,
    /// Print the complete command that joins a machine.
    #[arg(long)]
    pub print_join_command: bool,
    /// With --print-join-command: the key that encrypts uploaded certificates, for a control plane that joins.
    #[arg(long, value_name = "KEY", requires = "print_join_command")]
    pub certificate_key: Option<String>,
    #[command(flatten)]
    pub api: ApiArguments,
}

#[derive(Debug, Args)]
pub(crate) struct TokenListArguments {
    /// Format of the list.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
    #[command(flatten)]
    pub api: ApiArguments,
}

#[derive(Debug, Args)]
pub(crate) struct TokenDeleteArguments {
    /// Tokens, or token ids.
    #[arg(required = true, value_name = "TOKEN")]
    pub tokens: Vec<String>,
    #[command(flatten)]
    pub api: ApiArguments,
}

#[derive(Debug, Args)]
pub(crate) struct TokenApproveArguments {
    /// Wait for further requests for this long, such as 10m; 0 waits until interrupted.
    #[arg(long, value_name = "DURATION")]
    pub follow: Option<String>,
    #[command(flatten)]
    pub api: ApiArguments,
}

/// Inspect and renew the certificates of this machine.
#[derive(Debug, Subcommand)]
pub(crate) enum CertificatesCommand {
    /// Show when each certificate expires.
    CheckExpiration(CheckExpirationArguments),
    /// Renew certificates with the same names and lifetime, and restart the components that use them.
    Renew(RenewArguments),
    /// Write keys and certificate requests for an external CA.
    GenerateCsr(GenerateRequestArguments),
    /// Print a random key for the encryption of uploaded certificates.
    CertificateKey,
}

#[derive(Debug, Args)]
pub(crate) struct CheckExpirationArguments {
    /// Folder of keys and certificates.
    #[arg(long, default_value = "/etc/kubernetes/pki", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub cert_dir: PathBuf,
    /// Folder of kubeconfigs.
    #[arg(long, default_value = "/etc/kubernetes", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub kubeconfig_dir: PathBuf,
    /// Root of the machine's file system.
    #[arg(long, default_value = "/", value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub rootfs: PathBuf,
    /// Format of the report.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct RenewArguments {
    /// Certificates to renew: `all`, or names that `slipway node certs check-expiration` lists.
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Root of the machine's file system.
    #[arg(long, default_value = "/", value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub rootfs: PathBuf,
    /// Show the plan and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask for a confirmation.
    #[arg(short, long)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GenerateRequestArguments {
    /// Configuration file: documents of kubeadm.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Folder for keys and certificate requests.
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub cert_dir: Option<PathBuf>,
    /// Folder for kubeconfigs without certificates, and their certificate requests.
    #[arg(long, default_value = "/etc/kubernetes", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub kubeconfig_dir: PathBuf,
    /// Root of the machine's file system.
    #[arg(long, default_value = "/", value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub rootfs: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct KubeconfigArguments {
    /// User name: the common name of the certificate.
    #[arg(long, value_name = "NAME")]
    pub client_name: String,
    /// Groups of the user: the organisations of the certificate.
    #[arg(long, value_name = "GROUPS", value_delimiter = ',')]
    pub org: Vec<String>,
    /// Use this bearer token instead of a certificate.
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    /// Validity of the credentials, such as 8h.
    #[arg(long, default_value = "8h", value_name = "DURATION")]
    pub validity_period: String,
    /// Configuration file: documents of kubeadm; by default the configuration of this machine.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Root of the machine's file system.
    #[arg(long, default_value = "/", value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub rootfs: PathBuf,
}

/// Print, validate and migrate configuration documents; list and pull images.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the defaults of a command.
    Print {
        /// Command whose defaults are printed.
        #[arg(value_enum, default_value_t)]
        which: ConfigDefaults,
        /// Include the documents of these components, such as KubeletConfiguration.
        #[arg(long, value_name = "KINDS", value_delimiter = ',')]
        component_configs: Vec<String>,
    },
    /// Check documents and report every problem.
    Validate {
        /// File with the documents.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        config: PathBuf,
    },
    /// Convert documents of an older version to the newest version.
    Migrate {
        /// File with the existing documents.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        old_config: PathBuf,
        /// File to write; by default standard output.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        new_config: Option<PathBuf>,
    },
    /// List or pull the control plane images.
    #[command(subcommand)]
    Images(ImagesCommand),
}

/// List or pull the control plane images.
#[derive(Debug, Subcommand)]
pub(crate) enum ImagesCommand {
    /// List the images.
    List(ImagesArguments),
    /// Pull the images with the container runtime.
    Pull(ImagesArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ImagesArguments {
    /// Configuration file: documents of kubeadm.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Version of the control plane.
    #[arg(long, value_name = "VERSION")]
    pub kubernetes_version: Option<String>,
    /// Registry of the control plane images.
    #[arg(long, value_name = "REGISTRY")]
    pub image_repository: Option<String>,
    /// Socket of the container runtime.
    #[arg(long, value_name = "URL")]
    pub cri_socket: Option<String>,
}

/// Command whose defaults are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConfigDefaults {
    /// Defaults of `node init`.
    #[default]
    #[value(name = "init-defaults")]
    Init,
    /// Defaults of `node join`.
    #[value(name = "join-defaults")]
    Join,
    /// Defaults of `node reset`.
    #[value(name = "reset-defaults")]
    Reset,
    /// Defaults of `kubeadm upgrade`.
    #[value(name = "upgrade-defaults")]
    Upgrade,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArguments {
    /// Component: `kubelet`, or a control plane component such as `etcd` or `kube-apiserver`.
    #[arg(default_value = "kubelet", value_name = "COMPONENT")]
    pub component: String,
    /// Number of lines, counted from the end.
    #[arg(short = 'n', long, default_value_t = 100, value_name = "LINES")]
    pub tail: usize,
    /// Show new lines as they are written, until the command is interrupted.
    #[arg(short = 'f', long)]
    pub follow: bool,
    /// Root of the machine's file system.
    #[arg(long, default_value = "/", value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub rootfs: PathBuf,
}
