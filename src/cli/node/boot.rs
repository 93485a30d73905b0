use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Arguments of `slipway node boot`.
#[derive(Debug, Args)]
pub(crate) struct BootArguments {
    /// Bootstrap document, which the user data of the machine wrote.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub document: PathBuf,
    /// Digest of the document, such as sha256:…; another document is refused.
    #[arg(long, value_name = "DIGEST")]
    pub digest: String,
    /// Address of the cluster; control planes need it. Without a port, the port of the document is used.
    #[arg(long, value_name = "HOST[:PORT]", env = "SLIPWAY_ENDPOINT")]
    pub endpoint: Option<String>,
    /// Kubeconfig with the CA of the cluster and a bootstrap token, with which a worker joins. The machine waits for it.
    #[arg(long, value_name = "FILE", default_value = "/etc/slipway/credential.conf", value_hint = ValueHint::FilePath)]
    pub credential: PathBuf,
    /// Authorities of the cluster, base64 of PEM. With them, a worker without a kubeconfig asks the control planes for the
    /// credential of its node.
    #[arg(long, value_name = "BASE64", env = "SLIPWAY_AUTHORITY", hide_env_values = true)]
    pub authority: Option<String>,
    /// Provider id of the machine, with which its kubelet registers, such as aws:///us-east-1a/i-0123.
    #[arg(long, value_name = "ID", env = "SLIPWAY_PROVIDER_ID")]
    pub provider_id: Option<String>,
    /// Console on which the machine says what it waits for.
    #[arg(long, value_name = "FILE", default_value = "/dev/console", value_hint = ValueHint::FilePath)]
    pub console: PathBuf,
    /// Boot in this process. Without it, a systemd unit boots the machine now and after each restart.
    #[arg(long)]
    pub foreground: bool,
}

/// Arguments of `slipway node identity`.
#[derive(Debug, Args)]
pub(crate) struct IdentityArguments {
    /// Address and port to listen on.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "[::]:3988")]
    pub listen: std::net::SocketAddr,
}
