//! The life of each kind.

use slipway_resource::provider::Action;
use slipway_resource::{Address, Identity, Observation, Value};

use crate::support::{CLUSTER, Cloud, moto};

fn tags(name: &str) -> Value {
    Value::map([("Name", name), ("KubernetesCluster", CLUSTER)])
}

fn id(applied: &slipway_resource::provider::Applied) -> Identity {
    applied.identity.clone().unwrap()
}

async fn vpc(cloud: &Cloud) -> Identity {
    let attributes = Value::map([
        ("cidr_block", Value::from("10.0.0.0/16")),
        ("assign_generated_ipv6_cidr_block", true.into()),
        ("enable_dns_hostnames", true.into()),
        ("enable_dns_support", true.into()),
        ("tags", tags("a")),
    ]);
    id(&cloud.create("aws_vpc.a-example-com", attributes).await)
}

fn subnet(vpc: &Identity, map_public: bool) -> Value {
    Value::map([
        ("vpc_id", Value::from(vpc.as_str())),
        ("availability_zone", "us-east-1a".into()),
        ("cidr_block", "10.0.32.0/19".into()),
        ("enable_resource_name_dns_a_record_on_launch", true.into()),
        ("private_dns_hostname_type_on_launch", "resource-name".into()),
        ("map_public_ip_on_launch", map_public.into()),
        ("tags", tags("us-east-1a")),
    ])
}

