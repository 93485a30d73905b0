//! Security groups: each pod network has what it needs, and no more is open than that.

use slipway_resource::Value;

use crate::harness::{Resources, offline, shown, spec};

/// The traffic that nodes may send to masters, as protocol and ports.
fn from_nodes(found: &Resources) -> Vec<String> {
    let nodes = "aws_security_group.nodes-private-example-com.id";
    let masters = "aws_security_group.masters-private-example-com.id";
    let is = |rule: &Value, name: &str, group: &str| rule.get(name).map(shown).as_deref() == Some(group);
    let text = |rule: &Value, name: &str| rule.get(name).map(shown).unwrap_or_default();
    found
        .0
        .iter()
        .filter(|resource| resource.address.kind() == "aws_security_group_rule")
        .map(|resource| &resource.attributes)
        .filter(|rule| is(rule, "source_security_group_id", nodes) && is(rule, "security_group_id", masters))
        .map(|rule| {
            format!("{} {}-{}", text(rule, "protocol"), text(rule, "from_port"), text(rule, "to_port"))
        })
        .collect()
}

#[test]
fn each_pod_network_has_its_ways_to_masters() {
    let always = ["tcp 1-2379", "tcp 2382-4000", "tcp 4003-65535", "udp 1-65535"];
    for (plugin, more) in [
        ("cilium", None),
        ("flannel", None),
        ("kindnet", None),
        ("none", None),
        ("calico", Some("4 0-65535")),
        ("kube-router", Some("4 0-65535")),
        ("amazon-vpc", Some("-1 0-0")),
    ] {
        let cluster = spec("private", &[("cni: { name: cilium }", &format!("cni: {{ name: {plugin} }}"))]);
        let mut expected: Vec<&str> = always.into_iter().chain(more).collect();
        expected.sort_unstable();
        let mut found = from_nodes(&offline(&cluster));
        found.sort_unstable();
        assert_eq!(found, expected, "{plugin}");
    }
}

#[test]
fn cilium_s_own_etcd_stays_closed() {
    let mut cluster = spec("private", &[]);
    let mut etcd = cluster.etcd[0].clone();
    etcd.name = "cilium".to_owned();
    cluster.etcd.push(etcd);
    let found = from_nodes(&offline(&cluster));
    assert!(found.contains(&"tcp 2383-4000".to_owned()), "{found:?}");
}

#[test]
fn ssh_goes_through_bastions_where_there_are_some() {
    let open = |found: &Resources, to: &str| {
        let range = "from-198-51-100-0--24-ingress-tcp-22to22-";
        found.names("aws_security_group_rule").iter().any(|name| *name == format!("{range}{to}"))
    };
    let with = offline(&spec("private", &[]));
    assert!(open(&with, "bastion-elb-private-example-com"));
    assert!(!open(&with, "masters-private-example-com") && !open(&with, "nodes-private-example-com"));
    let without = offline(&spec("public", &[]));
    assert!(open(&without, "masters-public-example-com") && open(&without, "nodes-public-example-com"));
}

#[test]
fn the_api_is_open_on_the_endpoint_s_port() {
    let found = offline(&spec("public", &[("port: 443", "port: 6443")]));
    let rules = found.names("aws_security_group_rule");
    assert!(rules.contains(&"from-203-0-113-0--24-ingress-tcp-6443to6443-masters-public-example-com"));
    assert!(!rules.iter().any(|name| name.contains("tcp-443to443")), "{rules:?}");
}

#[test]
fn prefix_lists_may_be_of_either_family() {
    let balanced = [(
        "endpoint: { given: { host: api.public.example.com, port: 443 } }",
        "endpoint: { loadBalancer: {} }",
    )];
    let found = offline(&spec("public", &balanced));
    let rules = found.names("aws_security_group_rule");
    let to = "api-elb-public-example-com";
    for (source, expected) in [
        ("203-0-113-0--24", vec!["icmp-3to4", "tcp-443to443"]),
        ("2001_db8_1__--48", vec!["icmpv6--1to-1", "tcp-443to443"]),
        ("pl-0a1b2c3d", vec!["icmp-3to4", "icmpv6--1to-1", "tcp-443to443"]),
    ] {
        let start = format!("from-{source}-ingress-");
        let ports: Vec<&str> = rules
            .iter()
            .filter_map(|name| name.strip_prefix(start.as_str())?.strip_suffix(to)?.strip_suffix('-'))
            .collect();
        assert_eq!(ports, expected, "{source}");
    }
}

#[test]
fn bastions_let_every_subnet_of_their_load_balancer_in_and_ask_no_family_of_a_prefix_list() {
    let changes = [
        ("access: [198.51.100.0/24, \"2001:db8:2::/48\"]", "access: [pl-0a1b2c3d]"),
        (
            "      - { name: utility-b,",
            "      - { name: p, zone: eu-west-1a, kind: public, cidr: 172.20.128.0/22 }\n      - { name: utility-b,",
        ),
    ];
    let found = offline(&spec("private", &changes));
    let rules = found.names("aws_security_group_rule");
    let to = |from: &str, ports: &str| format!("from-{from}-ingress-{ports}-bastion-elb-private-example-com");
    assert!(rules.contains(&to("pl-0a1b2c3d", "tcp-22to22").as_str()));
    for range in ["172-20-0-0--22", "172-20-4-0--22", "172-20-128-0--22"] {
        assert!(rules.contains(&to(range, "tcp-22to22").as_str()), "{range}");
    }
    assert!(!rules.iter().any(|name| name.starts_with("from-pl-0a1b2c3d-ingress-icmp")), "{rules:?}");
}

#[test]
fn groups_that_stand_in_have_every_rule_of_the_role() {
    let found = offline(&spec("internal", &[]));
    let own = found.names("aws_security_group");
    assert_eq!(own, ["nodes-internal-example-com"], "the others exist");
    let rules = found.names("aws_security_group_rule");
    for source in ["nodes-internal-example-com", "sg-others"] {
        for target in ["nodes-internal-example-com", "sg-others"] {
            assert!(rules.contains(&format!("from-{source}-ingress-all-0to0-{target}").as_str()));
        }
        assert!(rules.contains(&format!("from-{source}-ingress-udp-1to65535-sg-master").as_str()));
    }
    assert!(rules.contains(&"from-sg-balancer-ingress-tcp-443to443-sg-master"));
}
