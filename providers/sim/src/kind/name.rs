//! DNS zones and records.

use slipway_resource::schema::OwnershipKind;
use slipway_resource::{Attribute, Form, ProviderError, Type, Value};

use super::{Candidate, Kind, OnDelete, normal};
use crate::cloud::World;
use crate::error::invalid;

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::new("sim_dns_zone", "zone", "A DNS zone.")
            .attribute("name", Attribute::required(Type::String).immutable(), "Its domain.")
            .attribute(
                "private",
                Attribute::optional(Type::Bool).immutable().default_to(false),
                "Whether only networks see it.",
            )
            .links("network_ids", "sim_network", OnDelete::Refuse, "The networks that see a private zone.")
            .attribute("name_servers", Attribute::computed(Type::list(Type::String)), "Its name servers.")
            .unique(&["name", "private"])
            .forms(&["name"], &Form::Domain)
            .normalise(|attributes| {
                normal::names(attributes, &["name"]);
                normal::sets(attributes, &["network_ids"]);
            })
            .assign(|assigned, attributes| {
                let servers = (1..=2).map(|index| format!("ns{index}-{}.dns.sim", assigned.serial));
                attributes.insert("name_servers".into(), Value::list(servers));
            })
            .rate_class("dns")
            .takes(5, 1, 2),
        Kind::new("sim_dns_record", "record", "A DNS record.")
            .untagged(OwnershipKind::Name)
            .link("zone_id", "sim_dns_zone", OnDelete::Refuse, "The zone.")
            .attribute("name", Attribute::required(Type::String).immutable(), "Its full name.")
            .attribute("type", Attribute::required(Type::String).immutable(), "`A`, `AAAA`, `CNAME`, `TXT`.")
            .attribute(
                "ttl",
                Attribute::optional(Type::Integer).default_to(60i64),
                "How long it may be kept, in seconds.",
            )
            .attribute("values", Attribute::required(Type::set(Type::String)), "Its values.")
            .unique(&["zone_id", "name", "type"])
            .exclusive(&["name", "type"])
            .forms(&["name"], &Form::Domain)
            .normalise(|attributes| {
                normal::names(attributes, &["name"]);
                normal::sets(attributes, &["values"]);
            })
            .check(check_record)
            .rate_class("dns")
            .quota(10_000)
            .takes(8, 8, 4),
    ]
}

fn check_record(world: &World, candidate: &Candidate<'_>) -> Result<(), ProviderError> {
    let name = candidate.text("name");
    if let Some(zone) = world.object(candidate.text("zone_id"))
        && let Some(domain) = zone.attributes.get("name").and_then(Value::as_str)
        && name != domain
        && !name.ends_with(&format!(".{domain}"))
    {
        return Err(invalid(format!("record {name} does not lie in zone {domain}")));
    }
    match candidate.attributes.get("values").and_then(Value::as_list) {
        Some(values) if !values.is_empty() => Ok(()),
        _ => Err(invalid(format!("record {name} has no values"))),
    }
}
