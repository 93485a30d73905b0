//! Load balancers of Services.

use std::time::Duration;

use slipway_resource::provider::{
    BalancedPort, BalancedService, BalancerKey, DesiredBalancer, Ingress, IngressPoint, IngressPort,
    IpFamily, IpMode, LoadBalancer, NodeTarget, PortProtocol,
};

use super::Malformed;
use crate::generated as proto;

impl From<BalancerKey> for proto::BalancerKey {
    fn from(key: BalancerKey) -> Self {
        Self { cluster: key.cluster, name: key.name, service: key.service }
    }
}

impl TryFrom<proto::BalancerKey> for BalancerKey {
    type Error = Malformed;

    fn try_from(message: proto::BalancerKey) -> Result<Self, Malformed> {
        if message.cluster.is_empty() {
            return Err(Malformed::missing("cluster"));
        }
        if message.name.is_empty() {
            return Err(Malformed::missing("name of a load balancer"));
        }
        Ok(Self { cluster: message.cluster, name: message.name, service: message.service })
    }
}

/// The key of a request, which must have one.
///
/// # Errors
/// When it has none, or one that is not complete.
pub fn balancer_key(message: Option<proto::BalancerKey>) -> Result<BalancerKey, Malformed> {
    message.ok_or_else(|| Malformed::missing("key"))?.try_into()
}

/// The parts of a request that ensures or updates a load balancer.
pub type DesiredParts = (Option<proto::BalancerKey>, Option<proto::BalancedService>, Vec<proto::NodeTarget>);

/// The load balancer that a request wants.
///
/// # Errors
/// When a part is absent or not complete.
pub fn desired_balancer((key, service, nodes): DesiredParts) -> Result<DesiredBalancer, Malformed> {
    Ok(DesiredBalancer {
        key: balancer_key(key)?,
        service: service.ok_or_else(|| Malformed::missing("service"))?.try_into()?,
        nodes: nodes.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
    })
}

impl From<BalancedService> for proto::BalancedService {
    fn from(service: BalancedService) -> Self {
        let seconds = |span: Duration| u32::try_from(span.as_secs()).unwrap_or(u32::MAX);
        let annotation = |(key, value)| proto::ServiceAnnotation { key, value };
        Self {
            ports: service.ports.into_iter().map(Into::into).collect(),
            source_ranges: service.source_ranges.iter().map(ToString::to_string).collect(),
            client_affinity_seconds: service.client_affinity.map(seconds),
            annotations: service.annotations.into_iter().map(annotation).collect(),
            health_check_node_port: service.health_check_node_port.map(u32::from),
            address: service.address.map(|address| address.to_string()),
            ip_families: service.ip_families.into_iter().map(|family| family.as_str().to_owned()).collect(),
        }
    }
}

impl TryFrom<proto::BalancedService> for BalancedService {
    type Error = Malformed;

    fn try_from(message: proto::BalancedService) -> Result<Self, Malformed> {
        if message.source_ranges.is_empty() {
            return Err(Malformed::missing("source_ranges"));
        }
        let range = |text: String| text.parse().map_err(|_| Malformed::new("source range", text));
        let address = |text: String| text.parse().map_err(|_| Malformed::new("address", text));
        let family =
            |text: String| IpFamily::parse(&text).ok_or_else(|| Malformed::new("family of addresses", text));
        Ok(Self {
            ports: message.ports.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
            source_ranges: message.source_ranges.into_iter().map(range).collect::<Result<_, _>>()?,
            client_affinity: message
                .client_affinity_seconds
                .map(|seconds| Duration::from_secs(seconds.into())),
            annotations: message.annotations.into_iter().map(|one| (one.key, one.value)).collect(),
            health_check_node_port: message.health_check_node_port.map(port).transpose()?,
            address: message.address.filter(|text| !text.is_empty()).map(address).transpose()?,
            ip_families: message.ip_families.into_iter().map(family).collect::<Result<_, _>>()?,
        })
    }
}

/// A port above 0.
fn port(number: u32) -> Result<u16, Malformed> {
    let port = u16::try_from(number).ok().filter(|port| *port > 0);
    port.ok_or_else(|| Malformed::new("port", number.to_string()))
}

fn protocol(text: &str) -> Result<PortProtocol, Malformed> {
    PortProtocol::parse(text).ok_or_else(|| Malformed::new("protocol of a port", text))
}

impl From<BalancedPort> for proto::BalancedPort {
    fn from(port: BalancedPort) -> Self {
        Self {
            name: port.name,
            protocol: port.protocol.as_str().to_owned(),
            port: port.port.into(),
            node_port: port.node_port.unwrap_or_default().into(),
            app_protocol: port.app_protocol.unwrap_or_default(),
        }
    }
}

impl TryFrom<proto::BalancedPort> for BalancedPort {
    type Error = Malformed;

    fn try_from(message: proto::BalancedPort) -> Result<Self, Malformed> {
        Ok(Self {
            name: message.name,
            protocol: protocol(&message.protocol)?,
            port: port(message.port)?,
            node_port: Some(message.node_port).filter(|number| *number > 0).map(port).transpose()?,
            app_protocol: Some(message.app_protocol).filter(|text| !text.is_empty()),
        })
    }
}

impl From<NodeTarget> for proto::NodeTarget {
    fn from(target: NodeTarget) -> Self {
        Self {
            node: target.node,
            provider_id: target.provider_id,
            addresses: target.addresses.into_iter().map(Into::into).collect(),
        }
    }
}

impl TryFrom<proto::NodeTarget> for NodeTarget {
    type Error = Malformed;

