//! Arguments of the controller and of its manifest. Those that etcdproxy-controller has keep their names and defaults.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgAction, Args};
use slipway_controller::{Terms, time_span};
use slipway_etcd_storage::controller::Settings;
use slipway_etcd_storage::manifest::Manifest;

/// The image that a build of this version has by default.
const IMAGE: &str = concat!("slipway-etcd-storage:", env!("CARGO_PKG_VERSION"));

/// What the controller and its manifest have in common.
#[derive(Args, Debug)]
struct Common {
    /// ConfigMap in the namespace with the authorities of the core etcd, as `ca.crt`.
    #[arg(long, value_name = "NAME", default_value = "etcd-coreserving-ca", value_parser = NonEmptyStringValueParser::new())]
    etcd_core_ca_configmap: String,
    /// Secret in the namespace with the client certificate for the core etcd, as `tls.crt` and `tls.key`.
    #[arg(
        long,
        visible_alias = "etcd-core-ca-secret",
        value_name = "NAME",
        default_value = "etcd-coreserving-cert",
        value_parser = NonEmptyStringValueParser::new()
    )]
    etcd_core_certs_secret: String,
    /// Namespace of the controller and the proxies.
    #[arg(long, short, value_name = "NAME", default_value = "kube-apiserver-storage", value_parser = NonEmptyStringValueParser::new())]
    namespace: String,
    /// Domain of the cluster's services.
    #[arg(long, value_name = "DOMAIN", default_value = "cluster.local", value_parser = NonEmptyStringValueParser::new())]
    cluster_domain: String,
}

/// The settings of the controller.
#[derive(Args, Debug)]
pub struct Controller {
    /// URLs of the core etcd, separated by commas: https://HOST:PORT.
    #[arg(long, short = 'u', value_name = "URL", value_delimiter = ',', required = true)]
    etcd_core_url: Vec<String>,
    #[command(flatten)]
    common: Common,
    /// Kubeconfig. Without it, the service account of the pod is used.
    #[arg(long, short, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Image of the proxies, with `slipway-etcd-storage` in its PATH.
    #[arg(long, value_name = "IMAGE", default_value = IMAGE)]
    etcd_proxy_image: String,
    /// Service account of the proxies, which need no rights [default: that of the namespace].
    #[arg(long, value_name = "NAME")]
    etcd_proxy_service_account: Option<String>,
    /// Elect a leader among the replicas. Without election, only one replica may run.
    #[arg(long, default_value_t = true, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_name = "BOOL")]
    leader_elect: bool,
    /// Time that other replicas wait for a leader that does not renew its Lease.
    #[arg(long, default_value = "15s", value_parser = time_span, value_name = "DURATION")]
    leader_elect_lease_duration: Duration,
    /// Time after which a leader that cannot renew its Lease gives up.
    #[arg(long, default_value = "10s", value_parser = time_span, value_name = "DURATION")]
    leader_elect_renew_deadline: Duration,
    /// Time between two attempts to acquire or renew the Lease.
    #[arg(long, default_value = "2s", value_parser = time_span, value_name = "DURATION")]
    leader_elect_retry_period: Duration,
    /// Address of the endpoints /healthz, /readyz and /metrics, which are served over plain HTTP.
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    bind_address: IpAddr,
    /// Port of these endpoints; 0 takes a free one, which is logged.
    #[arg(long, default_value_t = 8080, value_name = "PORT")]
    port: u16,
}

impl Controller {
    /// The settings.
    pub fn settings(self) -> Settings {
        Settings {
            namespace: self.common.namespace,
            core_urls: self.etcd_core_url,
            core_ca_config_map: self.common.etcd_core_ca_configmap,
            core_certs_secret: self.common.etcd_core_certs_secret,
            proxy_image: self.etcd_proxy_image,
            proxy_service_account: self.etcd_proxy_service_account,
            cluster_domain: self.common.cluster_domain,
            kubeconfig: self.kubeconfig,
            address: SocketAddr::new(self.bind_address, self.port),
            leader_elect: self.leader_elect,
            terms: Terms {
                lease_duration: self.leader_elect_lease_duration,
                renew_deadline: self.leader_elect_renew_deadline,
                retry_period: self.leader_elect_retry_period,
            },
        }
    }
}

/// The settings of the manifest.
#[derive(Args, Debug)]
pub struct ManifestArguments {
    /// URLs of the core etcd, separated by commas: https://HOST:PORT.
    #[arg(
        long,
        short = 'u',
        value_name = "URL",
        value_delimiter = ',',
        default_value = "https://etcd-svc-1.etcd.svc:2379"
    )]
    etcd_core_url: Vec<String>,
    #[command(flatten)]
    common: Common,
    /// Image of the controller and the proxies, with `slipway-etcd-storage` in its PATH.
    #[arg(long, value_name = "IMAGE", default_value = IMAGE)]
    image: String,
    /// Write the CustomResourceDefinition only, for a controller that runs outside of the cluster.
    #[arg(long)]
    pub crd_only: bool,
}

impl ManifestArguments {
    /// The inputs of the manifest.
    pub fn manifest(self) -> Manifest {
        Manifest {
            namespace: self.common.namespace,
            image: self.image,
            core_urls: self.etcd_core_url,
            core_ca_config_map: self.common.etcd_core_ca_configmap,
            core_certs_secret: self.common.etcd_core_certs_secret,
            cluster_domain: self.common.cluster_domain,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::arguments::{Arguments, Command};

    #[test]
    fn flags_of_etcdproxy_controller_keep_their_names_and_defaults() {
        let settings = |arguments: &[&str]| {
            let all = ["slipway-etcd-storage", "controller"].iter().chain(arguments);
            match Arguments::try_parse_from(all).map(|arguments| arguments.command) {
                Ok(Command::Controller(controller)) => Ok(controller.settings()),
                Ok(_) => panic!("another command"),
                Err(error) => Err(error.to_string()),
            }
        };
        let defaults = settings(&["--etcd-core-url", "https://etcd-svc-1.etcd.svc:2379"]).unwrap();
        assert_eq!(defaults.core_urls, ["https://etcd-svc-1.etcd.svc:2379"]);
        assert_eq!(defaults.namespace, "kube-apiserver-storage");
        assert_eq!(defaults.core_ca_config_map, "etcd-coreserving-ca");
        assert_eq!(defaults.core_certs_secret, "etcd-coreserving-cert");
        assert!(defaults.kubeconfig.is_none());
        let short =
            settings(&["-u", "https://a:1,https://b:2", "-n", "c", "-k", "d", "--etcd-core-ca-secret=e"])
                .unwrap();
        assert_eq!((short.core_urls.len(), &*short.namespace, &*short.core_certs_secret), (2, "c", "e"));
        assert_eq!(short.kubeconfig.unwrap().to_str(), Some("d"));
        assert!(settings(&[]).unwrap_err().contains("--etcd-core-url"));
        assert!(settings(&["-u", "https://a:1", "--namespace="]).is_err());
    }
}
