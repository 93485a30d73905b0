//! Arguments. Where `etcd grpc-proxy start` has the same flag, it has the same name.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use slipway_etcd_storage::proxy::{CoreSettings, Limits, Settings, Tenant, TlsFiles};

mod controller;

use controller::Controller;
pub use controller::ManifestArguments;

/// How often certificates are read again.
const RELOAD_EVERY: Duration = Duration::from_secs(5);

/// Shares one etcd between aggregated API servers.
#[derive(Debug, Parser)]
#[command(name = "slipway-etcd-storage", version)]
pub struct Arguments {
    /// What to run.
    #[command(subcommand)]
    pub command: Command,
}

/// What to run.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve etcd's API for one tenant, in front of an etcd that many tenants share.
    Proxy(Box<Proxy>),
    /// Run a proxy for every EtcdStorage of a cluster, and keep its certificates valid.
    Controller(Box<Controller>),
    /// Write the manifest that installs the controller: namespace, rights, CustomResourceDefinition and Deployment.
    Manifest(Box<ManifestArguments>),
}

/// The settings of a proxy.
#[derive(Args, Debug)]
pub struct Proxy {
    /// The name of the tenant. Its keys are stored below `/NAME/` in the core etcd.
    #[arg(long, value_name = "NAME")]
    tenant: Tenant,
    /// Take over keys below `/NAME/` that another program wrote, such as `etcd grpc-proxy --namespace=/NAME/`.
    #[arg(long)]
    adopt: bool,
    /// URLs of the core etcd, separated by commas: https://HOST:PORT.
    #[arg(long, value_name = "URL", value_delimiter = ',', required = true)]
    endpoints: Vec<String>,
    /// Authorities of the core etcd's certificate, in PEM.
    #[arg(long, value_name = "FILE")]
    cacert: PathBuf,
    /// Client certificate for the core etcd, in PEM.
    #[arg(long, value_name = "FILE")]
    cert: PathBuf,
    /// Key of the client certificate.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Address that the proxy listens at.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:2379")]
    listen_addr: SocketAddr,
    /// URL of the proxy that clients find with `MemberList`. Without it, `MemberList` is refused.
    #[arg(long, value_name = "URL")]
    advertise_client_url: Option<String>,
    /// Authorities whose client certificates give access to the tenant, in PEM.
    #[arg(long, value_name = "FILE")]
    trusted_ca_file: PathBuf,
    /// Certificate of the proxy, in PEM.
    #[arg(long, value_name = "FILE")]
    cert_file: PathBuf,
    /// Key of the proxy's certificate.
    #[arg(long, value_name = "FILE")]
    key_file: PathBuf,
    #[command(flatten)]
    limits: LimitArguments,
}

/// What the tenant may use.
#[derive(Args, Debug)]
struct LimitArguments {
    /// Most keys that the tenant may have [default: unlimited].
    #[arg(long, value_name = "COUNT")]
    max_keys: Option<u64>,
    /// Most bytes of keys and their newest values that the tenant may have [default: unlimited].
    #[arg(long, value_name = "BYTES")]
    max_bytes: Option<u64>,
    /// Most requests in a second, for each replica of the proxy [default: unlimited].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_requests_per_second: Option<u32>,
    /// Largest write, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().request_bytes)]
    max_request_bytes: usize,
    /// Most streams of watches and of leases that are kept alive, for each replica.
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().streams)]
    max_streams: usize,
    /// Most watches, for each replica.
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().watches)]
    max_watches: usize,
    /// Most connections, for each replica.
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().connections)]
    max_connections: usize,
}

impl Proxy {
    /// The settings.
    pub fn settings(self) -> Settings {
        let core = TlsFiles { authorities: self.cacert, certificate: self.cert, key: self.key };
        Settings {
            tenant: self.tenant,
            adopt: self.adopt,
            listen: self.listen_addr,
            serving: TlsFiles {
                authorities: self.trusted_ca_file,
                certificate: self.cert_file,
                key: self.key_file,
            },
            advertise: self.advertise_client_url,
            core: CoreSettings { endpoints: self.endpoints, files: core },
            limits: Limits {
                keys: self.limits.max_keys,
                bytes: self.limits.max_bytes,
                requests_per_second: self.limits.max_requests_per_second,
                request_bytes: self.limits.max_request_bytes,
                streams: self.limits.max_streams,
                watches: self.limits.max_watches,
                connections: self.limits.max_connections,
            },
            reload_every: RELOAD_EVERY,
        }
    }
}
