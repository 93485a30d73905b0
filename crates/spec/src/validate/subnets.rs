use super::context::{Context, error};
use crate::{
    diagnostic::{
        closest,
        code::{TOPOLOGY, UNKNOWN_REFERENCE},
    },
    model::{Egress, Role, Subnet, SubnetKind, Topology},
};

/// Subnets lie in known zones, suit the topology, and are there when something names them.
pub(super) fn check(context: &mut Context<'_>) {
    let network = &context.cluster.network;
    for subnet in &network.subnets {
        zone(context, subnet);
        egress(context, subnet);
    }
    topology(context);
    pools(context);
    if let crate::model::Endpoint::LoadBalancer(balancer) = &context.cluster.control_plane.endpoint {
        references(
            context,
            "the load balancer",
            "controlPlane.endpoint.loadBalancer.subnets",
            &balancer.subnets,
        );
    }
}

fn zone(context: &mut Context<'_>, subnet: &Subnet) {
    let zones = &context.cluster.zones;
    if zones.contains(&subnet.zone) || !context.trusts("zones") {
        return;
    }
    let complaint = error(
        UNKNOWN_REFERENCE,
        format!(
            "the subnet `{}` lies in the zone `{}`, which is not one of the cluster's",
            subnet.name, subnet.zone
        ),
        among(&subnet.zone, zones, "zones", "add it to `zones`"),
    )
    .related("the cluster's zones", "zones");
    context.at(&format!("network.subnets[{}].zone", subnet.name), complaint);
}

fn egress(context: &mut Context<'_>, subnet: &Subnet) {
    let network = &context.cluster.network;
    let path = format!("network.subnets[{}]", subnet.name);
    let place = format!("{path}.egress.{}", subnet.egress.as_str());
    match (&subnet.egress, subnet.kind) {
        (Egress::NatGateway { id: None, .. }, SubnetKind::Private) => {
            let gateway = network
                .subnets
                .iter()
                .any(|other| other.zone == subnet.zone && other.kind != SubnetKind::Private);
            if !gateway && context.trusts("network.subnets") {
                let complaint = error(
                    TOPOLOGY,
                    format!(
                        "the subnet `{}` needs a NAT gateway, and the zone `{}` has no utility or public subnet for it",
                        subnet.name, subnet.zone
                    ),
                    format!(
                        "add a subnet of kind `utility` in the zone `{}`, or name an existing gateway",
                        subnet.zone
                    ),
                );
                context.at_key(&place, complaint);
            }
        }
        (Egress::InternetGateway {}, SubnetKind::Private) => {
            let complaint = error(
                TOPOLOGY,
                format!(
                    "the private subnet `{}` cannot use the internet gateway: its nodes have no public addresses",
                    subnet.name
                ),
                "write `egress: { natGateway: {} }`, or make the subnet's kind `public`",
            );
            context.at_key(&place, complaint);
        }
        (
            Egress::NatGateway { .. } | Egress::NatInstance { .. } | Egress::None {},
            SubnetKind::Public | SubnetKind::Utility,
        ) => {
            let complaint = error(
                TOPOLOGY,
                format!("the subnet `{}` is public, and its egress hides its addresses", subnet.name),
                "leave `egress` out, or make the subnet's kind `private`",
            );
            context.at_key(&place, complaint);
        }
        _ => {}
    }
    if subnet.cidr.is_none() && subnet.ipv6_cidr.is_none() && subnet.id.is_none() {
        let complaint = error(
            TOPOLOGY,
            format!("the subnet `{}` has neither a range nor the id of an existing subnet", subnet.name),
            "add `cidr`, or `id` to use an existing subnet",
        );
        context.at(&path, complaint);
    }
}

