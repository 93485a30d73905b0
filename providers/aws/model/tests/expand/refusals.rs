//! Settings that are impossible on AWS are refused, with the field and a hint.

use slipway_aws_model::catalog::Catalog;
use slipway_resource::Value;
use slipway_spec::model::Cluster;

use crate::harness::{expanded, spec};

fn refused(cluster: &Cluster) -> String {
    expanded(cluster, &Catalog::offline("eu-west-1")).unwrap_err().message
}

#[test]
fn a_setting_that_nobody_knows() {
    let cluster = spec("internal", &[("securityGroupOverride: sg-master", "securityGroupOverid: sg-master")]);
    assert_eq!(refused(&cluster), "pools[control-plane].providerConfig.securityGroupOverid: is not known");
}

#[test]
fn a_route_to_nowhere() {
    let cluster = spec("private", &[("target: pcx-0a1b2c3d", "target: foo-1")]);
    let message = refused(&cluster);
    assert!(
        message.starts_with("network.subnets[b].additionalRoutes[0]: foo-1 is not a target"),
        "{message}"
    );
}

#[test]
fn two_ways_of_one_table() {
    let public = |cidr: &str, target: &str| {
        format!("cidr: {cidr}, additionalRoutes: [{{ cidr: 192.168.0.0/16, target: {target} }}] }}")
    };
    let edit = |other: &str| {
        let first = public("172.20.32.0/19", "pcx-1");
        let second = public("10.1.32.0/19", other);
        spec("public", &[("cidr: 172.20.32.0/19 }", &first), ("cidr: 10.1.32.0/19 }", &second)])
    };
    let message = refused(&edit("pcx-2"));
    assert!(
        message.starts_with("network.subnets[b].additionalRoutes[0]: another public subnet"),
        "{message}"
    );
    let expansion = expanded(&edit("pcx-1"), &Catalog::offline("us-east-1")).unwrap();
    let routes = expansion.resources.iter().filter(|resource| {
        resource.attributes.get("vpc_peering_connection_id").and_then(Value::as_str) == Some("pcx-1")
    });
    assert_eq!(routes.count(), 1);
}

#[test]
fn a_range_that_only_amazon_assigns() {
    let cluster = spec("ipv6", &[("ipFamily: ipv6", "ipFamily: ipv6\n    ipv6Cidr: fd00:60::/48")]);
    let message = refused(&cluster);
    assert!(message.starts_with("network.ipv6Cidr: Amazon assigns"), "{message}");
}

#[test]
fn a_load_balancer_without_a_place() {
    let mut cluster = spec("internal", &[("scheme: internal, subnets: [b]", "scheme: public")]);
    cluster.network.subnets.retain(|subnet| subnet.name != "e");
    let message = refused(&cluster);
    assert!(message.contains("lives in utility or public subnets, and there is none"), "{message}");
}
