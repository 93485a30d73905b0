//! Load balancers and DNS.

use slipway_aws_model::catalog::{Catalog, HostedZone};
use slipway_resource::Value;

use crate::harness::{Resources, expanded, offline, shown, spec};

#[test]
fn a_certificate_moves_the_api_s_own_to_another_port() {
    let found = offline(&spec("private", &[]));
    let listeners = found.names("aws_lb_listener");
    assert_eq!(
        listeners,
        ["api-private-example-com-443", "api-private-example-com-8443", "bastion-private-example-com-22"]
    );
    let listener = found.get("aws_lb_listener.api-private-example-com-443");
    assert_eq!(listener.get("protocol"), Some(&"TLS".into()));
    assert_eq!(listener.get("ssl_policy"), Some(&"ELBSecurityPolicy-TLS13-1-2-2021-06".into()));
}

#[test]
fn a_cluster_without_records_has_the_port_where_nodes_ask() {
    let found = offline(&spec("ipv6", &[]));
    assert!(found.names("aws_lb_listener").contains(&"api-ipv6-example-com-3988"));
    assert_eq!(found.names("aws_route53_record"), Vec::<&str>::new());
    assert_eq!(found.get("aws_lb.api-ipv6-example-com").get("ip_address_type"), Some(&"dualstack".into()));
}

#[test]
fn cilium_s_own_etcd_is_behind_it_too_where_there_are_no_records() {
    let mut cluster = spec("ipv6", &[]);
    let mut etcd = cluster.etcd[0].clone();
    etcd.name = "cilium".to_owned();
    cluster.etcd.push(etcd);
    let found = offline(&cluster);
    assert!(found.names("aws_lb_listener").contains(&"api-ipv6-example-com-4003"));
    let rule = "from-api-elb-ipv6-example-com-ingress-tcp-4003to4003-masters-ipv6-example-com";
    assert!(found.names("aws_security_group_rule").contains(&rule));
    let group = found.0.iter().find(|found| {
        found.address.to_string() == "aws_autoscaling_group.control-plane-masters-ipv6-example-com"
    });
    let joined = shown(group.unwrap().attributes.get("target_group_arns").unwrap());
    assert!(joined.contains("aws_lb_target_group.etcd-cilium-"), "{joined}");
}

#[test]
fn an_internal_load_balancer_lives_in_private_subnets() {
    let cluster = spec("internal", &[("scheme: internal, subnets: [b]", "scheme: internal")]);
    let balancer = offline(&cluster).get("aws_lb.api-internal-example-com").clone();
    assert_eq!(balancer.get("internal"), Some(&true.into()));
    assert_eq!(shown(balancer.get("subnet_mapping").unwrap()), "[{subnet_id: subnet-0a1b2c3d}]");
    assert_eq!(shown(balancer.get("security_groups").unwrap()), "[sg-balancer]");
}

#[test]
fn an_internal_load_balancer_lives_in_public_subnets_where_there_are_no_others() {
    let balanced = [(
        "endpoint: { given: { host: api.public.example.com, port: 443 } }",
        "endpoint: { loadBalancer: { scheme: internal } }",
    )];
    let balancer = offline(&spec("public", &balanced)).get("aws_lb.api-public-example-com").clone();
    assert_eq!(balancer.get("internal"), Some(&true.into()));
    assert!(shown(balancer.get("subnet_mapping").unwrap()).contains("aws_subnet."), "{balancer:?}");
}

#[test]
fn records_lead_to_the_load_balancer_in_both_families() {
    let found = offline(&spec("internal", &[]));
    assert_eq!(
        found.names("aws_route53_record"),
        [
            "api-internal-example-com",
            "api-internal-example-com-AAAA",
            "api-internal-internal-example-com",
            "api-internal-internal-example-com-AAAA"
        ]
    );
    assert_eq!(
        found.names("aws_route53_zone_association"),
        Vec::<&str>::new(),
        "the network is somebody else's"
    );
}

#[test]
fn a_hosted_zone_is_unknown_until_it_is_looked_up() {
    let cluster = spec("private", &[]);
    let zone = |catalog: &Catalog| {
        let found = Resources(expanded(&cluster, catalog).map_err(|error| error.message)?.resources);
        let record = found.get("aws_route53_record.api-private-example-com");
        Ok::<_, String>(record.get("zone_id").cloned())
    };
    assert_eq!(zone(&Catalog::offline("eu-west-1")), Ok(Some(Value::Unknown)));
    let mut known = Catalog { account: Some("123456789012".to_owned()), ..Catalog::offline("eu-west-1") };
    let missing = zone(&known).unwrap_err();
    assert_eq!(missing, "controlPlane.dns.zone: the account has no public hosted zone example.com");
    for (id, private) in [("Z1PRIVATE", true), ("Z2PUBLIC", false)] {
        let name = "example.com".to_owned();
        known.hosted_zones.push(HostedZone { id: id.to_owned(), name, private, vpcs: Vec::new() });
    }
    assert_eq!(zone(&known), Ok(Some("Z2PUBLIC".into())));
}
