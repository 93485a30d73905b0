//! Load balancers and their target groups.

use slipway_resource::{Attribute, Entries, ProviderError, Type, Value};

use super::{Assigned, Candidate, Kind, OnDelete, normal};
use crate::cloud::World;
use crate::error::invalid;

pub(super) fn kinds() -> Vec<Kind> {
    vec![load_balancer(), target_group(), listener()]
}

fn load_balancer() -> Kind {
    Kind::new("sim_load_balancer", "lbal", "Spreads connections over machines.")
        .attribute("name", Attribute::required(Type::String).immutable(), "Its name, unique in the account.")
        .attribute(
            "scheme",
            Attribute::optional(Type::String).immutable().default_to("public"),
            "`public` or `internal`.",
        )
        .links("subnet_ids", "sim_subnet", OnDelete::Refuse, "Its subnets, one or more.")
        .links("security_group_ids", "sim_security_group", OnDelete::Refuse, "Its security groups.")
        .attribute(
            "cross_zone",
            Attribute::optional(Type::Bool).default_to(false),
            "Whether it sends connections to other zones too.",
        )
        .attribute(
            "idle_timeout_ms",
            Attribute::optional_computed(Type::Integer),
            "How long it keeps an idle connection.",
        )
        .attribute(
            "address_family",
            Attribute::optional(Type::String).default_to("ipv4"),
            "`ipv4` or `dualstack`.",
        )
        .attribute(
            "access_log",
            Attribute::optional(Type::object([
                ("bucket", Attribute::required(Type::String).describe("The bucket.")),
                ("prefix", Attribute::optional(Type::String).describe("The prefix inside it.")),
            ])),
            "Where it logs requests.",
        )
        .attribute("dns_name", Attribute::computed(Type::String), "The name under which it is reached.")
        .attribute("zone_id", Attribute::computed(Type::String), "The DNS zone of that name.")
        .unique(&["name"])
        .normalise(|attributes| normal::sets(attributes, &["subnet_ids", "security_group_ids"]))
        .assign(assign_load_balancer)
        .check(check_load_balancer)
        .rate_class("balance")
        .quota(200)
        .takes(140, 5, 20)
}

fn assign_load_balancer(assigned: &Assigned<'_>, attributes: &mut Entries) {
    let name = attributes.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    attributes.insert(
        "dns_name".into(),
        format!("{name}-{:06}.lb.{}.sim", assigned.serial, assigned.account).into(),
    );
    attributes.insert("zone_id".into(), "ZLOADBALANCERS".into());
    attributes.entry("idle_timeout_ms".into()).or_insert(Value::Integer(350_000));
}

fn check_load_balancer(world: &World, candidate: &Candidate<'_>) -> Result<(), ProviderError> {
    let name = candidate.text("name");
    let subnets = candidate.attributes.get("subnet_ids").and_then(Value::as_list).unwrap_or_default();
    if subnets.is_empty() {
        return Err(invalid(format!("load balancer {name} has no subnet")));
    }
    let mut zones: Vec<&str> = subnets
        .iter()
        .filter_map(|id| world.object(id.as_str()?)?.attributes.get("zone")?.as_str())
        .collect();
    zones.sort_unstable();
    match zones.windows(2).find(|pair| pair.first() == pair.get(1)) {
        Some(pair) => Err(invalid(format!(
            "load balancer {name} has two subnets in zone {}",
            pair.first().copied().unwrap_or_default()
        ))),
        None => Ok(()),
    }
}

fn target_group() -> Kind {
    Kind::new("sim_target_group", "tgt", "Machines behind a load balancer.")
        .attribute("name", Attribute::required(Type::String), "Its name, for people.")
        .link("network_id", "sim_network", OnDelete::Refuse, "The network.")
        .attribute("port", Attribute::required(Type::Integer).immutable(), "The port of the machines.")
        .attribute(
            "protocol",
            Attribute::optional(Type::String).immutable().default_to("tcp"),
            "The protocol.",
        )
        .attribute(
            "health_interval_ms",
            Attribute::optional(Type::Integer).default_to(10_000i64),
            "The time between two health checks.",
        )
        .create_before_delete()
        .rate_class("balance")
        .takes(2, 1, 1)
}

fn listener() -> Kind {
    Kind::new("sim_listener", "lsn", "A port of a load balancer.")
        .link("load_balancer_id", "sim_load_balancer", OnDelete::Follow, "The load balancer.")
        .attribute("port", Attribute::required(Type::Integer).immutable(), "The port.")
        .attribute("protocol", Attribute::optional(Type::String).default_to("tcp"), "`tcp` or `tls`.")
        .attribute("certificate", Attribute::optional(Type::String), "The certificate that it presents.")
        .attribute("tls_policy", Attribute::optional(Type::String), "The policy of TLS versions and ciphers.")
        .attribute("target_group_id", Attribute::required(Type::String), "Where connections go.")
        .linked("target_group_id", "sim_target_group", OnDelete::Refuse)
        .unique(&["load_balancer_id", "port"])
        .exclusive(&[])
        .rate_class("balance")
        .takes(2, 1, 1)
}
