//! The arguments. Flags that cloud controller managers of Kubernetes have keep their names and defaults.

mod network;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Parser};
use slipway_controller::{Terms, TermsError, time_span};

pub use network::{CidrAllocator, NetworkArguments};

/// Cloud controller manager for a Slipway provider.
///
/// Initialises nodes that the kubelet registered with `--cloud-provider=external`, refreshes their addresses, and deletes
/// Nodes whose instance does not exist any more. Creates load balancers for Services, and routes to pods.
#[derive(Clone, Debug, Parser)]
#[command(name = "slipway-cloud-controller", version)]
pub struct Arguments {
    /// Name of the provider: `sim` starts `slipway-provider-sim`.
    #[arg(long, value_name = "PROVIDER")]
    pub cloud_provider: String,
    /// YAML file with the `region` and the `config` of the provider, as in `spec.provider` of a cluster.
    #[arg(long, value_name = "FILE")]
    pub cloud_config: Option<PathBuf>,
    /// Lock file that pins the provider. Without it, the provider that is installed is started.
    #[arg(long, value_name = "FILE")]
    pub lock_file: Option<PathBuf>,
    /// Name of the cluster, as its instances carry it.
    #[arg(long, default_value = "kubernetes", value_name = "NAME")]
    pub cluster_name: String,
    /// Kubeconfig. Without it, the service account of the pod is used.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Controllers to run: `*` for all, `NAME` to run one, `-NAME` not to run it. Names: cloud-node-controller,
    /// cloud-node-lifecycle-controller, service-lb-controller, node-route-controller, node-ipam-controller.
    #[arg(
        long,
        default_value = "*",
        value_delimiter = ',',
        allow_hyphen_values = true,
        value_name = "NAMES"
    )]
    pub controllers: Vec<String>,
    /// Time between two refreshes of the addresses of all nodes.
    #[arg(long, default_value = "5m", value_parser = time_span, value_name = "DURATION")]
    pub node_status_update_frequency: Duration,
    /// Time between two looks for nodes that have lost their instance.
    #[arg(long, default_value = "5s", value_parser = time_span, value_name = "DURATION")]
    pub node_monitor_period: Duration,
    /// Number of nodes that are written at the same time.
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    pub concurrent_node_syncs: u16,
    /// Number of Services whose load balancers are worked on at the same time.
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    pub concurrent_service_syncs: u16,
    /// The addresses of pods.
    #[command(flatten)]
    pub network: NetworkArguments,
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
    /// Name of the Lease.
    #[arg(long, default_value = "cloud-controller-manager", value_name = "NAME")]
    pub leader_elect_resource_name: String,
    /// Namespace of the Lease.
    #[arg(long, default_value = "kube-system", value_name = "NAME")]
    pub leader_elect_resource_namespace: String,
    /// Address of the endpoints /healthz, /readyz and /metrics, which are served over plain HTTP. With `--secure-port`, it is that
    /// of the secure port, and the plain endpoints listen at 127.0.0.1.
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub bind_address: IpAddr,
    /// Port of these endpoints; 0 takes a free one, which is logged.
    #[arg(long, default_value_t = 10258, value_name = "PORT")]
    pub port: u16,
    /// Port at which these endpoints and /configz are served over TLS, for users whose rights the API server confirms; 0 turns it
    /// off. Needs `--tls-cert-file` and `--tls-private-key-file`.
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    pub secure_port: u16,
    /// Certificate of the secure port, in PEM. It is read again when it changes.
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    pub tls_cert_file: Option<PathBuf>,
    /// Key of this certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub tls_private_key_file: Option<PathBuf>,
}

/// A controller of this executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// Initialises nodes and refreshes their addresses.
    Node,
    /// Deletes Nodes without instance, and taints those whose instance is stopped.
    NodeLifecycle,
    /// Creates, changes and deletes load balancers of Services.
    Service,
    /// Creates and deletes routes to the pods of nodes.
    Route,
    /// Gives nodes ranges for their pods.
    NodeIpam,
}

impl Controller {
    const ALL: [Self; 5] = [Self::Node, Self::NodeLifecycle, Self::Service, Self::Route, Self::NodeIpam];

    /// Its name, and the shorter one that older flags use.
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Node => ["cloud-node-controller", "cloud-node"],
            Self::NodeLifecycle => ["cloud-node-lifecycle-controller", "cloud-node-lifecycle"],
            Self::Service => ["service-lb-controller", "service"],
            Self::Route => ["node-route-controller", "route"],
            Self::NodeIpam => ["node-ipam-controller", "nodeipam"],
        }
    }
}

/// `--controllers` names something that is no controller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--controllers: there is no controller {name} (controllers: {known})")]
pub struct UnknownController {
    name: String,
    known: String,
}

impl Arguments {
    /// The controllers to run.
    ///
    /// # Errors
    /// When a name is not known.
    pub fn enabled(&self) -> Result<Vec<Controller>, UnknownController> {
        let all = self.controllers.iter().any(|name| name == "*");
        let mut enabled = if all { Controller::ALL.to_vec() } else { Vec::new() };
        for name in self.controllers.iter().filter(|name| *name != "*") {
            let bare = name.strip_prefix('-').unwrap_or(name);
            let Some(controller) = Controller::ALL.into_iter().find(|one| one.names().contains(&bare)) else {
                let known = Controller::ALL.map(|controller| controller.names()[0]).join(", ");
                return Err(UnknownController { name: bare.to_owned(), known });
            };
            enabled.retain(|one| *one != controller);
            if bare == name {
                enabled.push(controller);
            }
        }
        Ok(enabled)
    }

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

    fn parse(more: &[&str]) -> Arguments {
        let arguments = ["slipway-cloud-controller", "--cloud-provider=sim"];
        Arguments::try_parse_from(arguments.iter().chain(more)).unwrap()
    }

    #[test]
    fn the_defaults_are_those_of_kubernetes() {
        let defaults = parse(&[]);
        assert_eq!(defaults.cluster_name, "kubernetes");
        assert_eq!(defaults.node_status_update_frequency, Duration::from_secs(300));
        assert_eq!(defaults.node_monitor_period, Duration::from_secs(5));
        assert_eq!(defaults.terms().unwrap(), Terms::default());
        assert!(defaults.leader_elect && defaults.port == 10258);
        assert!(
            Arguments::try_parse_from(["slipway-cloud-controller"]).is_err(),
            "the provider must be named"
        );
        assert!(!parse(&["--leader-elect=false"]).leader_elect);
        assert_eq!(parse(&["--node-monitor-period=1m30s"]).node_monitor_period, Duration::from_secs(90));
    }

    #[test]
    fn controllers_are_chosen_by_name() {
        let chosen = |text: &str| parse(&[&format!("--controllers={text}")]).enabled();
        assert_eq!(chosen("*").unwrap(), Controller::ALL);
        assert_eq!(
            chosen("*,-cloud-node-lifecycle,-service,-nodeipam").unwrap(),
            [Controller::Node, Controller::Route]
        );
        assert_eq!(chosen("cloud-node-lifecycle-controller").unwrap(), [Controller::NodeLifecycle]);
        assert_eq!(chosen("-cloud-node").unwrap(), []);
        assert_eq!(chosen("service,route").unwrap(), [Controller::Service, Controller::Route]);
        assert!(chosen("podgc").unwrap_err().to_string().contains("cloud-node-controller"));
    }
}
