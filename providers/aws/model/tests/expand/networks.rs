//! Networks: existing ones are used, and facts that only the account knows stay unknown.

use slipway_aws_model::catalog::{Catalog, HostedZone, Vpc};
use slipway_resource::Value;
use slipway_spec::model::{Cluster, Egress, Network, Subnet, SubnetKind};

use crate::harness::{Resources, expanded, offline, shown, spec};

#[test]
fn an_existing_network_is_used_and_not_made() {
    let found = offline(&spec("internal", &[]));
    for kind in ["aws_vpc", "aws_internet_gateway", "aws_vpc_dhcp_options", "aws_eip", "aws_nat_gateway"] {
        assert_eq!(found.names(kind), Vec::<&str>::new(), "{kind}");
    }
    let names = found.names("aws_subnet");
    assert_eq!(names, ["b-internal-example-com", "c-internal-example-com", "d-internal-example-com"]);
    let associated = found.names("aws_route_table_association");
    assert_eq!(associated, ["private-b-internal-example-com", "private-c-internal-example-com"]);
    assert_eq!(found.get("aws_subnet.b-internal-example-com").get("vpc_id"), Some(&"vpc-0a1b2c3d".into()));
}

#[test]
fn subnets_of_a_zone_that_leave_elsewhere_have_tables_of_their_own() {
    let found = offline(&spec("internal", &[]));
    let route = |name: &str| {
        let route = found.get(&format!("aws_route.route-private-eu-west-1a{name}-0-0-0-0--0"));
        shown(route.get("nat_gateway_id").or_else(|| route.get("transit_gateway_id")).unwrap())
    };
    assert_eq!(route(""), "nat-0a1b2c3d");
    assert_eq!(route("-c"), "tgw-0a1b2c3d");
}

#[test]
fn gateways_of_an_existing_network_are_unknown_until_they_are_looked_up() {
    let cluster = spec(
        "internal",
        &[("name: d, zone: eu-west-1a, kind: private", "name: d, zone: eu-west-1a, kind: public")],
    );
    let cluster = Cluster {
        network: Network {
            subnets: cluster
                .network
                .subnets
                .into_iter()
                .map(|subnet| Subnet { egress: managed(&subnet), ..subnet })
                .collect(),
            ..cluster.network
        },
        ..cluster
    };
    let gateway = |catalog: &Catalog| {
        let found = Resources(expanded(&cluster, catalog).map_err(|error| error.message)?.resources);
        Ok::<_, String>(found.get("aws_route.route-0-0-0-0--0").get("gateway_id").cloned())
    };
    assert_eq!(gateway(&Catalog::offline("eu-west-1")), Ok(Some(Value::Unknown)));
    let mut known = Catalog::offline("eu-west-1");
    known.vpcs.insert("vpc-0a1b2c3d".to_owned(), Vpc::default());
    let missing = gateway(&known).unwrap_err();
    assert!(missing.starts_with("network.id: vpc-0a1b2c3d has no internet gateway"), "{missing}");
    let vpc = Vpc { internet_gateway: Some("igw-1".to_owned()), ..Vpc::default() };
    known.vpcs.insert("vpc-0a1b2c3d".to_owned(), vpc);
    assert_eq!(gateway(&known), Ok(Some("igw-1".into())));
}

fn managed(subnet: &Subnet) -> Egress {
    match subnet.kind {
        SubnetKind::Public => Egress::InternetGateway {},
        _ => subnet.egress.clone(),
    }
}

/// The private zone of the cluster with an existing network, which these networks see.
fn private_zone(vpcs: Vec<String>) -> HostedZone {
    HostedZone { id: "Z1".to_owned(), name: "example.com".to_owned(), private: true, vpcs }
}

#[test]
fn an_existing_network_is_to_see_a_private_zone_too() {
    let cluster = spec("internal", &[]);
    let associations = |vpcs: &[&str]| {
        let mut known = Catalog::offline("eu-west-1");
        let gateway = Vpc { internet_gateway: Some("igw-1".to_owned()), ..Vpc::default() };
        known.vpcs.insert("vpc-0a1b2c3d".to_owned(), gateway);
        known.hosted_zones.push(private_zone(vpcs.iter().map(ToString::to_string).collect()));
        let found = Resources(expanded(&cluster, &known).unwrap().resources);
        found.names("aws_route53_zone_association").len()
    };
    assert_eq!(associations(&["vpc-0a1b2c3d"]), 0);
    assert_eq!(associations(&["vpc-other"]), 1);
}

