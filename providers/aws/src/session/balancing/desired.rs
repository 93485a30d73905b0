//! The network load balancer that a Service wants: from the fields of the Service and its annotations.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_elasticloadbalancingv2::types::ProtocolEnum;
use ipnet::IpNet;
use slipway_aws_model::tags;
use slipway_resource::provider::{
    BalancedPort, BalancedService, BalancerKey, DesiredBalancer, IpFamily, PortProtocol,
};
use slipway_resource::{Digest, ProviderError};

use super::annotations::Annotations;
use crate::error::invalid;
use crate::owner::Tags;

/// The tag that names the Service of an object, as `cloud-provider-aws` writes it.
const SERVICE: &str = "kubernetes.io/service-name";

/// The port at which kube-proxy answers for the health of a node.
const KUBE_PROXY: &str = "10256";

/// A network load balancer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NetworkBalancer {
    /// Its name.
    pub name: String,
    /// Whether only the network reaches it.
    pub internal: bool,
    /// Ids or names of its subnets; `None`: those of the cluster.
    pub subnets: Option<Vec<String>>,
    /// Whether it sends connections to targets in all zones.
    pub cross_zone: bool,
    /// The tags of all its objects.
    pub tags: Tags,
    /// The address ranges that may connect.
    pub ranges: BTreeSet<IpNet>,
    /// Its listeners.
    pub ports: Vec<Port>,
}

/// A listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Port {
    /// The port that clients connect to.
    pub number: u16,
    /// TCP or UDP.
    pub protocol: ProtocolEnum,
    /// Where its connections go.
    pub group: TargetGroup,
}

/// A target group. AWS changes only some of its settings, so its name follows from all of them: a changed one is another group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TargetGroup {
    /// Its name.
    pub name: String,
    /// TCP or UDP.
    pub protocol: ProtocolEnum,
    /// The port of the nodes.
    pub port: u16,
    /// When a node gets connections.
    pub check: HealthCheck,
    /// Attributes that differ from those of a new group.
    pub attributes: BTreeMap<&'static str, &'static str>,
}

/// The health check of a target group. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HealthCheck {
    /// TCP, HTTP or HTTPS.
    pub protocol: ProtocolEnum,
    /// A port, or `traffic-port`.
    pub port: String,
    /// The path of HTTP.
    pub path: Option<String>,
    /// Time between checks.
    pub interval: i32,
    /// Time until a check fails.
    pub timeout: i32,
    /// Checks in a row that make a target healthy.
    pub healthy: i32,
    /// Checks in a row that make it unhealthy.
    pub unhealthy: i32,
}

impl NetworkBalancer {
    /// The load balancer that a Service wants.
    ///
    /// # Errors
    /// `invalid` if AWS or this provider has no such load balancer.
    pub fn of(desired: &DesiredBalancer) -> Result<Self, ProviderError> {
        let DesiredBalancer { key, service, .. } = desired;
        let annotations = Annotations::of(&service.annotations)?;
        if let Some(address) = service.address {
            return Err(invalid(format!(
                "loadBalancerIP {address}: AWS chooses the addresses of load balancers"
            ))
            .with_hint("remove spec.loadBalancerIP from the Service"));
        }
        if !service.ip_families.is_empty() && !service.ip_families.contains(&IpFamily::V4) {
            return Err(invalid(
                "the Service has no IPv4 address, and load balancers of this provider have no other",
            )
            .with_hint("set spec.ipFamilyPolicy to PreferDualStack"));
        }
        let mut ports: BTreeMap<u16, Port> = BTreeMap::new();
        for port in &service.ports {
            let listener = listener(key, service, &annotations, port)?;
            if ports.insert(port.port, listener).is_some() {
                let text =
                    format!("port {}: a network load balancer has one protocol for each port", port.port);
                return Err(invalid(text).with_hint("use a Service for each protocol"));
            }
        }
        // AWS stores 10.0.0.1/8 as 10.0.0.0/8.
        let ranges = service.source_ranges.iter().filter(|range| range.addr().is_ipv4());
        Ok(Self {
            name: key.name.clone(),
            internal: annotations.internal(),
            subnets: annotations.subnets(),
            cross_zone: annotations.flag("cross-zone-load-balancing-enabled")?,
            tags: tags_of(key, annotations.tags()?),
            ranges: ranges.map(IpNet::trunc).collect(),
            ports: ports.into_values().collect(),
        })
    }
}

