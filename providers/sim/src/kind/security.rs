//! Security groups and their rules.

use slipway_resource::{Attribute, Form, ProviderError, Type, Value};

use super::{Candidate, Kind, OnDelete, normal};
use crate::cloud::World;
use crate::error::invalid;

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::new(
            "sim_security_group",
            "sgr",
            "Security group: the connections that a set of machines accepts and opens.",
        )
        .attribute("name", Attribute::required(Type::String).immutable(), "Its name, unique in the network.")
        .attribute(
            "description",
            Attribute::optional(Type::String).immutable().default_to("managed by slipway"),
            "Free text that describes the object.",
        )
        .link("network_id", "sim_network", OnDelete::Refuse, "The network.")
        .unique(&["network_id", "name"])
        .exclusive(&["name"])
        .takes(2, 1, 2),
        rule(),
    ]
}

fn rule() -> Kind {
    let fixed = |kind: Type| Attribute::optional(kind).immutable();
    Kind::new("sim_security_group_rule", "sgrule", "One thing that a group allows.")
        .link("security_group_id", "sim_security_group", OnDelete::Follow, "The group it belongs to.")
        .attribute("direction", fixed(Type::String).default_to("ingress"), "`ingress` or `egress`.")
        .attribute(
            "protocol",
            fixed(Type::String).default_to("tcp"),
            "`tcp`, `udp`, `icmp`, a number, or `all`.",
        )
        .attribute("from_port", fixed(Type::Integer), "The first port.")
        .attribute("to_port", fixed(Type::Integer), "The last port.")
        .attribute("cidr", fixed(Type::String), "The range on the other side.")
        .attribute("prefix_list", fixed(Type::String), "The list on the other side.")
        .attribute("source_group_id", fixed(Type::String), "The group on the other side.")
        .linked("source_group_id", "sim_security_group", OnDelete::Refuse)
        .attribute("description", Attribute::optional(Type::String), "Free text that describes the object.")
        .unique(&[
            "security_group_id",
            "direction",
            "protocol",
            "from_port",
            "to_port",
            "cidr",
            "prefix_list",
            "source_group_id",
        ])
        .exclusive(&[])
        .forms(&["cidr"], &Form::Range)
        .forms(&["protocol"], &Form::Domain)
        .normalise(|attributes| {
            normal::ranges(attributes, &["cidr"]);
            normal::names(attributes, &["protocol"]);
        })
        .check(check_rule)
        .quota(10_000)
}

fn check_rule(_: &World, candidate: &Candidate<'_>) -> Result<(), ProviderError> {
    let others = ["cidr", "prefix_list", "source_group_id"]
        .iter()
        .filter(|name| candidate.attributes.get(name).is_some())
        .count();
    if others != 1 {
        return Err(invalid(format!(
            "a rule has one other side of cidr, prefix_list and source_group_id, this one {others}"
        )));
    }
    let port = |name: &str| candidate.attributes.get(name).and_then(Value::as_integer);
    match (port("from_port"), port("to_port")) {
        (Some(first), Some(last)) if !(0..=65_535).contains(&first) || last < first || last > 65_535 => {
            Err(invalid(format!("ports {first} to {last} are not a range")))
        }
        _ => Ok(()),
    }
}
