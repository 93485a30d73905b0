use std::net::{IpAddr, SocketAddr};
use std::str::FromStr as _;

use jiff::Timestamp;
use serde_json::{Map, Value as Json, json};
use slipway_cluster_input::{
    ClusterInput, ComponentName, Endpoint as Wanted, Kubelet, NodePool, Profile, ProxyMode, Role,
};

use super::authorities::join_token;
use super::emulation;
use super::endpoint::PORT;
use super::rotation::RotatedKey;
use super::{Machine, Placement, images};
use crate::configuration::{
    ApiBalancer, ApiServer, Argument, BootstrapTokenSettings, ClusterSettings, Component, Configuration,
    Detected, Discovery, EncryptionAlgorithm, Endpoint, Etcd, GoDuration, Join, KubeProxy, LocalEndpoint,
    LocalEtcd, Networking, NodeSettings, Taint, TokenDiscovery, argument_value,
};
use crate::kubelet::use_external_cloud_provider;

/// The file with the certificate of the API's authority in use, below the folder of certificates. A cluster has it once the
/// authority was rotated.
pub(super) const SIGNING_FILE: &str = "cluster-signing.crt";

/// The algorithm of all keys of a cluster: the found one of an adopted cluster; else a small and fast one,
/// unless kubeadm's default is requested.
pub(super) fn algorithm(cluster: &ClusterInput, placement: &Placement) -> EncryptionAlgorithm {
    placement.key_algorithm.unwrap_or(match cluster.profile {
        Profile::Slipway | Profile::Hardened => EncryptionAlgorithm::EcdsaP256,
        Profile::Kubeadm => EncryptionAlgorithm::Rsa2048,
    })
}

/// Whether a machine runs the control plane.
pub(super) fn is_control_plane(cluster: &ClusterInput, machine: &Machine) -> bool {
    cluster.pool(&machine.pool).is_some_and(|pool| pool.role == Role::ControlPlane)
}

/// Everything that one machine of a cluster needs to know.
pub(crate) fn of_machine(
    cluster: &ClusterInput,
    placement: &Placement,
    endpoint: &LocalEndpoint,
    machine: &Machine,
) -> Configuration {
    let pool = cluster.pool(&machine.pool);
    let control_plane = is_control_plane(cluster, machine);
    let detected = Detected {
        hostname: machine.facts.hostname.clone(),
        address: machine.address,
        cri_sockets: machine.cri_sockets.clone(),
    };
    let joins = !control_plane || !machine.founding;
    let mut configuration = Configuration {
        profile: cluster.profile,
        cluster: settings(cluster, placement, endpoint, machine.founding),
        node: node(cluster, pool, machine, &detected, joins, placement.join_token_ends),
        join: joins.then(|| join(endpoint, control_plane)),
        kubelet: kubelet(pool.map_or(&cluster.kubelet, |pool| &pool.kubelet)),
        kube_proxy: kube_proxy(cluster),
    };
    if placement.rotations.contains_key(&RotatedKey::KubernetesCa) {
        let path = format!("{}/{SIGNING_FILE}", configuration.cluster.certificates_dir);
        let arguments = &mut configuration.cluster.controller_manager.extra_args;
        arguments.push(Argument::new("cluster-signing-cert-file", path));
    }
    emulation::emulate(cluster, &mut configuration.cluster);
    // Where kubelets wait for a cloud controller of the user's, the controller manager leaves its work to it.
    if argument_value(&configuration.node.kubelet_extra_args, "cloud-provider") == Some("external") {
        use_external_cloud_provider(&mut configuration);
    }
    configuration
}

