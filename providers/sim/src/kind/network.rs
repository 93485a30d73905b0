//! Networks, subnets, gateways and routes.

use ipnet::IpNet;
use slipway_resource::schema::OwnershipKind;
use slipway_resource::{Attribute, Form, ProviderError, Type, Value};

use super::{Candidate, Kind, OnDelete, normal};
use crate::cloud::World;
use crate::error::{conflict, invalid};

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        network(),
        subnet(),
        Kind::new("sim_internet_gateway", "inet", "The way of a network to the internet.")
            .link("network_id", "sim_network", OnDelete::Refuse, "The network.")
            .unique(&["network_id"])
            .exclusive(&[])
            .takes(2, 1, 2),
        Kind::new(
            "sim_egress_gateway",
            "egr",
            "The way of IPv6 connections out of a network, and of none in.",
        )
        .link("network_id", "sim_network", OnDelete::Refuse, "The network.")
        .takes(2, 1, 2),
        Kind::new("sim_address", "addr", "A public address that stays.")
            .attribute("address", Attribute::computed(Type::String), "The address itself.")
            .assign(|assigned, attributes| {
                attributes.insert("address".into(), public_address(assigned.serial).into());
            })
            .takes(1, 1, 1),
        Kind::new("sim_nat_gateway", "natg", "Translates the addresses of a private subnet.")
            .link("subnet_id", "sim_subnet", OnDelete::Refuse, "The public subnet it is in.")
            .link("address_id", "sim_address", OnDelete::Refuse, "Its public address.")
            .unique(&["address_id"])
            .exclusive(&[])
            .attribute("private_address", Attribute::computed(Type::String), "Its address in the subnet.")
            .assign(|assigned, attributes| {
                let address = format!("10.255.{}.{}", assigned.serial / 250 % 250, assigned.serial % 250);
                attributes.insert("private_address".into(), address.into());
            })
            .takes(95, 2, 45),
        Kind::new("sim_route_table", "tab", "Routes of one or more subnets.")
            .link("network_id", "sim_network", OnDelete::Refuse, "The network.")
            .links("subnet_ids", "sim_subnet", OnDelete::Nothing, "The subnets that use it.")
            .attribute("name", Attribute::optional(Type::String), "Its name, for people.")
            .normalise(|attributes| normal::sets(attributes, &["subnet_ids"]))
            .takes(2, 1, 2),
        Kind::new("sim_route", "route", "Where a table sends the packets of a range.")
            .untagged(OwnershipKind::Parent)
            .link("route_table_id", "sim_route_table", OnDelete::Follow, "The table.")
            .attribute("cidr", Attribute::required(Type::String).immutable(), "The range.")
            .attribute("target_id", Attribute::required(Type::String), "The gateway or machine.")
            .linked("target_id", "", OnDelete::Nothing)
            .unique(&["route_table_id", "cidr"])
            .exclusive(&[])
            .forms(&["cidr"], &Form::Range)
            .normalise(|attributes| normal::ranges(attributes, &["cidr"]))
            .quota(5_000)
            .takes(1, 1, 1),
    ]
}

fn network() -> Kind {
    Kind::new("sim_network", "net", "A private network.")
        .attribute("name", Attribute::required(Type::String), "Its name, for people.")
        .attribute("cidr", Attribute::optional(Type::String).immutable(), "Its IPv4 range.")
        .attribute("additional_cidrs", Attribute::optional(Type::set(Type::String)), "Further IPv4 ranges.")
        .attribute(
            "assign_ipv6",
            Attribute::optional(Type::Bool).immutable().default_to(false),
            "Whether the cloud gives it an IPv6 range.",
        )
        .attribute("ipv6_cidr", Attribute::optional_computed(Type::String).immutable(), "Its IPv6 range.")
        .attribute(
            "zones",
            Attribute::optional(Type::list(Type::String)),
            "The zones that it spans, in order.",
        )
        .attribute(
            "dns_support",
            Attribute::optional(Type::Bool).default_to(true),
            "Whether names are resolved in it.",
        )
        .attribute(
            "default_security_group_id",
            Attribute::computed(Type::String),
            "The group that came with it.",
        )
        .forms(&["cidr", "ipv6_cidr", "additional_cidrs"], &Form::Range)
        .normalise(|attributes| {
            normal::ranges(attributes, &["cidr", "ipv6_cidr", "additional_cidrs"]);
            normal::sets(attributes, &["additional_cidrs"]);
        })
        .assign(|assigned, attributes| {
            let group = format!("sgr-default-{:06}", assigned.serial);
            attributes.insert("default_security_group_id".into(), group.into());
            if attributes.get("assign_ipv6").and_then(Value::as_bool) == Some(true) {
                attributes
                    .entry("ipv6_cidr".into())
                    .or_insert_with(|| format!("2001:db8:{:x}::/56", assigned.serial % 0xffff).into());
            }
        })
        .check(|_, candidate| ranges_of(candidate, &["cidr", "ipv6_cidr", "additional_cidrs"]).map(drop))
        .takes(3, 1, 2)
}

