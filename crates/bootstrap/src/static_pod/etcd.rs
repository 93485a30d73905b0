use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::{Value, json};

use super::arguments::{command_line, defaults};
use super::pod::{Parts, environment, pod};
use super::probe::Place;
use super::volume::Volumes;
use crate::configuration::{Argument, Configuration, LocalEndpoint, LocalEtcd, argument_value};
use crate::version::Images;

/// The port for clients.
pub const CLIENT_PORT: u16 = 2379;
/// The port for members.
pub const PEER_PORT: u16 = 2380;
const METRICS_PORT: u16 = 2381;

/// A member of an etcd cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name: the node's, or that of the volume with its data.
    pub name: String,
    /// The URL for other members.
    pub peer_url: String,
}

/// The cluster that a member starts with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum InitialCluster {
    /// It begins a new cluster.
    #[default]
    New,
    /// It joins these members, including itself.
    Existing(Vec<Member>),
    /// It joins a cluster given as text, `name=url,…`, which is known when the member is added.
    Text(String),
}

/// The static pod of an etcd member, for clusters without an external etcd. Missing settings have their
/// defaults.
#[must_use]
pub fn etcd(configuration: &Configuration, initial: &InitialCluster) -> Value {
    let cluster = &configuration.cluster;
    let defaults = LocalEtcd::default();
    let local = cluster.etcd.local().unwrap_or(&defaults);
    let mut volumes = Volumes::default();
    let certificates = format!("{}/etcd", cluster.certificates_dir);
    match configuration.node.etcd_member {
        // While its volume is not mounted, the member must not begin anew in an empty folder.
        Some(_) => volumes.existing_folder("etcd-data", &local.data_dir),
        None => volumes.folder("etcd-data", &local.data_dir, false),
    }
    volumes.folder("etcd-certs", &certificates, false);
    // The container's mounts are not sorted by name here, and must be byte-identical to kubeadm's.
    let mut mounts = volumes.mounts();
    mounts.reverse();
    let address = configuration.node.advertise_address;
    let (host, port, scheme) = metrics(local, address);
    let place = Place { host: &host, scheme };
    pod(Parts {
        name: "etcd",
        image: Images::of(cluster).etcd,
        command: command_line(flags(configuration, local, initial), &local.extra_args),
        annotation: Some((
            "kubeadm.kubernetes.io/etcd.advertise-client-urls",
            url(&address.to_string(), CLIENT_PORT),
        )),
        requests: json!({"cpu": "100m", "memory": "100Mi"}),
        port,
        liveness: place.liveness("/livez"),
        readiness: Some(place.readiness("/readyz")),
        startup: place.startup("/readyz", configuration.node.timeouts.control_plane_component_health_check),
        environment: environment(&BTreeMap::new(), &local.extra_envs),
        mounts,
        volumes: volumes.volumes(),
    })
}

/// The URL of a member's port.
#[must_use]
pub fn url(host: &str, port: u16) -> String {
    LocalEndpoint { host: host.to_owned(), port }.url()
}

/// The URL that reports whether this node's member is ready.
pub(super) fn ready_url(configuration: &Configuration) -> String {
    let defaults = LocalEtcd::default();
    let local = configuration.cluster.etcd.local().unwrap_or(&defaults);
    let address = configuration.node.advertise_address;
    let (host, port, scheme) = metrics(local, address);
    let host = match host.as_str() {
        "0.0.0.0" | "::" => localhost(address).to_owned(),
        _ => host,
    };
    let url = url(&host, port);
    let url = if scheme == "HTTP" { url.replacen("https", "http", 1) } else { url };
    format!("{url}/readyz")
}

fn localhost(address: IpAddr) -> &'static str {
    if address.is_ipv6() { "::1" } else { "127.0.0.1" }
}

