//! The network itself, and its gateways.

use slipway_cluster_input::{Subnet, SubnetKind};
use slipway_resource::{Address, ProviderError, Value};

use super::route::Route;
use super::{internet_gateway, internet_gateway_id, is_unmanaged, public_route_table};
use crate::expand::build::{Builder, address, id_of};
use crate::expand::links::vpc_id;
use crate::expand::refuse;
use crate::expand::topology::{has_ipv6, is_public};
use crate::tags::{self, ROUTE_TABLE_ROLE};

/// The region whose machines have another domain than in all other regions.
const OLDEST_REGION: &str = "us-east-1";

/// Adds the cluster's network, with its ranges and its DHCP options.
pub(super) fn vpc(builder: &mut Builder<'_>) -> Result<(), ProviderError> {
    let cluster = builder.cluster;
    let (name, network) = (cluster.name.as_str(), &cluster.network);
    let Some(cidr) = network.cidr else {
        return Err(refuse(
            "network.cidr",
            "a network of the cluster's own needs an IPv4 range",
            "write one, as in 172.20.0.0/16, or name the network's id",
        ));
    };
    if network.ipv6_cidr.is_some() {
        let message = "Amazon assigns the IPv6 range of a network that it makes";
        return Err(refuse("network.ipv6Cidr", message, "leave this out, here and in subnets"));
    }
    let draft = builder
        .draft("aws_vpc", name, "network")
        .set("cidr_block", cidr.to_string(), "network.cidr")
        .fix("assign_generated_ipv6_cidr_block", true)
        .fix("enable_dns_hostnames", true)
        .fix("enable_dns_support", true)
        .tags(builder.tags(name));
    builder.add(draft);

    for (index, range) in network.additional_cidrs.iter().enumerate() {
        let field = format!("network.additionalCidrs[{index}]");
        let draft = builder
            .draft("aws_vpc_ipv4_cidr_block_association", &format!("cidr-{range}"), &field)
            .set("cidr_block", range.to_string(), &field)
            .fix("vpc_id", vpc_id(builder));
        builder.add(draft);
    }

    let region = &builder.catalog.region;
    let domain = if region == OLDEST_REGION {
        "ec2.internal".to_owned()
    } else {
        format!("{region}.compute.internal")
    };
    let draft = builder
        .draft("aws_vpc_dhcp_options", name, "network")
        .set("domain_name", domain, "region")
        .fix("domain_name_servers", Value::list(["AmazonProvidedDNS"]))
        .tags(builder.tags(name));
    let options = builder.add(draft);
    let draft = builder
        .draft("aws_vpc_dhcp_options_association", name, "network")
        .fix("dhcp_options_id", id_of(&options))
        .fix("vpc_id", vpc_id(builder));
    builder.add(draft);
    Ok(())
}

/// The further ranges of the network. A range must exist before a subnet in it.
pub(super) fn additional_ranges(builder: &Builder<'_>) -> Vec<Address> {
    let ranges = &builder.cluster.network.additional_cidrs;
    let known = |range: &_| address("aws_vpc_ipv4_cidr_block_association", &format!("cidr-{range}"));
    ranges.iter().map(known).filter(|address| builder.has(address)).collect()
}

/// Adds the ways to the internet, and the table that sends public subnets there.
pub(super) fn gateways(builder: &mut Builder<'_>) -> Result<(), ProviderError> {
    let cluster = builder.cluster;
    let name = cluster.name.as_str();
    let subnets = &cluster.network.subnets;
    if subnets.iter().all(is_unmanaged) {
        return Ok(());
    }
    if cluster.network.id.is_none() {
        let draft = builder
            .draft("aws_internet_gateway", name, "network")
            .fix("vpc_id", vpc_id(builder))
            .tags(builder.tags(name));
        let made = builder.add(draft);
        debug_assert_eq!(made, internet_gateway(builder), "the address follows from the name");
        let leaves = |subnet: &Subnet| subnet.kind == SubnetKind::Private && !is_unmanaged(subnet);
        if has_ipv6(cluster) && subnets.iter().any(leaves) {
            let draft = builder
                .draft("aws_egress_only_internet_gateway", name, "network.ipFamily")
                .fix("vpc_id", vpc_id(builder))
                .tags(builder.tags(name));
            builder.add(draft);
        }
    }
    let mut new = subnets.iter().filter(|subnet| subnet.id.is_none()).peekable();
    // An existing network without an internet gateway is accepted as long as no subnet needs one.
    let known = cluster.network.id.as_ref().and_then(|id| builder.catalog.vpcs.get(id));
    let closed = known.is_some_and(|vpc| vpc.internet_gateway.is_none());
    if new.peek().is_none() || (closed && !new.any(is_public)) {
        return Ok(());
    }
    let table = public_route_table(builder);
    let draft = builder
        .draft("aws_route_table", name, "network")
        .fix("vpc_id", vpc_id(builder))
        .tags(tags::with(builder.tags(name), [(ROUTE_TABLE_ROLE, "public")]));
    builder.add(draft);
    for destination in ["0.0.0.0/0", "::/0"] {
        let target = ("gateway_id", internet_gateway_id(builder)?);
        Route { name: destination, table: &table, destination, target, origin: "network" }.add(builder);
    }
    Ok(())
}
