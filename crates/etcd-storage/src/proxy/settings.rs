//! The settings of a proxy.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::tenant::Tenant;

/// The settings of a proxy.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The tenant that it serves.
    pub tenant: Tenant,
    /// Whether keys below the tenant's prefix that another program wrote become the tenant's.
    pub adopt: bool,
    /// The address that it listens at.
    pub listen: SocketAddr,
    /// Its certificate and key, and the authorities whose client certificates the tenant has.
    pub serving: TlsFiles,
    /// The URL that the answer to `MemberList` contains.
    pub advertise: Option<String>,
    /// The etcd behind it.
    pub core: CoreSettings,
    /// The limits of the tenant.
    pub limits: Limits,
    /// How often the files are read again.
    pub reload_every: Duration,
}

/// The etcd that tenants share.
#[derive(Clone, Debug)]
pub struct CoreSettings {
    /// Its URLs, `https://<host>:<port>`. One is used at a time; the next one is used when it does not answer.
    pub endpoints: Vec<String>,
    /// The proxy's client certificate and key, and the core's authorities.
    pub files: TlsFiles,
}

/// Files in PEM. They are read again when they change.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The authorities that the other side's certificate is checked with.
    pub authorities: PathBuf,
    /// The certificate for this side.
    pub certificate: PathBuf,
    /// The key of the certificate.
    pub key: PathBuf,
}

/// The limits of a tenant. Those of streams, watches, connections and requests apply to each replica of the
/// proxy.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Keys; unlimited if absent.
    pub keys: Option<u64>,
    /// Bytes of keys and their newest values; unlimited if absent.
    pub bytes: Option<u64>,
    /// Requests, messages of streams included, in a second; unlimited if absent.
    pub requests_per_second: Option<u32>,
    /// Bytes of a request.
    pub request_bytes: usize,
    /// Streams of watches and of leases that are kept alive.
    pub streams: usize,
    /// Watches, on all streams.
    pub watches: usize,
    /// Connections.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            keys: None,
            bytes: None,
            requests_per_second: None,
            // etcd's own default.
            request_bytes: 1_572_864,
            streams: 1_000,
            watches: 10_000,
            connections: 500,
        }
    }
}
