//! Subnets of one family of addresses or of both, and load balancers in them.

use crate::harness::{Resources, offline, shown, spec};

/// A second range makes all subnets for load balancers ones of both families.
const BOTH: (&str, &str) = ("cidr: 10.70.32.0/22 }", "cidr: 10.70.32.0/22, ipv6CIDR: /64#5 }");

fn attribute(found: &Resources, address: &str, name: &str) -> Option<String> {
    found.get(&format!("{address}-families-example-com")).get(name).map(shown)
}

#[test]
fn internal_load_balancers_prefer_subnets_of_both_families() {
    let found = offline(&spec("families", &[]));
    let internal = |subnet: &str| {
        let tags = attribute(&found, &format!("aws_subnet.{subnet}"), "tags").unwrap();
        tags.contains("kubernetes.io/role/internal-elb")
    };
    assert!(!internal("a"), "its zone has one of both families");
    assert!(internal("dual-a"));
    assert!(internal("b"), "its zone has no other");
    assert!(!internal("utility-a"));
}

#[test]
fn a_load_balancer_has_both_families_where_all_its_subnets_have() {
    let kind = |changes: &[(&str, &str)]| {
        attribute(&offline(&spec("families", changes)), "aws_lb.api", "ip_address_type")
    };
    assert_eq!(kind(&[]), None);
    assert_eq!(kind(&[BOTH]).as_deref(), Some("dualstack"));
}

#[test]
fn a_bastion_has_names_of_both_families() {
    let found = offline(&spec("families", &[]));
    for (address, kind) in [("ssh-families-example-com", "A"), ("ssh-families-example-com-AAAA", "AAAA")] {
        let record = found.get(&format!("aws_route53_record.{address}"));
        assert_eq!(record.get("type").map(shown).as_deref(), Some(kind));
    }
}

#[test]
fn ranges_that_nobody_names_are_eighths_of_the_network() {
    let found = offline(&spec("families", &[]));
    let range = |subnet: &str| attribute(&found, &format!("aws_subnet.{subnet}"), "cidr_block");
    // utility-b is in the second eighth: the first one is split again, and the third one is the next free
    // one.
    assert_eq!(range("utility-a").as_deref(), Some("10.70.0.0/22"));
    assert_eq!(range("dual-a").as_deref(), Some("10.70.64.0/19"));
    assert_eq!(range("a"), None, "it does without IPv4");
}

#[test]
fn workers_without_subnets_are_where_no_control_plane_need_be() {
    let found = offline(&spec("families", &[]));
    let subnets = attribute(&found, "aws_autoscaling_group.nodes", "vpc_zone_identifier").unwrap();
    assert_eq!(subnets, "[aws_subnet.a-families-example-com.id, aws_subnet.b-families-example-com.id]");
}