#[test]
fn a_network_without_public_subnets_needs_no_way_to_the_internet() {
    let cluster = spec("internal", &[]);
    // New subnets bring the table of public ones along, for the load balancers that come later.
    assert!(offline(&cluster).names("aws_route").contains(&"route-0-0-0-0--0"));
    let mut closed = Catalog::offline("eu-west-1");
    closed.vpcs.insert("vpc-0a1b2c3d".to_owned(), Vpc::default());
    closed.hosted_zones.push(private_zone(Vec::new()));
    let found = Resources(expanded(&cluster, &closed).unwrap().resources);
    assert!(!found.names("aws_route").contains(&"route-0-0-0-0--0"));
}

#[test]
fn one_zone_s_gateway_serves_a_zone_that_has_no_public_subnet() {
    let shared = [
        ("      - { name: utility-b, zone: eu-west-1b, kind: utility, cidr: 172.20.4.0/22 }\n", ""),
        (
            "        egress: { natGateway: { elasticIp: eipalloc-0a1b2c3d } }\n",
            "        egress: { natGateway: { id: nat-0a1b2c3d } }\n",
        ),
    ];
    let found = offline(&spec("private", &shared));
    assert_eq!(found.names("aws_nat_gateway"), ["eu-west-1a-private-example-com"]);
    let route = found.get("aws_route.route-private-eu-west-1b-0-0-0-0--0");
    assert_eq!(route.get("nat_gateway_id"), Some(&"nat-0a1b2c3d".into()));
}

#[test]
fn machines_of_the_oldest_region_have_its_domain() {
    let domain = |found: &Resources, name: &str| {
        shown(found.get(&format!("aws_vpc_dhcp_options.{name}")).get("domain_name").unwrap())
    };
    assert_eq!(domain(&offline(&spec("public", &[])), "public-example-com"), "ec2.internal");
    let elsewhere = offline(&spec("public", &[("us-east-1", "eu-west-1")]));
    assert_eq!(domain(&elsewhere, "public-example-com"), "eu-west-1.compute.internal");
}

#[test]
fn a_subnet_in_a_further_range_waits_for_it() {
    let found = offline(&spec("public", &[]));
    let subnet = found.0.iter().find(|found| found.address.to_string() == "aws_subnet.b-public-example-com");
    let waits: Vec<String> = subnet.unwrap().depends_on.iter().map(ToString::to_string).collect();
    assert_eq!(waits, ["aws_vpc_ipv4_cidr_block_association.cidr-10-1-0-0--16"]);
}

#[test]
fn public_subnets_of_ipv6_reach_ipv4_through_a_gateway() {
    let public = [
        (
            "{ name: a, zone: eu-west-1a, kind: private, cidr: 10.60.32.0/19 }",
            "{ name: a, zone: eu-west-1a, kind: public, cidr: 10.60.32.0/19 }",
        ),
        ("ipFamily: ipv6", "ipFamily: ipv6\n    topology: public"),
    ];
    let found = offline(&spec("ipv6", &public));
    let association = found.get("aws_route_table_association.public-a-ipv6-example-com");
    let table = shown(association.get("route_table_id").unwrap());
    assert_eq!(table, "aws_route_table.public-eu-west-1a-ipv6-example-com.id");
    let route = found.get("aws_route.route-public-eu-west-1a-64_ff9b__--96");
    let gateway = shown(route.get("nat_gateway_id").unwrap());
    assert_eq!(gateway, "aws_nat_gateway.eu-west-1a-ipv6-example-com.id");
    assert_eq!(found.names("aws_egress_only_internet_gateway"), Vec::<&str>::new());
}

#[test]
fn dual_stack_subnets_leave_by_both_families() {
    let dual = [
        ("ipFamily: ipv6", "ipFamily: dualStack"),
        ("podCidrs: [\"fd00:61::/56\"]", "podCidrs: [100.96.0.0/11, \"fd00:61::/56\"]"),
        ("serviceCidrs: [\"fd00:62::/108\"]", "serviceCidrs: [100.64.0.0/13, \"fd00:62::/108\"]"),
    ];
    let found = offline(&spec("ipv6", &dual));
    let routes: Vec<&str> =
        found.names("aws_route").into_iter().filter(|name| name.contains("private")).collect();
    assert_eq!(routes, ["route-private-eu-west-1a-0-0-0-0--0", "route-private-eu-west-1a-__--0"]);
    let subnet = found.get("aws_subnet.a-ipv6-example-com");
    let range = shown(subnet.get("ipv6_cidr_block").unwrap());
    assert_eq!(range, "${aws_vpc.ipv6-example-com.ipv6_cidr_block}+8#0");
}
