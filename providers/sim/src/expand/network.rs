//! The network, its subnets, gateways and routes.

use ipnet::Ipv6Net;
use slipway_cluster_input::{Egress, Subnet};
use slipway_resource::{Address, Value};

use super::address;
use super::build::{Builder, id_of, word};
use super::topology::{gateway_subnet, has_ipv6, is_public, subnet_field};

/// The address of the network.
pub(super) fn network_address() -> Address {
    address("sim_network", "main")
}

/// The address of a subnet.
pub(super) fn subnet_address(name: &str) -> Address {
    address("sim_subnet", name)
}

/// Adds the network with its contents.
pub(super) fn network(builder: &mut Builder<'_>) {
    let cluster = builder.cluster;
    let network = &cluster.network;
    let ipv6_range =
        network.ipv6_cidr.map(|cidr| cidr.to_string()).or_else(|| range_of_subnets(&network.subnets));
    let assigned = has_ipv6(cluster) && ipv6_range.is_none() && network.id.is_none();
    let mut draft = builder
        .draft("sim_network", "main", "network")
        .set("name", cluster.name.as_str(), "name")
        .set("cidr", network.cidr.map(|cidr| cidr.to_string()), "network.cidr")
        .set("additional_cidrs", texts(&network.additional_cidrs), "network.additionalCidrs")
        .set("ipv6_cidr", ipv6_range, "network.ipv6Cidr")
        .set("assign_ipv6", assigned, "network.ipFamily")
        .set("zones", Value::list(cluster.zones.iter().map(String::as_str)), "zones")
        .protected(cluster.deletion_protection);
    if let Some(id) = &network.id {
        draft = draft.existing(id);
        let message =
            format!("network {id} exists and is used as it is: its ranges and zones are not changed");
        builder.note("network.id", message);
    }
    builder.add(draft);
    for subnet in &network.subnets {
        add_subnet(builder, subnet);
    }
    gateways(builder);
    routes(builder);
}

/// The smallest range of a size that networks have, in which the IPv6 ranges of the subnets lie: subnets with ranges
/// of their own tell which one the network has, where it does not say so itself.
fn range_of_subnets(subnets: &[Subnet]) -> Option<String> {
    const NETWORK_PREFIX: u8 = 56;
    let ranges: Vec<Ipv6Net> = subnets
        .iter()
        .filter(|subnet| subnet.id.is_none())
        .filter_map(|subnet| subnet.ipv6_cidr?.to_string().parse().ok())
        .collect();
    let first = ranges.first()?;
    let mut range = Ipv6Net::new(first.addr(), NETWORK_PREFIX.min(first.prefix_len())).ok()?.trunc();
    while !ranges.iter().all(|other| range.contains(other)) {
        range = range.supernet()?;
    }
    Some(range.to_string())
}

fn texts<T: ToString>(items: &[T]) -> Value {
    Value::list(items.iter().map(ToString::to_string))
}

fn add_subnet(builder: &mut Builder<'_>, subnet: &Subnet) {
    let field = |name: &str| subnet_field(subnet, name);
    let assigned = has_ipv6(builder.cluster) && subnet.ipv6_cidr.is_none();
    let mut draft = builder
        .draft("sim_subnet", &subnet.name, format!("network.subnets[{}]", subnet.name))
        .set("name", subnet.name.as_str(), field("name"))
        .set("network_id", id_of(&network_address()), "network.id")
        .set("zone", subnet.zone.as_str(), field("zone"))
        .set("cidr", subnet.cidr.map(|cidr| cidr.to_string()), field("cidr"))
        .set("ipv6_cidr", subnet.ipv6_cidr.map(|cidr| cidr.to_string()), field("ipv6Cidr"))
        .set("assign_ipv6", assigned, "network.ipFamily")
        .set("kind", word(&subnet.kind), field("kind"))
        .set("public_addresses", is_public(subnet), field("kind"));
    if let Some(id) = &subnet.id {
        draft = draft.existing(id);
        let egress = word(&subnet.egress);
        let routes = subnet.additional_routes.len();
        let message = format!(
            "subnet {id} exists and is used as it is: its ranges, its egress ({egress}) and {routes} additional \
             routes are somebody else's"
        );
        builder.note(format!("network.subnets[{}].id", subnet.name), message);
    }
    builder.add(draft);
}

/// Subnets whose routes Slipway manages.
fn routed<'a>(builder: &Builder<'a>) -> impl Iterator<Item = &'a Subnet> + use<'a> {
    let subnets = builder.cluster.network.subnets.iter();
    subnets.filter(|subnet| subnet.id.is_none() && !matches!(subnet.egress, Egress::External {}))
}