fn flags(configuration: &Configuration, local: &LocalEtcd, initial: &InitialCluster) -> Vec<Argument> {
    let node = &configuration.node;
    let pki = |file: &str| format!("{}/etcd/{file}", configuration.cluster.certificates_dir);
    let own = node.advertise_address.to_string();
    let (client, peer) = (url(&own, CLIENT_PORT), url(&own, PEER_PORT));
    let local_host = localhost(node.advertise_address);
    let text = ToOwned::to_owned;
    let mut flags = defaults([
        ("advertise-client-urls", client.clone()),
        ("cert-file", pki("server.crt")),
        ("client-cert-auth", text("true")),
        ("data-dir", local.data_dir.clone()),
        ("initial-advertise-peer-urls", peer.clone()),
        ("key-file", pki("server.key")),
        ("listen-client-urls", format!("{},{client}", url(local_host, CLIENT_PORT))),
        ("listen-metrics-urls", url(local_host, METRICS_PORT).replacen("https", "http", 1)),
        ("listen-peer-urls", peer.clone()),
        ("name", node.member_name().to_owned()),
        ("peer-cert-file", pki("peer.crt")),
        ("peer-client-cert-auth", text("true")),
        ("peer-key-file", pki("peer.key")),
        ("peer-trusted-ca-file", pki("ca.crt")),
        ("snapshot-count", text("10000")),
        ("trusted-ca-file", pki("ca.crt")),
    ]);
    flags.extend(if knows_feature_gates(&Images::of(&configuration.cluster).etcd) {
        defaults([
            ("feature-gates", text("InitialCorruptCheck=true")),
            ("watch-progress-notify-interval", text("5s")),
        ])
    } else {
        defaults([
            ("experimental-initial-corrupt-check", text("true")),
            ("experimental-watch-progress-notify-interval", text("5s")),
        ])
    });
    let members = match initial {
        InitialCluster::New => None,
        InitialCluster::Existing(members) => Some(
            members
                .iter()
                .map(|member| format!("{}={}", member.name, member.peer_url))
                .collect::<Vec<_>>()
                .join(","),
        ),
        InitialCluster::Text(text) => Some(text.clone()),
    };
    if members.is_some() {
        flags.push(Argument::new("initial-cluster-state", "existing"));
    }
    flags.push(Argument::new(
        "initial-cluster",
        members.unwrap_or_else(|| format!("{}={peer}", node.member_name())),
    ));
    flags
}

/// Whether etcd is 3.6 or newer by its image's tag. A tag that is not a version counts as older.
fn knows_feature_gates(image: &str) -> bool {
    let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
    let tag = tag.strip_prefix('v').unwrap_or(tag);
    let core = tag.split_once(['-', '+']).map_or(tag, |(core, _)| core);
    let numbers: Vec<Option<u64>> = core.split('.').map(|number| number.parse().ok()).collect();
    match numbers.as_slice() {
        // 3.6.0-rc.1 is before 3.6.0, but the revision of an image, as in 3.6.5-0, is a release as well.
        [Some(major), Some(minor), Some(patch)] => {
            (*major, *minor, *patch) > (3, 6, 0) || (*major, *minor, *patch) == (3, 6, 0) && core == tag
        }
        _ => false,
    }
}

/// Host, port and scheme of the metrics for probes: the first of the user's URLs.
fn metrics(local: &LocalEtcd, address: IpAddr) -> (String, u16, &'static str) {
    let own = (localhost(address).to_owned(), METRICS_PORT, "HTTP");
    let Some(urls) = argument_value(&local.extra_args, "listen-metrics-urls") else { return own };
    let first = urls.split(',').next().unwrap_or_default();
    let (scheme, rest) = first.split_once("://").unwrap_or(("", first));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':')),
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let host = if host.is_empty() { own.0 } else { host.to_owned() };
    let port = port.and_then(|port| port.parse().ok()).filter(|port| *port > 0).unwrap_or(METRICS_PORT);
    (host, port, if scheme == "https" { "HTTPS" } else { "HTTP" })
}