fn settings(
    cluster: &ClusterInput,
    placement: &Placement,
    endpoint: &LocalEndpoint,
    founding: bool,
) -> ClusterSettings {
    let ranges = |ranges: &[slipway_cluster_input::value::Cidr]| {
        ranges.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    };
    let network = &cluster.network;
    let mut api_server = component(&cluster.component(ComponentName::ApiServer));
    let ports = network.node_port_range.to_string();
    if ports != "30000-32767" {
        api_server.extra_args.push(Argument::new("service-node-port-range", ports));
    }
    let issuer = format!("https://kubernetes.default.svc.{}", network.cluster_domain);
    if cluster.service_accounts.issuer != issuer {
        let issuer = cluster.service_accounts.issuer.clone();
        api_server.extra_args.push(Argument::new("service-account-issuer", issuer));
    }
    if !cluster.service_accounts.additional_audiences.is_empty() {
        let mut audiences = vec![cluster.service_accounts.issuer.clone()];
        audiences.extend(cluster.service_accounts.additional_audiences.clone());
        api_server.extra_args.push(Argument::new("api-audiences", audiences.join(",")));
    }
    ClusterSettings {
        name: match cluster.profile {
            Profile::Slipway | Profile::Hardened => cluster.name.clone(),
            Profile::Kubeadm => "kubernetes".to_owned(),
        },
        kubernetes_version: cluster.kubernetes_version.clone(),
        control_plane_endpoint: Endpoint::from_str(&endpoint.to_string()).ok(),
        api_balancer: placement.is_balanced().then(|| api_balancer(cluster, placement)),
        networking: Networking {
            service_subnet: ranges(&network.service_cidrs),
            pod_subnet: ranges(&network.pod_cidrs),
            dns_domain: network.cluster_domain.clone(),
        },
        image_repository: cluster
            .assets
            .image_registry
            .clone()
            .unwrap_or_else(|| ClusterSettings::default().image_repository),
        given_images: images::given(cluster),
        encryption_algorithm: algorithm(cluster, placement),
        api_server: ApiServer { component: api_server, cert_sans: certificate_names(cluster, placement) },
        controller_manager: component(&cluster.component(ComponentName::ControllerManager)),
        scheduler: component(&cluster.component(ComponentName::Scheduler)),
        etcd: Etcd::Local(etcd(cluster, placement, founding)),
        dns: crate::configuration::Dns {
            disabled: !cluster.addons.iter().any(|addon| addon.name == "coredns" && addon.enabled),
            ..crate::configuration::Dns::default()
        },
        proxy: KubeProxy { disabled: network.proxy_mode == ProxyMode::None, version: None },
        ..ClusterSettings::default()
    }
}

/// The founding members know each other from the start. A member that joins later learns the others from
/// them.
fn etcd(cluster: &ClusterInput, placement: &Placement, founding: bool) -> LocalEtcd {
    let mut extra_args = component(&cluster.component(ComponentName::Etcd)).extra_args;
    if founding && placement.founders.len() > 1 {
        let members: Vec<String> = placement
            .founders
            .iter()
            .map(|founder| {
                let peer = LocalEndpoint { host: founder.address.to_string(), port: 2380 };
                format!("{}={}", founder.name, peer.url())
            })
            .collect();
        extra_args.push(Argument::new("initial-cluster", members.join(",")));
    }
    LocalEtcd { extra_args, ..LocalEtcd::default() }
}

/// The balancer in front of all control planes.
fn api_balancer(cluster: &ClusterInput, placement: &Placement) -> ApiBalancer {
    let machines = placement.machines.iter().filter(|machine| is_control_plane(cluster, machine));
    ApiBalancer { members: machines.map(|machine| SocketAddr::new(machine.address, PORT)).collect() }
}

/// Every control plane can become the endpoint, so that every certificate has the addresses of all.
fn certificate_names(cluster: &ClusterInput, placement: &Placement) -> Vec<String> {
    let mut names = cluster.control_plane.additional_sans.clone();
    if matches!(cluster.control_plane.endpoint, Wanted::Elected {}) {
        let machines = placement.machines.iter().filter(|machine| is_control_plane(cluster, machine));
        names.extend(machines.map(|machine| machine.address.to_string()));
    }
    // Also after the balancers are gone: certificates are not made again while nodes still leave them.
    if placement.balancer.is_some() {
        names.push(ApiBalancer::HOST.to_owned());
    }
    names.sort();
    names.dedup();
    names
}

fn node(
    cluster: &ClusterInput,
    pool: Option<&NodePool>,
    machine: &Machine,
    detected: &Detected,
    joins: bool,
    token_ends: Option<Timestamp>,
) -> NodeSettings {
    let base = if joins { NodeSettings::worker(detected) } else { NodeSettings::control_plane(detected) };
    let mut kubelet_extra_args = component(&cluster.component(ComponentName::Kubelet)).extra_args;
    // kubeadm leaves the choice to the kubelet.
    let is_left = cluster.profile == Profile::Kubeadm;
    if !is_left && kubelet_extra_args.iter().all(|argument| argument.name != "node-ip") {
        kubelet_extra_args.push(Argument::new("node-ip", machine.address.to_string()));
    }
    // The token is the cluster's own: it ends after a day, and those who come later join with it when it was renewed.
    let lasting = BootstrapTokenSettings {
        ttl: GoDuration::default(),
        expires: token_ends,
        ..BootstrapTokenSettings::default()
    };
    NodeSettings {
        name: machine.name.clone(),
        taints: pool.map(|pool| pool.taints.iter().map(taint).collect()),
        kubelet_extra_args,
        bootstrap_tokens: if joins { Vec::new() } else { vec![lasting] },
        ..base
    }
}

fn taint(taint: &slipway_cluster_input::Taint) -> Taint {
    Taint { key: taint.key.clone(), value: taint.value.clone(), effect: format!("{:?}", taint.effect) }
}

