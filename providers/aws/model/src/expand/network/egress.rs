//! The routes of private subnets to the outside: a route table for each zone, and its gateways.

use std::collections::BTreeMap;

use slipway_cluster_input::{Egress, IpFamily, Subnet, SubnetKind};
use slipway_resource::{Address, ProviderError, Value};

use super::route::{self, Route};
use super::{
    egress_only_gateway_id, internet_gateway, internet_gateway_id, is_unmanaged, public_route_table,
};
use crate::expand::build::{Builder, address, id_of};
use crate::expand::links::{subnet_id, vpc_id};
use crate::expand::refuse;
use crate::expand::topology::{has_ipv6, has_ipv6_range, is_public, subnet_field};
use crate::tags::{self, ROUTE_TABLE_ROLE};

/// Well-known prefix under which IPv4 addresses are reached from IPv6 (RFC 6052).
const NAT64: &str = "64:ff9b::/96";

/// Adds the tables of private subnets, their routes, and the gateways that these need.
pub(super) fn egress(builder: &mut Builder<'_>) -> Result<(), ProviderError> {
    let mut done: Vec<Address> = Vec::new();
    for subnet in private(builder) {
        let table = table_of(builder, subnet);
        if !done.contains(&table) {
            zone(builder, subnet, &table)?;
            done.push(table.clone());
        }
        for (index, route) in subnet.additional_routes.iter().enumerate() {
            let field = format!("{}[{index}]", subnet_field(subnet, "additionalRoutes"));
            let destination = route.cidr.to_string();
            let target = route::target(&route.target, &field)?;
            let name = format!("{}-{destination}", subnet.name);
            Route { name: &name, table: &table, destination: &destination, target, origin: &field }
                .add(builder);
        }
    }
    for subnet in builder.cluster.network.subnets.iter().filter(|subnet| subnet.id.is_none()) {
        if has_zone_s_table(builder, subnet) && !is_unmanaged(subnet) {
            public_zone(builder, subnet)?;
        }
    }
    public_routes(builder)
}

/// Adds the further routes of public subnets. Subnets that share a table share its routes: equal routes of
/// two subnets are one route, and different ones for the same range are refused.
fn public_routes(builder: &mut Builder<'_>) -> Result<(), ProviderError> {
    let mut known: BTreeMap<(Address, String), &str> = BTreeMap::new();
    let subnets = builder.cluster.network.subnets.iter();
    for subnet in subnets.filter(|subnet| is_public(subnet) && subnet.id.is_none() && !is_unmanaged(subnet)) {
        let table = match has_zone_s_table(builder, subnet) {
            true => address("aws_route_table", &builder.named(&format!("public-{}", subnet.zone))),
            false => public_route_table(builder),
        };
        for (index, route) in subnet.additional_routes.iter().enumerate() {
            let field = format!("{}[{index}]", subnet_field(subnet, "additionalRoutes"));
            let destination = route.cidr.to_string();
            let target = route::target(&route.target, &field)?;
            match known.insert((table.clone(), destination.clone()), &route.target) {
                Some(other) if other == route.target => continue,
                Some(other) => {
                    let message = format!(
                        "another public subnet with the same route table sends {destination} to {other}"
                    );
                    return Err(refuse(&field, &message, "name one target, or use private subnets"));
                }
                None => {}
            }
            let name = format!("{}-{destination}", subnet.name);
            Route { name: &name, table: &table, destination: &destination, target, origin: &field }
                .add(builder);
        }
    }
    Ok(())
}

/// Adds a table for a zone's public subnets with IPv6 addresses: straight to the internet in both families, and from IPv6
/// to IPv4 addresses through a NAT gateway.
fn public_zone(builder: &mut Builder<'_>, subnet: &Subnet) -> Result<(), ProviderError> {
    let role = format!("public-{}", subnet.zone);
    let (name, field) = (builder.named(&role), subnet_field(subnet, "ipv6Cidr"));
    let table = address("aws_route_table", &name);
    if builder.has(&table) {
        return Ok(());
    }
    let draft = builder
        .draft("aws_route_table", &name, &field)
        .fix("vpc_id", vpc_id(builder))
        .tags(tags::with(builder.tags(&name), [(ROUTE_TABLE_ROLE, role.as_str())]));
    builder.add(draft);
    let translated = id_of(&nat_gateway(builder, subnet, None)?);
    let straight = internet_gateway_id(builder)?;
    for (destination, target) in [
        ("0.0.0.0/0", ("gateway_id", straight.clone())),
        (NAT64, ("nat_gateway_id", translated)),
        ("::/0", ("gateway_id", straight)),
    ] {
        let name = format!("{role}-{destination}");
        Route { name: &name, table: &table, destination, target, origin: &field }.add(builder);
    }
    Ok(())
}

/// Whether a public subnet has a table of its zone's own.
pub(super) fn has_zone_s_table(builder: &Builder<'_>, subnet: &Subnet) -> bool {
    subnet.kind == SubnetKind::Public
        && builder.cluster.network.ip_family == IpFamily::Ipv6
        && has_ipv6_range(builder, subnet)
}

/// The private subnets whose routes Slipway manages.
fn private<'a>(builder: &Builder<'a>) -> impl Iterator<Item = &'a Subnet> + use<'a> {
    let subnets = &builder.cluster.network.subnets;
    subnets
        .iter()
        .filter(|subnet| subnet.kind == SubnetKind::Private && subnet.id.is_none() && !is_unmanaged(subnet))
}

/// The table of a private subnet: that of its zone, or its own if the zone's other subnets have another
/// egress.
pub(super) fn table_of(builder: &Builder<'_>, subnet: &Subnet) -> Address {
    address("aws_route_table", &builder.named(&table_name(builder, subnet)))
}