/// The name of the security group of a load balancer, as `cloud-provider-aws` names those of classic load balancers.
pub(super) fn security_group_name(key: &BalancerKey) -> String {
    format!("k8s-elb-{}", key.name)
}

/// How the names of all target groups of a load balancer begin. They are found by it after the load balancer is gone, and with a
/// Service of the same name that was created later, they are told apart by it.
pub(super) fn target_group_prefix(key: &BalancerKey) -> String {
    let name = key.service.rsplit('/').next().unwrap_or_default();
    let short: String = name.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    format!("k8s-{short}-{}-", digits(&format!("{}/{}", key.cluster, key.name), 12))
}

/// The tags of all objects of a load balancer.
fn tags_of(key: &BalancerKey, more: Tags) -> Tags {
    let mut all = more;
    // A Service gives its objects to no other cluster.
    let membership = tags::membership("");
    all.retain(|name, _| !name.starts_with(&membership));
    all.insert(SERVICE.to_owned(), key.service.clone());
    all.insert(tags::membership(&key.cluster), "owned".to_owned());
    // The policies of clusters allow changes of objects with this tag.
    all.insert(tags::CLUSTER.to_owned(), key.cluster.clone());
    all
}

fn digits(text: &str, count: usize) -> String {
    Digest::of_bytes(text.as_bytes()).hex().chars().take(count).collect()
}

fn listener(
    key: &BalancerKey,
    service: &BalancedService,
    annotations: &Annotations<'_>,
    port: &BalancedPort,
) -> Result<Port, ProviderError> {
    let protocol = match port.protocol {
        PortProtocol::Tcp => ProtocolEnum::Tcp,
        PortProtocol::Udp => ProtocolEnum::Udp,
        PortProtocol::Sctp => {
            return Err(invalid(format!(
                "port {}: a network load balancer does not forward SCTP",
                port.port
            )));
        }
    };
    let Some(node_port) = port.node_port else {
        return Err(invalid(format!(
            "port {} has no node port, to which the load balancer connects",
            port.port
        ))
        .with_hint("set spec.allocateLoadBalancerNodePorts to true"));
    };
    let mut attributes = BTreeMap::new();
    if annotations.proxy_protocol()? {
        attributes.insert("proxy_protocol_v2.enabled", "true");
    }
    if service.client_affinity.is_some() {
        attributes.extend([("stickiness.enabled", "true"), ("stickiness.type", "source_ip")]);
    }
    let check = check(service.health_check_node_port, &protocol, annotations)?;
    let settings = format!("{} {} {node_port} {check:?} {attributes:?}", port.port, protocol.as_str());
    let name = format!("{}{}", target_group_prefix(key), digits(&settings, 6));
    let group = TargetGroup { name, protocol: protocol.clone(), port: node_port, check, attributes };
    Ok(Port { number: port.port, protocol, group })
}

/// The health check: the defaults of `cloud-provider-aws`, changed by annotations.
fn check(
    local: Option<u16>,
    protocol: &ProtocolEnum,
    annotations: &Annotations<'_>,
) -> Result<HealthCheck, ProviderError> {
    let http = |port: String, healthy| HealthCheck {
        protocol: ProtocolEnum::Http,
        port,
        path: Some("/healthz".to_owned()),
        interval: 10,
        timeout: 10,
        healthy,
        unhealthy: healthy,
    };
    let default = match local {
        // Only nodes with an endpoint of the Service answer.
        Some(port) => http(port.to_string(), 2),
        // No health check speaks UDP.
        None if *protocol == ProtocolEnum::Udp => http(KUBE_PROXY.to_owned(), 3),
        None => HealthCheck {
            protocol: ProtocolEnum::Tcp,
            port: "traffic-port".to_owned(),
            path: None,
            interval: 30,
            timeout: 10,
            healthy: 3,
            unhealthy: 3,
        },
    };
    annotations.health_check(default)
}

#[cfg(test)]
mod tests;
