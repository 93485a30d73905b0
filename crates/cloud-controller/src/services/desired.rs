//! The load balancer that a Service wants.

use std::collections::BTreeSet;
use std::time::Duration;

use slipway_controller::k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use slipway_resource::provider::{
    BalancedPort, BalancedService, BalancerKey, DesiredBalancer, IpFamily, NodeTarget, PortProtocol,
    balancer_name,
};

/// The annotation with the address ranges that may connect, divided by commas. The field of the spec comes before it.
pub const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

/// How long a client stays with a pod if the Service does not say it.
const AFFINITY: Duration = Duration::from_secs(10_800);

/// A Service that no load balancer can be made for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// A range is no address range.
    #[error("{0} is not an address range, such as 10.0.0.0/24")]
    Range(String),
    /// The desired address is no address.
    #[error("loadBalancerIP: {0} is not an IP address")]
    Address(String),
    /// A port is out of range, or has an unknown protocol.
    #[error("port {0} has a number or a protocol that load balancers do not have")]
    Port(String),
}

/// The key of the load balancer of a Service.
#[must_use]
pub fn key(cluster: &str, service: &Service) -> BalancerKey {
    let metadata = &service.metadata;
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    BalancerKey {
        cluster: cluster.to_owned(),
        name: balancer_name(&text(&metadata.uid)),
        service: format!("{}/{}", text(&metadata.namespace), text(&metadata.name)),
    }
}

/// The load balancer that a Service wants.
///
/// # Errors
/// When a field of the Service cannot be used.
pub fn desired(
    cluster: &str,
    service: &Service,
    nodes: Vec<NodeTarget>,
) -> Result<DesiredBalancer, Unusable> {
    let empty = ServiceSpec::default();
    let spec = service.spec.as_ref().unwrap_or(&empty);
    let families: Vec<IpFamily> =
        spec.ip_families.iter().flatten().filter_map(|family| IpFamily::parse(family)).collect();
    let ports = spec.ports.iter().flatten().map(port);
    let address = spec.load_balancer_ip.as_deref().filter(|text| !text.is_empty());
    let is_local = spec.external_traffic_policy.as_deref() == Some("Local");
    let health = spec.health_check_node_port.and_then(number).filter(|_| is_local);
    Ok(DesiredBalancer {
        key: key(cluster, service),
        service: BalancedService {
            ports: ports.collect::<Result<_, _>>()?,
            source_ranges: source_ranges(service, &families)?,
            client_affinity: affinity(spec),
            annotations: service.metadata.annotations.clone().unwrap_or_default(),
            health_check_node_port: health,
            address: address
                .map(|text| text.parse().map_err(|_| Unusable::Address(text.to_owned())))
                .transpose()?,
            ip_families: families,
        },
        nodes,
    })
}

fn affinity(spec: &ServiceSpec) -> Option<Duration> {
    if spec.session_affinity.as_deref() != Some("ClientIP") {
        return None;
    }
    let client = spec.session_affinity_config.as_ref().and_then(|config| config.client_ip.as_ref());
    let seconds = client.and_then(|client| client.timeout_seconds).and_then(|span| u64::try_from(span).ok());
    Some(seconds.map_or(AFFINITY, Duration::from_secs))
}

fn number(port: i32) -> Option<u16> {
    u16::try_from(port).ok().filter(|port| *port > 0)
}

fn port(port: &ServicePort) -> Result<BalancedPort, Unusable> {
    let protocol = PortProtocol::parse(port.protocol.as_deref().unwrap_or("TCP"));
    let (Some(number_of_port), Some(protocol)) = (number(port.port), protocol) else {
        return Err(Unusable::Port(port.port.to_string()));
    };
    Ok(BalancedPort {
        name: port.name.clone().unwrap_or_default(),
        protocol,
        port: number_of_port,
        node_port: port.node_port.and_then(number),
        app_protocol: port.app_protocol.clone(),
    })
}