fn topology(context: &mut Context<'_>) {
    let network = &context.cluster.network;
    let wanted = match network.topology {
        Topology::Public => SubnetKind::Public,
        Topology::Private => SubnetKind::Private,
    };
    let none = !network.subnets.iter().any(|subnet| subnet.kind == wanted);
    if network.subnets.is_empty() || !none || !context.trusts("network.subnets") {
        return;
    }
    let (name, other) = match wanted {
        SubnetKind::Public => ("public", "private"),
        _ => ("private", "public"),
    };
    let complaint = error(
        TOPOLOGY,
        format!("the topology is `{name}`, and no subnet is of kind `{name}`"),
        format!("add {name} subnets, or write `topology: {other}`"),
    )
    .related("the subnets", "network.subnets");
    let path = if context.is_written("network.topology") { "network.topology" } else { "network.subnets" };
    context.at_key(path, complaint);
}

fn pools(context: &mut Context<'_>) {
    let cluster = context.cluster;
    for pool in &cluster.pools {
        let path = format!("pools[{}]", pool.name);
        references(context, &format!("the pool `{}`", pool.name), &format!("{path}.subnets"), &pool.subnets);
        for (index, zone) in pool.zones.iter().enumerate() {
            if !cluster.zones.contains(zone)
                && context.is_written(&format!("{path}.zones"))
                && context.trusts("zones")
            {
                let complaint = error(
                    UNKNOWN_REFERENCE,
                    format!(
                        "the pool `{}` lives in the zone `{zone}`, which is not one of the cluster's",
                        pool.name
                    ),
                    match pool.hosts {
                        Some(_) => "remove it: machines that exist already have no zones".to_owned(),
                        None => among(zone, &cluster.zones, "zones", "add it to `zones`"),
                    },
                );
                context.at(&format!("{path}.zones[{index}]"), complaint);
            }
        }
        for (index, name) in pool.subnets.iter().enumerate() {
            let utility = cluster.subnet(name).is_some_and(|subnet| subnet.kind == SubnetKind::Utility);
            if utility && pool.role != Role::Bastion {
                let complaint = error(
                    TOPOLOGY,
                    format!(
                        "the pool `{}` lives in the utility subnet `{name}`, which is not for nodes",
                        pool.name
                    ),
                    "choose a private or public subnet",
                );
                context.at(&format!("{path}.subnets[{index}]"), complaint);
            }
        }
        if pool.subnets.is_empty() && !cluster.network.subnets.is_empty() && pool.hosts.is_none() {
            let complaint = error(
                TOPOLOGY,
                format!("no subnet suits the pool `{}`", pool.name),
                "name the subnets in `subnets`, or add subnets of the kind that the topology asks for",
            );
            if context.trusts("network") && !topology_fails(context) {
                context.at(&path, complaint);
            }
        }
    }
}

fn topology_fails(context: &Context<'_>) -> bool {
    context.diagnostics.iter().any(|diagnostic| diagnostic.code == TOPOLOGY)
}

/// Whether the subnets are those that were written, even if some of their fields are not.
fn names_stand(context: &Context<'_>, known: &[String]) -> bool {
    context.trusts_beside("network.subnets", |refused| {
        let inside = refused.strip_prefix("network.subnets[").and_then(|rest| rest.split_once("]."));
        inside.is_some_and(|(name, field)| field != "name" && known.iter().any(|known| known == name))
    })
}

fn references(context: &mut Context<'_>, who: &str, path: &str, names: &[String]) {
    let known: Vec<String> =
        context.cluster.network.subnets.iter().map(|subnet| subnet.name.clone()).collect();
    for (index, name) in names.iter().enumerate() {
        if !known.contains(name) && names_stand(context, &known) {
            let complaint = error(
                UNKNOWN_REFERENCE,
                format!("{who} lives in the subnet `{name}`, which does not exist"),
                among(name, &known, "subnets", "add it to `network.subnets`"),
            );
            context.at(&format!("{path}[{index}]"), complaint);
        }
    }
}

/// The way out of a name that is not among the known ones.
pub(super) fn among(name: &str, known: &[String], what: &str, otherwise: &str) -> String {
    match closest(name, known.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if known.is_empty() => format!("there are no {what}; {otherwise}"),
        None => format!("the {what} are {}; {otherwise}", known.join(", ")),
    }
}
