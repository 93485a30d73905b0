//! Whole topologies: the resources of network, security, load balancers and DNS.

use std::fmt::Write as _;

use crate::harness::{Resources, offline, shown, spec};

const KINDS: [&str; 20] = [
    "aws_vpc",
    "aws_vpc_ipv4_cidr_block_association",
    "aws_vpc_dhcp_options",
    "aws_vpc_dhcp_options_association",
    "aws_subnet",
    "aws_internet_gateway",
    "aws_egress_only_internet_gateway",
    "aws_eip",
    "aws_nat_gateway",
    "aws_route_table",
    "aws_route",
    "aws_route_table_association",
    "aws_security_group",
    "aws_security_group_rule",
    "aws_lb",
    "aws_lb_target_group",
    "aws_lb_listener",
    "aws_route53_zone_association",
    "aws_route53_record",
    "aws_key_pair",
];

fn text(resources: &Resources) -> String {
    let mut text = String::new();
    for kind in KINDS {
        for resource in resources.0.iter().filter(|resource| resource.address.kind() == kind) {
            let mut attributes = resource.attributes.clone();
            attributes.set(&slipway_resource::Path::key("tags"), slipway_resource::Value::Null);
            writeln!(text, "{}\n  {}", resource.address, shown(&attributes)).unwrap();
        }
    }
    text
}

#[test]
fn topologies() {
    for name in ["public", "private", "internal", "ipv6"] {
        insta::assert_snapshot!(name, text(&offline(&spec(name, &[]))));
    }
}
