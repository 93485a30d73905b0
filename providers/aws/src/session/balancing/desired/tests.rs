use std::time::Duration;

use super::*;

const PREFIX: &str = "service.beta.kubernetes.io/aws-load-balancer-";

fn port(protocol: PortProtocol, port: u16) -> BalancedPort {
    BalancedPort { name: String::new(), protocol, port, node_port: Some(30_000 + port), app_protocol: None }
}

fn service(ports: Vec<BalancedPort>) -> DesiredBalancer {
    let service = BalancedService {
        ports,
        source_ranges: ["10.0.0.1/8", "::/0"].into_iter().map(|range| range.parse().unwrap()).collect(),
        client_affinity: None,
        annotations: BTreeMap::new(),
        health_check_node_port: None,
        address: None,
        ip_families: vec![IpFamily::V4],
    };
    let key = BalancerKey {
        cluster: "a.example.com".to_owned(),
        name: "a0d3bf7a39d0f4d3c8a2f8c9f5ce7a1b".to_owned(),
        service: "shop/web-frontend".to_owned(),
    };
    DesiredBalancer { key, service, nodes: Vec::new() }
}

fn web() -> DesiredBalancer {
    service(vec![port(PortProtocol::Tcp, 80)])
}

fn annotated(name: &str, value: &str) -> DesiredBalancer {
    let mut desired = web();
    desired.service.annotations.insert(format!("{PREFIX}{name}"), value.to_owned());
    desired
}

fn refused(desired: &DesiredBalancer) -> String {
    NetworkBalancer::of(desired).unwrap_err().message
}

#[test]
fn a_load_balancer_has_the_names_and_tags_of_its_service() {
    let desired = web();
    let balancer = NetworkBalancer::of(&desired).unwrap();
    assert_eq!(balancer.name, desired.key.name);
    assert!(!balancer.internal && !balancer.cross_zone);
    assert_eq!(balancer.tags["kubernetes.io/service-name"], "shop/web-frontend");
    assert_eq!(balancer.tags["kubernetes.io/cluster/a.example.com"], "owned");
    assert_eq!(balancer.tags["KubernetesCluster"], "a.example.com");
    assert_eq!(balancer.ranges, BTreeSet::from(["10.0.0.0/8".parse().unwrap()]));
    let group = &balancer.ports[0].group;
    assert!(group.name.starts_with(&target_group_prefix(&desired.key)), "{}", group.name);
    assert!(group.name.starts_with("k8s-webfront-") && group.name.len() == 32, "{}", group.name);
    assert_eq!((group.port, group.check.port.as_str()), (30_080, "traffic-port"));
    let mut later = web();
    later.key.name = "a1".to_owned();
    assert_ne!(target_group_prefix(&later.key), target_group_prefix(&desired.key));
    assert_eq!(security_group_name(&later.key), "k8s-elb-a1");
}

#[test]
fn a_changed_target_group_has_another_name() {
    let name = |desired: &DesiredBalancer| NetworkBalancer::of(desired).unwrap().ports[0].group.name.clone();
    let mut local = web();
    local.service.health_check_node_port = Some(32_000);
    let mut sticky = web();
    sticky.service.client_affinity = Some(Duration::from_secs(60));
    let interval = annotated("healthcheck-interval", "20");
    let names = BTreeSet::from([web(), local, sticky, interval].map(|desired| name(&desired)));
    assert_eq!(names.len(), 4);
    assert_eq!(name(&web()), name(&annotated("internal", "true")));
}

#[test]
fn nodes_are_checked_where_they_can_answer() {
    let check =
        |desired: &DesiredBalancer| NetworkBalancer::of(desired).unwrap().ports[0].group.check.clone();
    let mut local = web();
    local.service.health_check_node_port = Some(32_000);
    let found = check(&local);
    assert_eq!((found.protocol, found.port.as_str()), (ProtocolEnum::Http, "32000"));
    assert_eq!(found.path.as_deref(), Some("/healthz"));
    let found = check(&service(vec![port(PortProtocol::Udp, 53)]));
    assert_eq!((found.protocol, found.port.as_str()), (ProtocolEnum::Http, KUBE_PROXY));
    let found = check(&annotated("healthcheck-protocol", "https"));
    assert_eq!((found.protocol, found.path.as_deref()), (ProtocolEnum::Https, Some("/")));
    assert_eq!(check(&annotated("healthcheck-path", "/ready")).path, None);
}

#[test]
fn annotations_choose_the_load_balancer() {
    let of = |name: &str, value: &str| NetworkBalancer::of(&annotated(name, value)).unwrap();
    assert!(of("internal", "0.0.0.0/0").internal);
    assert!(!of("internal", "false").internal);
    assert!(of("cross-zone-load-balancing-enabled", "true").cross_zone);
    assert_eq!(of("subnets", "subnet-1, one").subnets, Some(vec!["subnet-1".to_owned(), "one".to_owned()]));
    assert_eq!(of("additional-resource-tags", "team=shop,x").tags["team"], "shop");
    // A Service cannot give its objects to another cluster.
    let other = "KubernetesCluster=b.example.com,kubernetes.io/cluster/b.example.com=owned";
    let of_other = of("additional-resource-tags", other);
    assert_eq!(of_other.tags["KubernetesCluster"], "a.example.com");
    assert!(!of_other.tags.contains_key("kubernetes.io/cluster/b.example.com"));
    let proxy = of("proxy-protocol", "*");
    assert_eq!(proxy.ports[0].group.attributes["proxy_protocol_v2.enabled"], "true");
}

#[test]
fn a_load_balancer_that_aws_does_not_have_is_refused() {
    let text = refused(&annotated("ssl-cert", "arn:aws:acm:us-east-1:1:certificate/1"));
    assert!(text.contains("aws-load-balancer-ssl-cert is not honoured"), "{text}");
    let text = refused(&annotated("type", "external"));
    assert!(text.contains("`external` is not `nlb`"), "{text}");
    let text = refused(&annotated("additional-resource-tags", "team=shop,slipway.dev/cluster-uid=1"));
    assert!(text.contains("the tag `slipway.dev/cluster-uid` is not for Services"), "{text}");
    let text = refused(&annotated("healthcheck-interval", "often"));
    assert!(text.contains("`often` is not a positive number"), "{text}");
    let text = refused(&service(vec![port(PortProtocol::Sctp, 80)]));
    assert!(text.contains("SCTP"), "{text}");
    let text = refused(&service(vec![port(PortProtocol::Tcp, 53), port(PortProtocol::Udp, 53)]));
    assert!(text.contains("port 53: a network load balancer has one protocol"), "{text}");
    let mut without = web();
    without.service.ports[0].node_port = None;
    assert!(refused(&without).contains("no node port"));
    let mut addressed = web();
    addressed.service.address = Some("192.0.2.1".parse().unwrap());
    assert!(refused(&addressed).contains("loadBalancerIP 192.0.2.1"));
    let mut six = web();
    six.service.ip_families = vec![IpFamily::V6];
    assert!(refused(&six).contains("no IPv4 address"));
}
