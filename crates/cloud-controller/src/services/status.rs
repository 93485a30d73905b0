//! The status of a Service with a load balancer.

use serde_json::{Value as Json, json};
use slipway_controller::k8s_openapi::api::core::v1::{
    LoadBalancerIngress, LoadBalancerStatus, PortStatus, Service,
};
use slipway_resource::provider::{Ingress, IngressPoint, IngressPort, LoadBalancer};

use super::difference::FINALIZER;

/// The status that a load balancer gives its Service.
#[must_use]
pub fn status(balancer: &LoadBalancer) -> LoadBalancerStatus {
    let ingress: Vec<LoadBalancerIngress> = balancer.ingress.iter().map(ingress).collect();
    LoadBalancerStatus { ingress: Some(ingress).filter(|ingress| !ingress.is_empty()) }
}

fn ingress(ingress: &Ingress) -> LoadBalancerIngress {
    let port = |port: &IngressPort| PortStatus {
        error: port.error.clone(),
        port: port.port.into(),
        protocol: port.protocol.as_str().to_owned(),
    };
    let ports: Vec<PortStatus> = ingress.ports.iter().map(port).collect();
    let ports = Some(ports).filter(|ports| !ports.is_empty());
    match &ingress.at {
        IngressPoint::Ip { address, mode } => LoadBalancerIngress {
            ip: Some(address.to_string()),
            ip_mode: Some(mode.as_str().to_owned()),
            ports,
            hostname: None,
        },
        IngressPoint::Hostname(hostname) => {
            LoadBalancerIngress { hostname: Some(hostname.clone()), ports, ..LoadBalancerIngress::default() }
        }
    }
}

/// The status that a Service has.
#[must_use]
pub fn shown(service: &Service) -> LoadBalancerStatus {
    let status = service.status.as_ref().and_then(|status| status.load_balancer.clone()).unwrap_or_default();
    LoadBalancerStatus { ingress: status.ingress.filter(|ingress| !ingress.is_empty()) }
}

/// The merge patch of the status of a Service as it was read: its finalizers with ours, or without.
#[must_use]
pub fn finalizer_patch(service: &Service, has: bool) -> Json {
    let others = service.metadata.finalizers.iter().flatten().filter(|finalizer| *finalizer != FINALIZER);
    let finalizers: Vec<&str> = others.map(String::as_str).chain(has.then_some(FINALIZER)).collect();
    json!({ "metadata": { "resourceVersion": service.metadata.resource_version, "finalizers": finalizers } })
}

/// The merge patch of the status of a Service as it was read: how its load balancer is reached.
#[must_use]
pub fn status_patch(service: &Service, status: &LoadBalancerStatus) -> Json {
    json!({
        "metadata": { "resourceVersion": service.metadata.resource_version },
        // Null, where it has none: an absent field would leave the former one.
        "status": { "loadBalancer": { "ingress": status.ingress } },
    })
}

#[cfg(test)]
mod tests {
    use slipway_resource::provider::{IpMode, PortProtocol};

    use super::*;

    #[test]
    fn an_address_has_a_mode_and_a_name_has_none() {
        let address = "192.0.2.1".parse().unwrap();
        let error = Some("example.com/Quota".to_owned());
        let port = IngressPort { port: 80, protocol: PortProtocol::Tcp, error };
        let at = IngressPoint::Ip { address, mode: IpMode::Proxy };
        let name = IngressPoint::Hostname("a.example".to_owned());
        let balancer = LoadBalancer {
            ingress: vec![Ingress { at, ports: vec![port] }, Ingress { at: name, ports: Vec::new() }],
        };
        let expected = json!({"ingress": [
            {"ip": "192.0.2.1", "ipMode": "Proxy",
             "ports": [{"port": 80, "protocol": "TCP", "error": "example.com/Quota"}]},
            {"hostname": "a.example"},
        ]});
        assert_eq!(serde_json::to_value(status(&balancer)).unwrap(), expected);
    }

    #[test]
    fn the_finalizers_of_others_stay() {
        let service: Service = serde_json::from_value(json!({
            "metadata": {"resourceVersion": "7", "finalizers": ["example.com/a", FINALIZER]}}))
        .unwrap();
        let finalizers = |has| finalizer_patch(&service, has)["metadata"]["finalizers"].clone();
        assert_eq!(finalizers(true), json!(["example.com/a", FINALIZER]));
        assert_eq!(finalizers(false), json!(["example.com/a"]));
        let cleared = status_patch(&service, &LoadBalancerStatus::default());
        assert_eq!(cleared["status"]["loadBalancer"], json!({"ingress": null}));
    }
}
