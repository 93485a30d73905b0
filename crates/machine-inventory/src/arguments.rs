//! The arguments. Flags that managers of Cluster API's providers have keep their names.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand};
use slipway_controller::{Terms, TermsError, time_span};

/// Cluster API infrastructure provider over an inventory of registered hosts.
#[derive(Clone, Debug, Parser)]
#[command(name = "slipway-machine-inventory", version)]
pub struct Arguments {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Run the controllers and the registration API in a management cluster.
    Manager(Box<ManagerArguments>),
    /// Print the objects that install the provider, or write the folder that clusterctl reads.
    Manifest(ManifestArguments),
    /// Run the agent of a host: register it, bootstrap it, reset it.
    Agent(AgentArguments),
}

/// Arguments of the manager.
#[derive(Args, Clone, Debug)]
pub struct ManagerArguments {
    /// Namespace to watch. Without it, all namespaces are watched.
    #[arg(long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Reconcile only ElementalClusters and ElementalMachines with this value of the label
    /// `cluster.x-k8s.io/watch-filter`. Hosts and registrations are reconciled always.
    #[arg(long, value_name = "VALUE")]
    pub watch_filter: Option<String>,
    /// Kubeconfig of the management cluster. Without it, the service account of the pod is used.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// URL of the registration API as hosts reach it, without a path: `https://inventory.example.com`.
    #[arg(long, value_name = "URL")]
    pub api_url: Option<String>,
    /// Address and port of the registration API; port 0 takes a free one, which is logged.
    #[arg(long, default_value = "0.0.0.0:9090", value_name = "ADDRESS")]
    pub api_address: SocketAddr,
    /// Certificate chain of the registration API, in PEM. A file that has changed is read again.
    #[arg(long, requires = "api_key_file", value_name = "FILE")]
    pub api_cert_file: Option<PathBuf>,
    /// Private key of that certificate, in PEM.
    #[arg(long, requires = "api_cert_file", value_name = "FILE")]
    pub api_key_file: Option<PathBuf>,
    /// Certificate of the authority that hosts trust, in PEM. It is written into registrations without one.
    #[arg(long, value_name = "FILE")]
    pub api_ca_file: Option<PathBuf>,
    /// Serve the registration API over plain HTTP. Bootstrap data is secret: use it behind a proxy with TLS only.
    #[arg(long, conflicts_with = "api_cert_file")]
    pub insecure_allow_http: bool,
    /// Elect a leader among the replicas.
    #[arg(long, default_value_t = true, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_name = "BOOL")]
    pub leader_elect: bool,
    /// Time that other replicas wait for a leader that does not renew its Lease.
    #[arg(long, default_value = "15s", value_parser = time_span, value_name = "DURATION")]
    pub leader_elect_lease_duration: Duration,
    /// Time after which a leader that cannot renew its Lease gives up.
    #[arg(long, default_value = "10s", value_parser = time_span, value_name = "DURATION")]
    pub leader_elect_renew_deadline: Duration,
    /// Time between two attempts to acquire or renew the Lease.
    #[arg(long, default_value = "2s", value_parser = time_span, value_name = "DURATION")]
    pub leader_elect_retry_period: Duration,
    /// Name of the Lease.
    #[arg(long, default_value = "slipway-machine-inventory", value_name = "NAME")]
    pub leader_elect_resource_name: String,
    /// Namespace of the Lease.
    #[arg(long, default_value = crate::manifest::NAMESPACE, value_name = "NAME")]
    pub leader_elect_resource_namespace: String,
    /// Address of the endpoints /healthz, /readyz and /metrics, which are served over plain HTTP.
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub bind_address: IpAddr,
    /// Port of these endpoints; 0 takes a free one, which is logged.
    #[arg(long, default_value_t = 8081, value_name = "PORT")]
    pub port: u16,
}

/// Arguments of `manifest`.
#[derive(Args, Clone, Debug)]
pub struct ManifestArguments {
    /// Image with the executable.
    #[arg(long, value_name = "IMAGE")]
    pub image: String,
    /// URL of the registration API as hosts reach it, without a path.
    #[arg(long, value_name = "URL")]
    pub api_url: Option<String>,
    /// Add a Certificate and an Issuer of cert-manager for the registration API. Without them, create the Secret
    /// `slipway-machine-inventory-tls` with `tls.crt`, `tls.key` and `ca.crt`.
    #[arg(long)]
    pub cert_manager: bool,
    /// Write the repository that clusterctl reads into this folder, `<folder>/infrastructure-elemental/v<version>/`, and
    /// print the configuration of clusterctl. It uses cert-manager, as clusterctl does.
    #[arg(long, value_name = "FOLDER", conflicts_with = "cert_manager")]
    pub clusterctl: Option<PathBuf>,
}

/// Arguments of the agent.
#[derive(Args, Clone, Debug)]
pub struct AgentArguments {
    /// Configuration of the agent.
    #[arg(long, default_value = "/etc/slipway/machine-inventory-agent.yaml", value_name = "FILE")]
    pub config: PathBuf,
    /// Phase to run and to end after. Without it, the agent registers and then works until it is stopped.
    #[arg(long, value_enum, value_name = "PHASE")]
    pub phase: Option<AgentPhase>,
}

/// A phase of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum AgentPhase {
    /// Register the host, and report its addresses.
    Register,
    /// Wait for the bootstrap data, and run it.
    Bootstrap,
    /// Reset the host if the controller asks for it.
    Reset,
}

impl ManagerArguments {
    /// The times of the election.
    ///
    /// # Errors
    /// When they do not fit to each other.
    pub fn terms(&self) -> Result<Terms, TermsError> {
        Terms {
            lease_duration: self.leader_elect_lease_duration,
            renew_deadline: self.leader_elect_renew_deadline,
            retry_period: self.leader_elect_retry_period,
        }
        .check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_needs_its_key_and_excludes_plain_http() {
        let parse = |more: &[&str]| {
            Arguments::try_parse_from(["slipway-machine-inventory", "manager"].iter().chain(more))
        };
        assert!(parse(&[]).is_ok());
        assert!(parse(&["--api-cert-file=a"]).is_err());
        assert!(parse(&["--api-cert-file=a", "--api-key-file=b"]).is_ok());
        assert!(parse(&["--api-cert-file=a", "--api-key-file=b", "--insecure-allow-http"]).is_err());
        assert!(parse(&["--leader-elect-retry-period=0s"]).is_err());
        let Command::Manager(defaults) = parse(&[]).unwrap().command else { panic!("another command") };
        assert_eq!(defaults.terms().unwrap(), Terms::default());
    }
}