    fn try_from(message: proto::NodeTarget) -> Result<Self, Malformed> {
        if message.node.is_empty() {
            return Err(Malformed::missing("node"));
        }
        Ok(Self {
            node: message.node,
            provider_id: message.provider_id.filter(|id| !id.is_empty()),
            addresses: message.addresses.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
        })
    }
}

impl From<LoadBalancer> for proto::LoadBalancer {
    fn from(balancer: LoadBalancer) -> Self {
        Self { ingress: balancer.ingress.into_iter().map(Into::into).collect() }
    }
}

impl TryFrom<proto::LoadBalancer> for LoadBalancer {
    type Error = Malformed;

    fn try_from(message: proto::LoadBalancer) -> Result<Self, Malformed> {
        Ok(Self { ingress: message.ingress.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()? })
    }
}

impl From<Ingress> for proto::BalancerIngress {
    fn from(ingress: Ingress) -> Self {
        let port = |port: IngressPort| proto::BalancerPortStatus {
            port: port.port.into(),
            protocol: port.protocol.as_str().to_owned(),
            error: port.error.unwrap_or_default(),
        };
        let ports = ingress.ports.into_iter().map(port).collect();
        match ingress.at {
            IngressPoint::Ip { address, mode } => {
                Self { ip: address.to_string(), ip_mode: mode.as_str().to_owned(), ports, ..Self::default() }
            }
            IngressPoint::Hostname(hostname) => Self { hostname, ports, ..Self::default() },
        }
    }
}

impl TryFrom<proto::BalancerIngress> for Ingress {
    type Error = Malformed;

    fn try_from(message: proto::BalancerIngress) -> Result<Self, Malformed> {
        let proto::BalancerIngress { ip, hostname, ip_mode, ports } = message;
        let at = match (ip.is_empty(), hostname.is_empty()) {
            (false, true) => IngressPoint::Ip {
                mode: IpMode::parse(&ip_mode).ok_or_else(|| Malformed::new("ip_mode", ip_mode))?,
                address: ip.parse().map_err(|_| Malformed::new("ip", ip))?,
            },
            (true, false) if ip_mode.is_empty() => IngressPoint::Hostname(hostname),
            _ => return Err(Malformed::new("ingress", format!("{ip} {hostname} {ip_mode}"))),
        };
        let port = |status: proto::BalancerPortStatus| {
            Ok(IngressPort {
                port: port(status.port)?,
                protocol: protocol(&status.protocol)?,
                error: Some(status.error).filter(|text| !text.is_empty()),
            })
        };
        Ok(Self { at, ports: ports.into_iter().map(port).collect::<Result<_, Malformed>>()? })
    }
}

#[cfg(test)]
mod tests {
    use slipway_resource::provider::{NodeAddress, NodeAddressKind};

    use super::*;

    fn desired() -> DesiredBalancer {
        DesiredBalancer {
            key: BalancerKey { cluster: "demo".into(), name: "a1".into(), service: "default/web".into() },
            service: BalancedService {
                ports: vec![BalancedPort {
                    name: "http".into(),
                    protocol: PortProtocol::Sctp,
                    port: 80,
                    node_port: None,
                    app_protocol: Some("kubernetes.io/ws".into()),
                }],
                source_ranges: ["10.0.0.0/8", "::/0"].map(|text| text.parse().unwrap()).into(),
                client_affinity: Some(Duration::from_secs(10_800)),
                annotations: [("a".to_owned(), "b".to_owned())].into(),
                health_check_node_port: Some(30_000),
                address: Some("192.0.2.1".parse().unwrap()),
                ip_families: IpFamily::ALL.to_vec(),
            },
            nodes: vec![NodeTarget {
                node: "n".into(),
                provider_id: Some("sim:///a".into()),
                addresses: vec![NodeAddress { kind: NodeAddressKind::Hostname, address: "n".into() }],
            }],
        }
    }

    fn parts(desired: DesiredBalancer) -> DesiredParts {
        let nodes = desired.nodes.into_iter().map(Into::into).collect();
        (Some(desired.key.into()), Some(desired.service.into()), nodes)
    }

    #[test]
    fn a_load_balancer_is_read_as_it_was_written() {
        assert_eq!(desired_balancer(parts(desired())).unwrap(), desired());
        let ip = |mode| IngressPoint::Ip { address: "2001:db8::1".parse().unwrap(), mode };
        let points = [ip(IpMode::Vip), ip(IpMode::Proxy), IngressPoint::Hostname("a.example".into())];
        let error = Some("example.com/Quota".to_owned());
        let ports = vec![IngressPort { port: 80, protocol: PortProtocol::Udp, error }];
        let ingress = points.map(|at| Ingress { at, ports: ports.clone() }).to_vec();
        let balancer = LoadBalancer { ingress };
        assert_eq!(LoadBalancer::try_from(proto::LoadBalancer::from(balancer.clone())).unwrap(), balancer);
    }

    #[test]
    fn an_incomplete_request_is_refused() {
        let (key, service, nodes) = parts(desired());
        desired_balancer((None, service.clone(), nodes.clone())).unwrap_err();
        desired_balancer((key.clone(), None, nodes.clone())).unwrap_err();
        let mut bad = service.clone().unwrap();
        // Without ranges nobody could connect, or everybody.
        bad.source_ranges.clear();
        desired_balancer((key.clone(), Some(bad), nodes.clone())).unwrap_err();
        let mut bad = service.unwrap();
        bad.ports[0].port = 70_000;
        desired_balancer((key, Some(bad), nodes)).unwrap_err();
        let both = proto::BalancerIngress {
            ip: "192.0.2.1".into(),
            hostname: "a.example".into(),
            ..proto::BalancerIngress::default()
        };
        Ingress::try_from(both).unwrap_err();
        Ingress::try_from(proto::BalancerIngress::default()).unwrap_err();
    }
}