fn subnet() -> Kind {
    Kind::new("sim_subnet", "sub", "A range of a network in one zone.")
        .attribute("name", Attribute::required(Type::String), "Its name, for people.")
        .link("network_id", "sim_network", OnDelete::Refuse, "The network.")
        .attribute("zone", Attribute::required(Type::String).immutable(), "Its zone.")
        .attribute(
            "cidr",
            Attribute::optional(Type::String).immutable(),
            "Its IPv4 range, inside the network's.",
        )
        .attribute(
            "ipv6_cidr",
            Attribute::optional_computed(Type::String).immutable(),
            "Its IPv6 range, inside the network's.",
        )
        .attribute(
            "assign_ipv6",
            Attribute::optional(Type::Bool).immutable().default_to(false),
            "Whether the cloud gives it an IPv6 range.",
        )
        .attribute("kind", Attribute::optional(Type::String).default_to("private"), "Kind of the subnet.")
        .attribute(
            "public_addresses",
            Attribute::optional(Type::Bool).default_to(false),
            "Whether machines in it get public addresses.",
        )
        .attribute(
            "available_addresses",
            Attribute::computed(Type::Integer),
            "How many addresses it had when it was made.",
        )
        .forms(&["cidr", "ipv6_cidr"], &Form::Range)
        .normalise(|attributes| normal::ranges(attributes, &["cidr", "ipv6_cidr"]))
        .assign(|assigned, attributes| {
            if attributes.get("assign_ipv6").and_then(Value::as_bool) == Some(true) {
                attributes
                    .entry("ipv6_cidr".into())
                    .or_insert_with(|| format!("2001:db8:{:x}::/64", assigned.serial % 0xffff).into());
            }
            let prefix = attributes
                .get("cidr")
                .and_then(Value::as_str)
                .and_then(|text| text.parse::<IpNet>().ok())
                .map_or(32, |net| u32::from(net.prefix_len()));
            let addresses = (1i64 << 32u32.saturating_sub(prefix)).saturating_sub(5).max(0);
            attributes.insert("available_addresses".into(), addresses.into());
        })
        .exclusive(&["cidr"])
        .check(check_subnet)
        .takes(2, 1, 2)
}

fn check_subnet(world: &World, candidate: &Candidate<'_>) -> Result<(), ProviderError> {
    if candidate.before.is_some() {
        // Ranges never change, and the cloud's own need not lie in the network's.
        return Ok(());
    }
    let own = ranges_of(candidate, &["cidr", "ipv6_cidr"])?;
    let name = candidate.text("name");
    let assigned = candidate.attributes.get("assign_ipv6").and_then(Value::as_bool) == Some(true);
    if own.is_empty() && !assigned {
        return Err(invalid(format!("subnet {name} has no address range")));
    }
    let Some(network) = world.object(candidate.text("network_id")) else {
        return Ok(());
    };
    let outer = Candidate { id: None, attributes: &network.attributes, before: None };
    let outer = ranges_of(&outer, &["cidr", "ipv6_cidr", "additional_cidrs"])?;
    for range in &own {
        if !outer.is_empty() && !outer.iter().any(|whole| whole.contains(range)) {
            return Err(invalid(format!(
                "subnet {name}: {range} is in no range of network {} ({})",
                network.id,
                outer.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
            )));
        }
    }
    for id in world.referrers(&network.id) {
        let Some(other) = world.object(id) else { continue };
        if other.kind != "sim_subnet" || Some(other.id.as_str()) == candidate.id {
            continue;
        }
        for key in ["cidr", "ipv6_cidr"] {
            let Some(theirs) = other.attributes.get(key).and_then(Value::as_str) else {
                continue;
            };
            let Ok(theirs) = theirs.parse::<IpNet>() else { continue };
            if let Some(mine) = own.iter().find(|mine| mine.contains(&theirs) || theirs.contains(*mine)) {
                return Err(conflict(format!(
                    "subnet {name}: {mine} overlaps with {theirs} of subnet {}",
                    other.id
                )));
            }
        }
    }
    Ok(())
}

/// The address ranges in some attributes.
fn ranges_of(candidate: &Candidate<'_>, keys: &[&str]) -> Result<Vec<IpNet>, ProviderError> {
    let mut ranges = Vec::new();
    for key in keys {
        let texts: Vec<&str> = match candidate.attributes.get(key) {
            Some(Value::String(text)) => vec![text],
            Some(Value::List(items)) => items.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        for text in texts {
            ranges.push(
                text.parse::<IpNet>()
                    .map_err(|_| invalid(format!("{key}: {text} is not an address range")))?,
            );
        }
    }
    Ok(ranges)
}

fn public_address(serial: u64) -> String {
    format!("198.51.{}.{}", 100 + serial / 250 % 100, serial % 250 + 1)
}