fn join(endpoint: &LocalEndpoint, control_plane: bool) -> Join {
    let unspecified = || Endpoint::from_str("127.0.0.1:6443").ok();
    let api_server_endpoint = Endpoint::from_str(&endpoint.to_string()).ok().or_else(unspecified);
    let token = join_token();
    Join {
        discovery: match api_server_endpoint {
            Some(api_server_endpoint) => Discovery::Token(TokenDiscovery {
                token: token.clone(),
                api_server_endpoint,
                // The authority's certificate comes from the state itself; there is nothing to find out.
                ca_cert_hashes: Vec::new(),
                unsafe_skip_ca_verification: false,
            }),
            None => Discovery::File(crate::configuration::FileDiscovery { kubeconfig_path: String::new() }),
        },
        tls_bootstrap_token: Some(token),
        ca_cert_path: "/etc/kubernetes/pki/ca.crt".to_owned(),
        control_plane,
    }
}

/// The user's settings of a component, in the form of kubeadm.
fn component(settings: &slipway_cluster_input::Component) -> Component {
    let mut extra_args: Vec<Argument> =
        settings.extra_args.iter().map(|(name, value)| Argument::new(name, value)).collect();
    if !settings.feature_gates.is_empty() {
        let gates: Vec<String> =
            settings.feature_gates.iter().map(|(name, on)| format!("{name}={on}")).collect();
        extra_args.push(Argument::new("feature-gates", gates.join(",")));
    }
    if let Some(level) = settings.log_level {
        extra_args.push(Argument::new("v", level.to_string()));
    }
    let extra_envs =
        settings.environment.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    Component { extra_args, extra_volumes: Vec::new(), extra_envs }
}

/// The fields of `KubeletConfiguration` that are set; none when nothing is.
fn kubelet(settings: &Kubelet) -> Option<Map<String, Json>> {
    let Ok(Json::Object(fields)) = serde_json::to_value(settings) else { return None };
    let mut document = Map::new();
    for (name, value) in fields {
        let is_empty = match &value {
            Json::Null => true,
            Json::Object(entries) => entries.is_empty(),
            Json::Array(items) => items.is_empty(),
            _ => false,
        };
        if is_empty || name == "extraConfig" {
            continue;
        }
        document.insert(name, value);
    }
    if let Json::Object(extra) = &settings.extra_config {
        document.extend(extra.clone());
    }
    (!document.is_empty()).then_some(document)
}

/// Fields of `KubeProxyConfiguration` for flags of kube-proxy, which has no flags where it has that document.
const PROXY_FLAGS: [(&str, &str); 6] = [
    ("conntrack-max-per-core", "/conntrack/maxPerCore"),
    ("conntrack-min", "/conntrack/min"),
    ("cluster-cidr", "/clusterCIDR"),
    ("metrics-bind-address", "/metricsBindAddress"),
    ("ipvs-scheduler", "/ipvs/scheduler"),
    ("masquerade-all", "/iptables/masqueradeAll"),
];

/// The flags of kube-proxy that have no field.
pub(super) fn unknown_proxy_flags(cluster: &ClusterInput) -> Vec<String> {
    let flags = cluster.component(ComponentName::Proxy).extra_args.into_keys();
    flags.filter(|flag| PROXY_FLAGS.iter().all(|(known, _)| known != flag)).collect()
}

fn kube_proxy(cluster: &ClusterInput) -> Option<Map<String, Json>> {
    let mut document = Map::new();
    match cluster.network.proxy_mode {
        ProxyMode::Iptables | ProxyMode::None => {}
        ProxyMode::Ipvs => drop(document.insert("mode".to_owned(), "ipvs".into())),
        ProxyMode::Nftables => drop(document.insert("mode".to_owned(), "nftables".into())),
    }
    for (flag, value) in cluster.component(ComponentName::Proxy).extra_args {
        let Some((_, pointer)) = PROXY_FLAGS.iter().find(|(known, _)| **known == flag) else { continue };
        // A number or a truth value, where it is one.
        let value: Json = serde_json::from_str(&value).unwrap_or_else(|_| value.clone().into());
        let mut path = pointer.trim_start_matches('/').split('/');
        match (path.next(), path.next()) {
            (Some(group), Some(field)) => {
                let group = document.entry(group).or_insert_with(|| Json::Object(Map::new()));
                if let Json::Object(fields) = group {
                    fields.insert(field.to_owned(), value);
                }
            }
            (Some(field), None) => drop(document.insert(field.to_owned(), value)),
            _ => {}
        }
    }
    (!document.is_empty()).then_some(document)
}

/// Names and addresses for which a machine's kubelet may get a serving certificate.
pub(crate) fn serving_names(machine: &Machine) -> Vec<String> {
    let address: IpAddr = machine.address;
    let mut names = vec![machine.name.clone(), address.to_string()];
    if machine.facts.hostname != machine.name && !machine.facts.hostname.is_empty() {
        names.push(machine.facts.hostname.clone());
    }
    names
}