/// Everything that discovery finds is what was made: address and identity.
async fn assert_found(cloud: &Cloud, made: &[(&str, &Identity)]) {
    let found: Vec<(String, String)> = cloud
        .discover()
        .await
        .iter()
        .map(|observed| (observed.address.to_string(), observed.identity.to_string()))
        .collect();
    let mut wanted: Vec<(String, String)> =
        made.iter().map(|(address, id)| ((*address).to_owned(), id.to_string())).collect();
    wanted.sort();
    assert_eq!(found, wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vpc_and_what_it_uses() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let vpc_id = vpc(&cloud).await;
    let options = Value::map([
        ("domain_name", Value::from("us-east-1.compute.internal")),
        ("domain_name_servers", Value::list(["AmazonProvidedDNS"])),
        ("tags", tags("a")),
    ]);
    let options = id(&cloud.create("aws_vpc_dhcp_options.a-example-com", options).await);
    let association = Value::map([("vpc_id", vpc_id.as_str()), ("dhcp_options_id", options.as_str())]);
    let association = id(&cloud.create("aws_vpc_dhcp_options_association.a-example-com", association).await);
    let range = Value::map([("vpc_id", vpc_id.as_str()), ("cidr_block", "10.1.0.0/16")]);
    let range = id(&cloud.create("aws_vpc_ipv4_cidr_block_association.cidr-10-1-0-0--16", range).await);
    let made = [
        ("aws_vpc.a-example-com", &vpc_id),
        ("aws_vpc_dhcp_options.a-example-com", &options),
        ("aws_vpc_dhcp_options_association.a-example-com", &association),
        ("aws_vpc_ipv4_cidr_block_association.cidr-10-1-0-0--16", &range),
    ];
    assert_found(&cloud, &made).await;

    let Observation::Present(prior) = cloud.read(made[0].0, &vpc_id).await.observation else { panic!() };
    let changed = Value::map([
        ("cidr_block", Value::from("10.0.0.0/16")),
        ("assign_generated_ipv6_cidr_block", true.into()),
        ("enable_dns_support", true.into()),
        ("tags", Value::map([("Name", "b")])),
    ]);
    let updated = cloud.update(made[0].0, &vpc_id, &prior, changed).await;
    assert_eq!(updated.attributes.get("tags"), Some(&Value::map([("Name", "b")])));

    for (address, id) in [made[3], made[2], made[1], made[0]] {
        cloud.delete(address, id).await;
    }
    assert_found(&cloud, &[]).await;
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn public_and_private_subnets() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let vpc_id = vpc(&cloud).await;
    let subnet_name = "aws_subnet.us-east-1a-a-example-com";
    let made = cloud.create(subnet_name, subnet(&vpc_id, false)).await;
    let subnet_id = id(&made);
    let gateway = Value::map([("vpc_id", Value::from(vpc_id.as_str())), ("tags", tags("a"))]);
    let gateway_id = id(&cloud.create("aws_internet_gateway.a-example-com", gateway.clone()).await);
    let egress_id = id(&cloud.create("aws_egress_only_internet_gateway.a-example-com", gateway).await);
    let table = Value::map([("vpc_id", Value::from(vpc_id.as_str())), ("tags", tags("a"))]);
    let table_id = id(&cloud.create("aws_route_table.a-example-com", table.clone()).await);
    let private_id = id(&cloud.create("aws_route_table.private-us-east-1a-a-example-com", table).await);
    let route = Value::map([
        ("route_table_id", table_id.as_str()),
        ("destination_cidr_block", "0.0.0.0/0"),
        ("gateway_id", gateway_id.as_str()),
    ]);
    let route_id = id(&cloud.create("aws_route.route-0-0-0-0--0", route).await);
    let address = Value::map([("domain", Value::from("vpc")), ("tags", tags("a"))]);
    let address_id = id(&cloud.create("aws_eip.us-east-1a-a-example-com", address).await);
    let nat = Value::map([
        ("subnet_id", Value::from(subnet_id.as_str())),
        ("allocation_id", address_id.as_str().into()),
        ("tags", tags("a")),
    ]);
    let nat_id = id(&cloud.create("aws_nat_gateway.us-east-1a-a-example-com", nat).await);
    let route = |target: &str, id: &Identity, place: &str, range: &str| {
        Value::map([("route_table_id", private_id.as_str()), (target, id.as_str()), (place, range)])
    };
    let to_nat = route("nat_gateway_id", &nat_id, "destination_cidr_block", "0.0.0.0/0");
    let to_nat_id = id(&cloud.create("aws_route.route-private-us-east-1a-0-0-0-0--0", to_nat).await);
    let out = route("egress_only_gateway_id", &egress_id, "destination_ipv6_cidr_block", "::/0");
    let out_id = id(&cloud.create("aws_route.route-private-us-east-1a-__--0", out).await);
    let association = Value::map([("route_table_id", table_id.as_str()), ("subnet_id", subnet_id.as_str())]);
    let association_name = "aws_route_table_association.us-east-1a-a-example-com";
    let association = cloud.create(association_name, association).await;
    let association_id = id(&association);
    let all = [
        ("aws_vpc.a-example-com", &vpc_id),
        (subnet_name, &subnet_id),
        ("aws_internet_gateway.a-example-com", &gateway_id),
        ("aws_egress_only_internet_gateway.a-example-com", &egress_id),
        ("aws_route_table.a-example-com", &table_id),
        ("aws_route_table.private-us-east-1a-a-example-com", &private_id),
        ("aws_route.route-0-0-0-0--0", &route_id),
        ("aws_eip.us-east-1a-a-example-com", &address_id),
        ("aws_nat_gateway.us-east-1a-a-example-com", &nat_id),
        ("aws_route.route-private-us-east-1a-0-0-0-0--0", &to_nat_id),
        ("aws_route.route-private-us-east-1a-__--0", &out_id),
        (association_name, &association_id),
    ];
    assert_found(&cloud, &all).await;

    cloud.update(subnet_name, &subnet_id, &made.attributes, subnet(&vpc_id, true)).await;
    let moved = Value::map([("route_table_id", private_id.as_str()), ("subnet_id", subnet_id.as_str())]);
    cloud.update(association_name, &association_id, &association.attributes, moved).await;

    for index in [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0] {
        cloud.delete(all[index].0, all[index].1).await;
    }
    assert_found(&cloud, &[]).await;
    cloud.end().await;
}

fn rule(group: &Identity, entries: &[(&str, Value)]) -> Value {
    let mut all = vec![
        ("security_group_id", Value::from(group.as_str())),
        ("type", "ingress".into()),
        ("protocol", "tcp".into()),
        ("from_port", 443i64.into()),
        ("to_port", 443i64.into()),
    ];
    all.extend(entries.iter().cloned());
    Value::map(all)
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_and_rules() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let vpc_id = vpc(&cloud).await;
    let group = |name: &str| {
        Value::map([
            ("name", Value::from(name)),
            ("description", "what it is for".into()),
            ("vpc_id", vpc_id.as_str().into()),
            ("tags", tags(name)),
        ])
    };
    let masters = id(&cloud.create("aws_security_group.masters-a-example-com", group("masters.a")).await);
    let nodes = id(&cloud.create("aws_security_group.nodes-a-example-com", group("nodes.a")).await);
    let all = |entries: &[(&'static str, Value)]| {
        let mut open: Vec<(&'static str, Value)> =
            vec![("protocol", "-1".into()), ("from_port", 0i64.into()), ("to_port", 0i64.into())];
        open.extend(entries.iter().cloned());
        open
    };
    let from_nodes = ("source_security_group_id", Value::from(nodes.as_str()));
    let rules = [
        (
            "from-0-0-0-0--0-ingress-tcp-443to443-masters-a-example-com",
            rule(&masters, &[("cidr_blocks", Value::list(["0.0.0.0/0"]))]),
        ),
        (
            "from-__--0-ingress-tcp-443to443-masters-a-example-com",
            rule(&masters, &[("ipv6_cidr_blocks", Value::list(["::/0"]))]),
        ),
        (
            "from-nodes-a-example-com-ingress-tcp-443to443-masters-a-example-com",
            rule(&masters, std::slice::from_ref(&from_nodes)),
        ),
        (
            "from-masters-a-example-com-egress-all-0to0-0-0-0-0--0",
            rule(&masters, &all(&[("type", "egress".into()), ("cidr_blocks", Value::list(["0.0.0.0/0"]))])),
        ),
        (
            "from-nodes-a-example-com-ingress-all-0to0-nodes-a-example-com",
            rule(&nodes, &all(&[("source_security_group_id", nodes.as_str().into())])),
        ),
        (
            "from-nodes-a-example-com-ingress-4-0to65535-masters-a-example-com",
            rule(
                &masters,
                &[
                    ("protocol", "4".into()),
                    ("from_port", 0i64.into()),
                    ("to_port", 65_535i64.into()),
                    from_nodes.clone(),
                ],
            ),
        ),
        (
            "from-0-0-0-0--0-ingress-icmp-3to4-masters-a-example-com",
            rule(
                &masters,
                &[
                    ("protocol", "icmp".into()),
                    ("from_port", 3i64.into()),
                    ("to_port", 4i64.into()),
                    ("cidr_blocks", Value::list(["0.0.0.0/0"])),
                ],
            ),
        ),
    ];
    let names: Vec<String> =
        rules.iter().map(|(name, _)| format!("aws_security_group_rule.{name}")).collect();
    let making =
        names.iter().zip(&rules).map(|(name, (_, attributes))| cloud.create(name, attributes.clone()));
    let made: Vec<Identity> = futures_util::future::join_all(making).await.iter().map(id).collect();

    let mut everything = vec![
        ("aws_vpc.a-example-com", &vpc_id),
        ("aws_security_group.masters-a-example-com", &masters),
        ("aws_security_group.nodes-a-example-com", &nodes),
    ];
    everything.extend(names.iter().map(String::as_str).zip(&made));
    assert_found(&cloud, &everything).await;

    let described =
        rule(&masters, &[("cidr_blocks", Value::list(["0.0.0.0/0"])), ("description", "the API".into())]);
    let Observation::Present(prior) = cloud.read(&names[0], &made[0]).await.observation else { panic!() };
    cloud.update(&names[0], &made[0], &prior, described).await;

    let going = names.iter().zip(&made).map(|(name, id)| cloud.delete(name, id));
    futures_util::future::join_all(going).await;
    cloud.delete("aws_security_group.nodes-a-example-com", &nodes).await;
    cloud.delete("aws_security_group.masters-a-example-com", &masters).await;
    cloud.delete("aws_vpc.a-example-com", &vpc_id).await;
    assert_found(&cloud, &[]).await;
    cloud.end().await;
}

/// Groups that others have made have rules of their own, as the one that lets everything out.
#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_others_have_made_is_used_and_stays() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let mut other = Cloud::open(&moto.endpoint()).await;
    other.uid = slipway_resource::ClusterUid::new("another");
    let vpc_id = vpc(&other).await;
    let group = Value::map([
        ("name", Value::from("shared")),
        ("description", "what it is for".into()),
        ("vpc_id", vpc_id.as_str().into()),
    ]);
    let group = id(&other.create("aws_security_group.shared", group).await);
    let open = rule(&group, &[("cidr_blocks", Value::list(["0.0.0.0/0"]))]);
    let theirs = id(&other.create("aws_security_group_rule.open", open.clone()).await);
    let ssh = [
        ("from_port", 22i64.into()),
        ("to_port", 22i64.into()),
        ("cidr_blocks", Value::list(["10.0.0.0/8"])),
    ];
    let ssh = rule(&group, &ssh);
    // Both at once: AWS refuses the whole call for the sake of the one that is there.
    let (used, made) = tokio::join!(
        cloud.create("aws_security_group_rule.used", open.clone()),
        cloud.create("aws_security_group_rule.made", ssh),
    );
    let (used, made) = (id(&used), id(&made));
    assert_eq!(used.as_str(), format!("{theirs}_shared"));
    let Observation::Present(found) = cloud.read("aws_security_group_rule.used", &used).await.observation
    else {
        panic!("it is there")
    };
    cloud.assert_no_change(&"aws_security_group_rule.used".parse().unwrap(), &open, &found).await;
    let described = rule(&group, &[("cidr_blocks", Value::list(["0.0.0.0/0"])), ("description", "x".into())]);
    let address: Address = "aws_security_group_rule.used".parse().unwrap();
    cloud.delete("aws_security_group_rule.made", &made).await;
    cloud.apply(&address, Action::Delete { identity: used.clone() }).await.unwrap();
    let left = other.read("aws_security_group_rule.open", &theirs).await.observation;
    assert!(matches!(left, Observation::Present(_)), "{left:?}");
    assert_found(&cloud, &[]).await;

    // Once it is gone, the cluster makes one of its own.
    other.delete("aws_security_group_rule.open", &theirs).await;
    assert!(matches!(
        cloud.read("aws_security_group_rule.used", &used).await.observation,
        Observation::Absent
    ));
    let own = id(&cloud.create("aws_security_group_rule.used", described).await);
    assert_eq!(own, theirs);
    cloud.delete("aws_security_group_rule.used", &own).await;
    cloud.end().await;
    other.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_without_our_tags_is_not_ours() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let vpc_id = vpc(&cloud).await;
    let mut other = Cloud::open(&moto.endpoint()).await;
    other.uid = slipway_resource::ClusterUid::new("another");
    let theirs = vpc(&other).await;
    assert_found(&cloud, &[("aws_vpc.a-example-com", &vpc_id)]).await;
    assert_found(&other, &[("aws_vpc.a-example-com", &theirs)]).await;
    let address: Address = "aws_vpc.x".parse().unwrap();
    let found = cloud.session.import(&address, &theirs).await.unwrap();
    assert_eq!(found.address, address);
    cloud.end().await;
    other.end().await;
}
