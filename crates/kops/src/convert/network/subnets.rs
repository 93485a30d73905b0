use slipway_spec::{
    diagnostic::{closest, code},
    model::{Egress, Route, Subnet, SubnetKind},
};

use crate::{convert::Context, field::Field, outcome::Outcome};

/// The subnets, in the order of the document.
pub(crate) fn read(context: &Context<'_>, outcome: &mut Outcome) -> Vec<Subnet> {
    let list = context.spec.at("subnets");
    outcome.wrote("network.subnets", &list);
    let fields = list.items();
    let mut zones: Vec<String> = Vec::new();
    for zone in fields.iter().filter_map(|field| field.at("zone").filled()) {
        if !zones.contains(&zone) {
            zones.push(zone);
        }
    }
    fields.iter().filter_map(|field| one(context, field, &zones, outcome)).collect()
}

fn one(context: &Context<'_>, field: &Field<'_>, zones: &[String], outcome: &mut Outcome) -> Option<Subnet> {
    let Some(name) = field.at("name").filled() else {
        outcome.say(
            field
                .error(code::MISSING_FIELD, "a subnet has no name")
                .hint("write one, by which instance groups refer to it, as in name: eu-west-1a"),
        );
        return None;
    };
    let path = format!("network.subnets[{name}]");
    outcome.wrote(&path, field);
    for (kops, model) in [
        ("name", "name"),
        ("zone", "zone"),
        ("type", "kind"),
        ("cidr", "cidr"),
        ("ipv6CIDR", "ipv6Cidr"),
        ("id", "id"),
        ("egress", "egress"),
        ("additionalRoutes", "additionalRoutes"),
    ] {
        outcome.wrote(&format!("{path}.{model}"), &field.at(kops));
    }
    let kind = kind(&field.at("type"), &name, &path, outcome);
    let id = field.at("id").filled();
    let ipv6 = field.at("ipv6CIDR");
    // `/64#3` asks for a part of the range that the cloud assigns; it is carried, and the provider cuts it.
    let relative = ipv6.filled().is_some_and(|text| text.starts_with('/'));
    let mut checked = |name: &str, model: &str| {
        let field = field.at(name);
        let range = field.parse(outcome);
        if range.is_none() && field.filled().is_some() {
            outcome.refused.push(format!("{path}.{model}"));
        }
        range
    };
    let cidr = checked("cidr", "cidr");
    let ipv6_cidr = if relative { None } else { checked("ipv6CIDR", "ipv6Cidr") };
    if relative {
        // The subnet has a range, although the model does not have it yet.
        outcome.refused.push(format!("{path}.ipv6Cidr"));
    }
    let egress = egress(&field.at("egress"), kind, id.is_some(), &path, outcome);
    Some(Subnet {
        zone: zone(context, field, &name, zones, outcome),
        kind,
        cidr,
        ipv6_cidr,
        id,
        egress,
        additional_routes: routes(&field.at("additionalRoutes"), outcome),
        name,
    })
}

/// The zone; of an existing subnet without one, the zone that the others or its name leave no doubt about.
fn zone(
    context: &Context<'_>,
    field: &Field<'_>,
    name: &str,
    zones: &[String],
    outcome: &mut Outcome,
) -> String {
    let zone = field.at("zone");
    if let Some(zone) = zone.filled() {
        return zone;
    }
    // Outside AWS subnets span a region.
    if !context.is_aws() && field.at("region").filled().is_some() {
        return field.at("region").filled().unwrap_or_default();
    }
    let assumed = match zones {
        [only] => Some(only),
        _ => zones.iter().find(|zone| name.ends_with(zone.as_str())),
    };
    match assumed {
        Some(assumed) => {
            outcome.say(Context::assumed(
                field,
                format!("the subnet {name} has no zone; {assumed} is assumed"),
                "write the zone of the subnet",
            ));
            assumed.clone()
        }
        None => {
            let missing = zone
                .error(code::MISSING_FIELD, format!("the subnet {name} has no zone"))
                .hint("write its zone, as in zone: eu-west-1a");
            outcome.refuse(&format!("network.subnets[{name}].zone"), missing);
            String::new()
        }
    }
}

/// kOps' `DualStack` is a private subnet with ranges of both families.
fn kind(field: &Field<'_>, name: &str, path: &str, outcome: &mut Outcome) -> SubnetKind {
    match field.filled().as_deref().map(str::to_ascii_lowercase).as_deref() {
        Some("public") => SubnetKind::Public,
        Some("private" | "dualstack") => SubnetKind::Private,
        Some("utility") => SubnetKind::Utility,
        None => {
            let missing = field
                .error(code::MISSING_FIELD, format!("the subnet {name} has no type"))
                .hint("write type: Public, Private, DualStack or Utility");
            outcome.refuse(&format!("{path}.kind"), missing);
            SubnetKind::Public
        }
        Some(other) => {
            let kinds = ["Public", "Private", "DualStack", "Utility"];
            let hint = match closest(other, kinds) {
                Some(meant) => format!("did you mean {meant}?"),
                None => "write type: Public, Private, DualStack or Utility".to_owned(),
            };
            let unknown = field
                .error(code::UNKNOWN_VALUE, format!("the subnet {name} has the type {other:?}"))
                .hint(hint);
            outcome.refuse(&format!("{path}.kind"), unknown);
            SubnetKind::Public
        }
    }
}

/// The egress that the prefix of the id in `egress` selects. Without it: the internet gateway for public
/// subnets, a NAT gateway for private ones, and the existing routes for an existing subnet.
fn egress(field: &Field<'_>, kind: SubnetKind, exists: bool, path: &str, outcome: &mut Outcome) -> Egress {
    let Some(text) = field.filled() else {
        return match kind {
            _ if exists => Egress::External {},
            SubnetKind::Public | SubnetKind::Utility => Egress::InternetGateway {},
            SubnetKind::Private => Egress::NatGateway { id: None, elastic_ip: None },
        };
    };
    if text.eq_ignore_ascii_case("external") {
        return Egress::External {};
    }
    match text.split('-').next() {
        Some("nat") => Egress::NatGateway { id: Some(text), elastic_ip: None },
        Some("eipalloc") => Egress::NatGateway { id: None, elastic_ip: Some(text) },
        Some("i") => Egress::NatInstance { id: text },
        Some("tgw") => Egress::TransitGateway { id: text },
        _ => {
            let unknown = field
                .error(code::UNKNOWN_VALUE, format!("{} is {text:?}", field.path()))
                .hint("write the id of a NAT gateway (nat-…), address (eipalloc-…), instance (i-…) or transit gateway (tgw-…), or External");
            outcome.refuse(&format!("{path}.egress"), unknown);
            Egress::External {}
        }
    }
}

fn routes(field: &Field<'_>, outcome: &mut Outcome) -> Vec<Route> {
    field
        .items()
        .iter()
        .filter_map(|route| {
            Some(Route { cidr: route.at("cidr").parse(outcome)?, target: route.at("target").filled()? })
        })
        .collect()
}