fn table_name(builder: &Builder<'_>, subnet: &Subnet) -> String {
    let mut zone = private(builder).filter(|other| other.zone == subnet.zone);
    let first = zone.next();
    if first.is_none_or(|first| first.egress == subnet.egress) {
        return format!("private-{}", subnet.zone);
    }
    let alike = zone.find(|other| other.egress == subnet.egress).unwrap_or(subnet);
    format!("private-{}-{}", subnet.zone, alike.name)
}

/// Adds the table of a zone's private subnets with its routes to the outside.
fn zone(builder: &mut Builder<'_>, subnet: &Subnet, table: &Address) -> Result<(), ProviderError> {
    let role = table_name(builder, subnet);
    let field = subnet_field(subnet, "egress");
    let name = builder.named(&role);
    let draft = builder
        .draft("aws_route_table", &name, &field)
        .fix("vpc_id", vpc_id(builder))
        .tags(tags::with(builder.tags(&name), [(ROUTE_TABLE_ROLE, role.as_str())]));
    builder.add(draft);
    let Some(outside) = way_out(builder, subnet)? else { return Ok(()) };
    let mut routes = vec![("0.0.0.0/0", outside.clone())];
    if has_ipv6(builder.cluster) {
        if outside.0 != "instance_id" && builder.cluster.network.ip_family == IpFamily::Ipv6 {
            routes.push((NAT64, outside));
        }
        routes.push(("::/0", ("egress_only_gateway_id", egress_only_gateway_id(builder)?)));
    }
    for (destination, target) in routes {
        let name = format!("{role}-{destination}");
        Route { name: &name, table, destination, target, origin: &field }.add(builder);
    }
    Ok(())
}

/// The attribute and the id of where the default route leads; adds the gateway where there is none yet.
fn way_out(
    builder: &mut Builder<'_>,
    subnet: &Subnet,
) -> Result<Option<(&'static str, Value)>, ProviderError> {
    Ok(match &subnet.egress {
        Egress::NatGateway { id: Some(id), .. } => Some(("nat_gateway_id", id.as_str().into())),
        Egress::NatGateway { id: None, elastic_ip } => {
            let gateway = nat_gateway(builder, subnet, elastic_ip.as_deref())?;
            Some(("nat_gateway_id", id_of(&gateway)))
        }
        Egress::NatInstance { id } => Some(("instance_id", id.as_str().into())),
        Egress::TransitGateway { id } => Some(("transit_gateway_id", id.as_str().into())),
        Egress::InternetGateway {} | Egress::External {} | Egress::None {} => None,
    })
}

/// Adds the NAT gateway that serves a subnet: that of its zone, or of another where its own has no public subnet.
fn nat_gateway(
    builder: &mut Builder<'_>,
    subnet: &Subnet,
    elastic_ip: Option<&str>,
) -> Result<Address, ProviderError> {
    let field = subnet_field(subnet, "egress");
    let Some(place) = gateway_subnet(builder, subnet) else {
        let message = "a NAT gateway needs a utility or public subnet, and there is none";
        return Err(refuse(&field, message, "add one, or name another egress"));
    };
    let name = builder.named(&place.zone);
    let gateway = address("aws_nat_gateway", &name);
    if builder.has(&gateway) {
        return Ok(gateway);
    }
    let public_ip = builder.settings.subnet(&subnet.name).and_then(|own| own.public_ip.as_deref());
    let allocation = match (elastic_ip, public_ip) {
        (Some(id), _) => id.into(),
        (None, Some(public_ip)) => allocation(builder, subnet, public_ip)?,
        (None, None) => {
            let draft =
                builder.draft("aws_eip", &name, &field).fix("domain", "vpc").tags(builder.tags(&name));
            id_of(&builder.add(draft))
        }
    };
    let mut draft = builder
        .draft("aws_nat_gateway", &name, &field)
        .set("allocation_id", allocation, &field)
        .fix("subnet_id", subnet_id(builder, place))
        .tags(builder.tags(&name));
    if builder.has(&internet_gateway(builder)) {
        draft = draft.after([internet_gateway(builder)]);
    }
    Ok(builder.add(draft))
}

/// The allocation of an elastic address of the account, which is used and never released.
fn allocation(builder: &Builder<'_>, subnet: &Subnet, public_ip: &str) -> Result<Value, ProviderError> {
    let field = subnet_field(subnet, "publicIP");
    if public_ip.parse::<std::net::Ipv4Addr>().is_err() {
        return Err(refuse(
            &field,
            &format!("{public_ip:?} is not an IPv4 address"),
            "write the address of an elastic IP, or leave it out",
        ));
    }
    match builder.catalog.addresses.get(public_ip) {
        Some(id) => Ok(id.as_str().into()),
        None if builder.catalog.is_offline() => Ok(Value::Unknown),
        None => {
            let message = format!("the account has no elastic address {public_ip} in this region");
            Err(refuse(&field, &message, "allocate it first, or leave it out"))
        }
    }
}

/// The subnet with the gateway of a subnet's zone: a utility subnet of the zone, otherwise a public one of
/// it, otherwise the first of another zone.
fn gateway_subnet<'a>(builder: &Builder<'a>, subnet: &Subnet) -> Option<&'a Subnet> {
    let subnets = &builder.cluster.network.subnets;
    let candidates = || subnets.iter().filter(|candidate| is_public(candidate));
    candidates()
        .filter(|candidate| candidate.zone == subnet.zone)
        .min_by_key(|candidate| candidate.kind != SubnetKind::Utility)
        .or_else(|| candidates().min_by_key(|candidate| candidate.kind != SubnetKind::Utility))
}