/// The ranges of the spec, else those of the annotation, else every address of the families.
fn source_ranges(service: &Service, families: &[IpFamily]) -> Result<BTreeSet<ipnet::IpNet>, Unusable> {
    let of_spec = service.spec.as_ref().and_then(|spec| spec.load_balancer_source_ranges.as_deref());
    let annotation =
        service.metadata.annotations.as_ref().and_then(|annotations| annotations.get(SOURCE_RANGES));
    let texts: Vec<&str> = match (of_spec.unwrap_or_default(), annotation.map(|text| text.trim())) {
        ([], Some("") | None) if families.contains(&IpFamily::V6) => {
            let v4 = families.contains(&IpFamily::V4).then_some("0.0.0.0/0");
            v4.into_iter().chain(["::/0"]).collect()
        }
        ([], Some("") | None) => vec!["0.0.0.0/0"],
        ([], Some(annotation)) => annotation.split(',').collect(),
        (ranges, _) => ranges.iter().map(String::as_str).collect(),
    };
    let range = |text: &str| text.trim().parse().map_err(|_| Unusable::Range(text.trim().to_owned()));
    texts.into_iter().map(range).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn ranges(service: &Json) -> Result<String, Unusable> {
        let service: Service = serde_json::from_value(service.clone()).unwrap();
        let desired = desired("demo", &service, Vec::new())?;
        let texts: Vec<String> = desired.service.source_ranges.iter().map(ToString::to_string).collect();
        Ok(texts.join(" "))
    }

    #[test]
    fn the_ranges_of_the_spec_come_before_those_of_the_annotation() {
        let annotated = |text: &str| json!({"metadata": {"annotations": {SOURCE_RANGES: text}}});
        let both = json!({
            "metadata": {"annotations": {SOURCE_RANGES: "192.0.2.0/24"}},
            "spec": {"loadBalancerSourceRanges": [" 10.0.0.0/8 "]},
        });
        let cases = [
            (json!({}), "0.0.0.0/0"),
            (annotated(""), "0.0.0.0/0"),
            (annotated(" 192.0.2.0/24 , 10.0.0.0/8"), "10.0.0.0/8 192.0.2.0/24"),
            (both, "10.0.0.0/8"),
            (json!({"spec": {"ipFamilies": ["IPv6"]}}), "::/0"),
            (json!({"spec": {"ipFamilies": ["IPv6", "IPv4"]}}), "0.0.0.0/0 ::/0"),
        ];
        for (service, expected) in cases {
            assert_eq!(ranges(&service).unwrap(), expected, "{service}");
        }
        assert_eq!(ranges(&annotated("10.0.0.1")), Err(Unusable::Range("10.0.0.1".to_owned())));
    }

    #[test]
    fn the_fields_of_a_service_are_passed_on() {
        let service: Service = serde_json::from_value(json!({
            "metadata": {"namespace": "shop", "name": "web", "uid": "0d3bf7a3-9d0f-4d3c-8a2f-8c9f5ce7a1b2"},
            "spec": {
                "loadBalancerIP": "192.0.2.9", "sessionAffinity": "ClientIP",
                "externalTrafficPolicy": "Local", "healthCheckNodePort": 32000,
                "ports": [{"port": 53, "protocol": "UDP", "nodePort": 30053, "appProtocol": "example.com/dns"}],
            },
        }))
        .unwrap();
        let desired = desired("demo", &service, Vec::new()).unwrap();
        assert_eq!(desired.key.name, "a0d3bf7a39d0f4d3c8a2f8c9f5ce7a1b");
        assert_eq!(desired.key.service, "shop/web");
        assert_eq!(desired.service.client_affinity, Some(AFFINITY));
        assert_eq!(desired.service.health_check_node_port, Some(32000));
        assert_eq!(desired.service.address, Some("192.0.2.9".parse().unwrap()));
        let port = &desired.service.ports[0];
        assert_eq!((port.port, port.node_port, port.protocol), (53, Some(30053), PortProtocol::Udp));
        // Without the policy, the port answers for no one.
        let mut cluster = service;
        cluster.spec.as_mut().unwrap().external_traffic_policy = Some("Cluster".to_owned());
        let desired = super::desired("demo", &cluster, Vec::new()).unwrap();
        assert_eq!(desired.service.health_check_node_port, None);
    }
}
