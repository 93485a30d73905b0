use slipway_spec::{
    diagnostic::code,
    model::{Subnet, SubnetKind},
    value::Cidr,
};

use crate::{convert::Context, field::Field, outcome::Outcome};

/// How many bits longer the prefix of an eighth of a range is.
const EIGHTH: u8 = 3;

/// Gives ranges to new subnets without one, as kOps assigns them: the network is cut into eighths. Of those
/// without a subnet, the first is cut again, for utility subnets; the others are given to the other subnets,
/// zone by zone.
pub(super) fn ranges(
    context: &Context<'_>,
    network: Option<Cidr>,
    subnets: &mut [Subnet],
    outcome: &mut Outcome,
) {
    let fields = context.spec.at("subnets").items();
    let field = |subnet: &Subnet| {
        fields.iter().find(|field| field.at("name").filled().as_deref() == Some(&subnet.name)).cloned()
    };
    let lacks =
        |subnet: &Subnet| subnet.id.is_none() && field(subnet).is_some_and(|field| is_open(subnet, &field));
    let Some(network) = network.filter(|_| context.is_aws() && subnets.iter().any(lacks)) else { return };
    let taken: Vec<Cidr> = subnets.iter().filter_map(|subnet| subnet.cidr).collect();
    let free = |range: &Cidr| !taken.iter().any(|taken| taken.overlaps(range));
    let mut large = eighths(network).into_iter().filter(free);
    let mut small = large.next().map(eighths).unwrap_or_default().into_iter();
    let mut open: Vec<&mut Subnet> = subnets.iter_mut().filter(|subnet| lacks(subnet)).collect();
    open.sort_by(|a, b| a.zone.cmp(&b.zone));
    for subnet in open {
        let Some(field) = field(subnet) else { continue };
        let range = match subnet.kind {
            SubnetKind::Utility => small.next(),
            SubnetKind::Public | SubnetKind::Private => large.next(),
        };
        let name = &subnet.name;
        match range {
            Some(range) => outcome.say(Context::assumed(
                &field,
                format!("the subnet {name} has no cidr; {range} is assumed"),
                "write the range that the subnet has",
            )),
            None => {
                let message =
                    format!("the subnet {name} has no cidr, and no eighth of {network} is left for it");
                let diagnostic = field.error(code::MISSING_FIELD, message);
                outcome.refuse(
                    &format!("network.subnets[{name}]"),
                    diagnostic.hint("write a range of the network that no other subnet has"),
                );
            }
        }
        subnet.cidr = range;
    }
}

/// Whether a subnet is to have a range that it does not name: private ones can do with IPv6 addresses alone.
fn is_open(subnet: &Subnet, field: &Field<'_>) -> bool {
    let native = subnet.kind == SubnetKind::Private
        && field.at("ipv6CIDR").is_given()
        && field.at("type").filled().is_none_or(|kind| !kind.eq_ignore_ascii_case("DualStack"));
    !field.at("cidr").is_given() && !native
}

fn eighths(range: Cidr) -> Vec<Cidr> {
    match range.subnets(range.prefix_len() + EIGHTH) {
        Ok(parts) => parts.map(Cidr::new).collect(),
        Err(_) => Vec::new(),
    }
}