fn gateways(builder: &mut Builder<'_>) {
    let cluster = builder.cluster;
    let needs_internet = routed(builder).any(|subnet| {
        matches!(subnet.egress, Egress::InternetGateway {} | Egress::NatGateway { id: None, .. })
    });
    if needs_internet {
        let draft = builder.draft("sim_internet_gateway", "main", "network.subnets").set(
            "network_id",
            id_of(&network_address()),
            "network.id",
        );
        let draft = match &cluster.network.id {
            // The gateway that belongs to an existing network is used, whatever its id is.
            Some(network) => draft.existing(&format!("igw-of-{network}")),
            None => draft,
        };
        builder.add(draft);
    }
    let private_ipv6 = has_ipv6(cluster)
        && routed(builder).any(|subnet| !is_public(subnet) && !matches!(subnet.egress, Egress::None {}));
    if private_ipv6 {
        let draft = builder.draft("sim_egress_gateway", "main", "network.ipFamily").set(
            "network_id",
            id_of(&network_address()),
            "network.id",
        );
        builder.add(draft);
    }
    for subnet in routed(builder) {
        if let Egress::NatGateway { id: None, elastic_ip } = &subnet.egress {
            nat_gateway(builder, subnet, elastic_ip.as_deref());
        }
    }
}

fn nat_name(builder: &Builder<'_>, subnet: &Subnet) -> Option<String> {
    gateway_subnet(builder.cluster, subnet).map(|gateway| gateway.zone.clone())
}

fn nat_gateway(builder: &mut Builder<'_>, subnet: &Subnet, elastic_ip: Option<&str>) {
    let cluster = builder.cluster;
    let field = subnet_field(subnet, "egress");
    let (Some(name), Some(place)) = (nat_name(builder, subnet), gateway_subnet(cluster, subnet)) else {
        builder.note(field, "there is no public or utility subnet for a NAT gateway");
        return;
    };
    if builder.has(&address("sim_nat_gateway", &name)) {
        return;
    }
    let public = builder.draft("sim_address", &name, field.as_str());
    let public = match elastic_ip {
        Some(id) => public.existing(id),
        None => public,
    };
    let public = builder.add(public);
    let gateway = builder
        .draft("sim_nat_gateway", &name, field.as_str())
        .set("subnet_id", id_of(&subnet_address(&place.name)), field.as_str())
        .set("address_id", id_of(&public), field.as_str())
        .after([address("sim_internet_gateway", "main")]);
    builder.add(gateway);
}

fn routes(builder: &mut Builder<'_>) {
    let shared: Vec<&Subnet> = routed(builder)
        .filter(|subnet| {
            matches!(subnet.egress, Egress::InternetGateway {}) && subnet.additional_routes.is_empty()
        })
        .collect();
    if !shared.is_empty() {
        let table = table(builder, "public", "network.subnets", &shared);
        default_routes(builder, &table, "public", shared.first().copied());
    }
    for subnet in routed(builder) {
        if shared.iter().any(|other| other.name == subnet.name) {
            continue;
        }
        let name = format!("subnet-{}", subnet.name);
        let table = table(builder, &name, &subnet_field(subnet, "egress"), &[subnet]);
        default_routes(builder, &table, &name, Some(subnet));
        for (index, extra) in subnet.additional_routes.iter().enumerate() {
            let field = format!("{}[{index}]", subnet_field(subnet, "additionalRoutes"));
            let target = Value::from(extra.target.as_str());
            route(builder, &table, &name, &extra.cidr.to_string(), target, &field);
        }
    }
}

fn table(builder: &mut Builder<'_>, name: &str, origin: &str, subnets: &[&Subnet]) -> Address {
    let ids = subnets.iter().map(|subnet| id_of(&subnet_address(&subnet.name)));
    let draft = builder
        .draft("sim_route_table", name, origin)
        .fix("name", format!("{name}.{}", builder.cluster.name))
        .set("network_id", id_of(&network_address()), "network.id")
        .set("subnet_ids", Value::list(ids), "network.subnets");
    builder.add(draft)
}

fn default_routes(builder: &mut Builder<'_>, table: &Address, name: &str, subnet: Option<&Subnet>) {
    let Some(subnet) = subnet else { return };
    let field = subnet_field(subnet, "egress");
    let target = match &subnet.egress {
        Egress::InternetGateway {} => id_of(&address("sim_internet_gateway", "main")),
        Egress::NatGateway { id: Some(id), .. }
        | Egress::NatInstance { id }
        | Egress::TransitGateway { id } => Value::from(id.as_str()),
        Egress::NatGateway { id: None, .. } => match nat_name(builder, subnet) {
            Some(zone) => id_of(&address("sim_nat_gateway", &zone)),
            None => return,
        },
        Egress::External {} | Egress::None {} => return,
    };
    route(builder, table, name, "0.0.0.0/0", target.clone(), &field);
    if has_ipv6(builder.cluster) {
        let target = if is_public(subnet) { target } else { id_of(&address("sim_egress_gateway", "main")) };
        route(builder, table, name, "::/0", target, "network.ipFamily");
    }
}

fn route(builder: &mut Builder<'_>, table: &Address, name: &str, cidr: &str, target: Value, field: &str) {
    let draft = builder
        .draft("sim_route", &format!("{name}-{cidr}"), field)
        .set("route_table_id", id_of(table), field)
        .set("cidr", cidr, field)
        .set("target_id", target, field);
    builder.add(draft);
}
