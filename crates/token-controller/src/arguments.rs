//! The arguments.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand};
use slipway_controller::{Terms, time_span};

/// The image that a build of this version has by default.
const IMAGE: &str = concat!("slipway-token-controller:", env!("CARGO_PKG_VERSION"));

/// Bootstrap tokens for clusters whose kube-controller-manager runs without `bootstrapsigner` and `tokencleaner`.
#[derive(Debug, Parser)]
#[command(name = "slipway-token-controller", version)]
pub struct Arguments {
    /// What to run.
    #[command(subcommand)]
    pub command: Command,
}

/// What to run.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Sign `cluster-info` with the tokens of the cluster, and delete tokens that have expired.
    Controller(ControllerArguments),
    /// Write the manifest that installs the controller: account, rights and Deployment.
    Manifest(ManifestArguments),
}

/// The settings of the controller.
#[derive(Args, Clone, Debug)]
pub struct ControllerArguments {
    /// Kubeconfig. Without it, the service account of the pod is used.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Elect a leader among the replicas. Without election, only one replica may run.
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
    /// Address of the endpoints /healthz, /readyz and /metrics, which are served over plain HTTP.
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub bind_address: IpAddr,
    /// Port of these endpoints; 0 takes a free one, which is logged.
    #[arg(long, default_value_t = 8080, value_name = "PORT")]
    pub port: u16,
}

impl ControllerArguments {
    /// The times of the election.
    #[must_use]
    pub const fn terms(&self) -> Terms {
        Terms {
            lease_duration: self.leader_elect_lease_duration,
            renew_deadline: self.leader_elect_renew_deadline,
            retry_period: self.leader_elect_retry_period,
        }
    }
}

/// The settings of the manifest.
#[derive(Args, Debug)]
pub struct ManifestArguments {
    /// Image of the controller, with `slipway-token-controller` in its PATH.
    #[arg(long, value_name = "IMAGE", default_value = IMAGE)]
    pub image: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_election_has_the_defaults_of_kubernetes() {
        let arguments = Arguments::try_parse_from(["slipway-token-controller", "controller"]).unwrap();
        let Command::Controller(controller) = arguments.command else { panic!("another command") };
        assert_eq!(controller.terms(), Terms::default());
        assert!(controller.leader_elect && controller.kubeconfig.is_none());
    }
}
