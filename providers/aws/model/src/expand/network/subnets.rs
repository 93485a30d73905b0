//! Subnets, each with the table that it uses.

use ipnet::Ipv6Net;
use slipway_cluster_input::{Subnet, SubnetKind};
use slipway_resource::{Path, ProviderError, RangePart, Reference, Value};

use super::vpc::additional_ranges;
use super::{egress, is_unmanaged, public_route_table};
use crate::expand::build::{Builder, address, id_of};
use crate::expand::compute::is_group;
use crate::expand::links::vpc_id;
use crate::expand::refuse;
use crate::expand::topology::{has_ipv6, has_ipv6_range, is_public, subnet_field, subnet_type};
use crate::tags::Tags;

/// How many bits more a subnet's range of 64 bits has than the 56 bits that Amazon gives a network.
const PART_BITS: u8 = 8;

/// The prefix of tags from which Karpenter learns the subnets of a pool's machines.
const SUBNET_POOL: &str = "kops.k8s.io/instance-group/";

/// Adds the subnets that do not exist yet.
pub(super) fn subnets(builder: &mut Builder<'_>) -> Result<(), ProviderError> {
    let subnets = &builder.cluster.network.subnets;
    for subnet in subnets.iter().filter(|subnet| subnet.id.is_none()) {
        one(builder, subnet)?;
        if is_unmanaged(subnet) {
            continue;
        }
        let (name, table) = if subnet.kind == SubnetKind::Private {
            (format!("private-{}", subnet.name), egress::table_of(builder, subnet))
        } else if egress::has_zone_s_table(builder, subnet) {
            let table = builder.named(&format!("public-{}", subnet.zone));
            (format!("public-{}", subnet.name), address("aws_route_table", &table))
        } else {
            (subnet.name.clone(), public_route_table(builder))
        };
        let draft = builder
            .draft("aws_route_table_association", &builder.named(&name), subnet_field(subnet, "egress"))
            .fix("route_table_id", id_of(&table))
            .fix("subnet_id", id_of(&address("aws_subnet", &builder.named(&subnet.name))));
        builder.add(draft);
    }
    Ok(())
}

fn one(builder: &mut Builder<'_>, subnet: &Subnet) -> Result<(), ProviderError> {
    let field = |name: &str| subnet_field(subnet, name);
    let (ipv4, ipv6) = (subnet.cidr.is_some(), has_ipv6_range(builder, subnet));
    let only = |flag: bool| if flag { Value::Bool(true) } else { Value::Null };
    let mut draft = builder
        .draft("aws_subnet", &builder.named(&subnet.name), format!("network.subnets[{}]", subnet.name))
        .set("availability_zone", subnet.zone.as_str(), field("zone"))
        .set("cidr_block", subnet.cidr.map(|range| range.to_string()), field("cidr"))
        .set("ipv6_cidr_block", ipv6_range(builder, subnet)?, field("ipv6Cidr"))
        .set("assign_ipv6_address_on_creation", only(ipv6), field("ipv6Cidr"))
        .set("ipv6_native", only(ipv6 && !ipv4), field("cidr"))
        .set("enable_dns64", only(ipv6 && !ipv4), field("cidr"))
        .fix("enable_resource_name_dns_a_record_on_launch", only(ipv4))
        .fix("enable_resource_name_dns_aaaa_record_on_launch", only(ipv6))
        .fix("private_dns_hostname_type_on_launch", "resource-name")
        .fix("vpc_id", vpc_id(builder));
    let first = |range: &slipway_cluster_input::value::Cidr| {
        builder.cluster.network.cidr.is_some_and(|network| network.covers(range))
    };
    if subnet.cidr.is_some_and(|range| !first(&range)) {
        draft = draft.after(additional_ranges(builder));
    }
    if !builder.settings.disable_subnet_tags {
        draft = draft.tags(tags(builder, subnet));
    }
    builder.add(draft);
    Ok(())
}

/// The tags by which controllers choose subnets for load balancers.
fn tags(builder: &Builder<'_>, subnet: &Subnet) -> Tags {
    let mut tags = builder.tags(&builder.named(&subnet.name));
    tags.insert("SubnetType".to_owned(), subnet_type(builder, subnet));
    let private = |subnet: &Subnet| subnet.kind == SubnetKind::Private;
    let lone_public =
        subnet.kind == SubnetKind::Public && !builder.cluster.network.subnets.iter().any(private);
    if is_public(subnet) {
        tags.insert("kubernetes.io/role/elb".to_owned(), "1".to_owned());
    }
    // Internal load balancers need IPv4 addresses: where a zone has a subnet of both families, they live in that one.
    let of_both = |other: &Subnet| other.zone == subnet.zone && subnet_type(builder, other) == "DualStack";
    let lesser =
        subnet_type(builder, subnet) != "DualStack" && builder.cluster.network.subnets.iter().any(of_both);
    if lone_public || (private(subnet) && !lesser) {
        tags.insert("kubernetes.io/role/internal-elb".to_owned(), "1".to_owned());
    }
    for pool in &builder.cluster.pools {
        if !is_group(builder, pool) && pool.subnets.contains(&subnet.name) {
            tags.insert(format!("{SUBNET_POOL}{}", pool.name), "true".to_owned());
        }
    }
    tags
}

/// The IPv6 range: as it is written, or a part of the network's that is known once the network is.
fn ipv6_range(builder: &Builder<'_>, subnet: &Subnet) -> Result<Value, ProviderError> {
    if let Some(range) = subnet.ipv6_cidr {
        return Ok(range.to_string().into());
    }
    let own = builder.settings.subnet(&subnet.name).and_then(|own| own.ipv6_cidr.as_deref());
    let Some(text) = own else {
        // A spec of Slipway's own leaves the choice open; one of kOps says everything.
        let open = has_ipv6(builder.cluster) && builder.cluster.provider.config.get("kops").is_none();
        let position = builder.cluster.network.subnets.iter().position(|other| other.name == subnet.name);
        let number = position.and_then(|position| u64::try_from(position).ok()).filter(|_| open);
        return Ok(number.map_or(Value::Null, |number| part(builder, number)));
    };
    if text.parse::<Ipv6Net>().is_ok() {
        return Ok(text.into());
    }
    let number = text.strip_prefix("/64#").and_then(|number| u64::from_str_radix(number, 16).ok());
    let Some(number) = number.filter(|number| *number < 1 << PART_BITS) else {
        let hint = "write one, or a part of the network's as in /64#3 (hexadecimal)";
        return Err(refuse(&subnet_field(subnet, "ipv6Cidr"), &format!("{text} is not an IPv6 range"), hint));
    };
    Ok(part(builder, number))
}

/// A part of the network's range: put together when that range is known.
fn part(builder: &Builder<'_>, number: u64) -> Value {
    match &builder.cluster.network.id {
        None => {
            let address = address("aws_vpc", &builder.cluster.name);
            let range = Reference { address, path: Path::key("ipv6_cidr_block") };
            RangePart { range, bits: PART_BITS, number }.into()
        }
        Some(id) => {
            let known = builder.catalog.vpcs.get(id).and_then(|vpc| vpc.ipv6_cidr_block.as_deref());
            known.map_or(Value::Unknown, |range| format!("{range}+{PART_BITS}#{number}").into())
        }
    }
}
