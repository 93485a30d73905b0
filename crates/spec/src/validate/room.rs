use super::context::{Context, error};
use crate::{
    diagnostic::code::NO_ROOM,
    model::{Network, SubnetKind, Topology},
    reader::item_path,
    value::Cidr,
};

/// The longest prefix of an IPv4 subnet that Slipway makes: clouds keep four or five addresses of each for themselves.
const SMALLEST_IPV4: u8 = 29;

/// The longest prefix of an IPv6 range: subnets have a /64 each.
const SMALLEST_IPV6: u8 = 64;

/// How many zones a network's range is cut for.
const MOST_ZONES: usize = 7;

/// Every zone has subnets, and every subnet that Slipway makes has addresses for machines.
pub(super) fn check(context: &mut Context<'_>) {
    let cluster = context.cluster;
    let network = &cluster.network;
    let for_machines = cluster.pools.iter().any(|pool| pool.hosts.is_none());
    if network.id.is_some() || !for_machines || !context.trusts("network") || !context.trusts("zones") {
        return;
    }
    ipv6(context, network);
    if context.is_written("network.subnets") {
        given(context, network);
    } else if let Some(range) = network.cidr.filter(|range| !range.is_ipv6()) {
        cut(context, network, range);
    }
}

fn given(context: &mut Context<'_>, network: &Network) {
    if network.subnets.is_empty() {
        let complaint = error(
            NO_ROOM,
            "the network has no subnet, and its machines need one",
            "list subnets, or leave `subnets` out: then they are cut from the network's range",
        );
        context.at("network.subnets", complaint);
    }
    let names: Vec<&str> = network.subnets.iter().map(|subnet| &*subnet.name).collect();
    for (index, subnet) in network.subnets.iter().enumerate().filter(|(_, subnet)| subnet.id.is_none()) {
        let Some(range) = subnet.cidr.filter(is_too_small) else { continue };
        let complaint = error(
            NO_ROOM,
            format!("the subnet `{}`: {range} has no room for machines", subnet.name),
            format!("write a prefix length of at most {SMALLEST_IPV4}"),
        );
        context.at(&format!("{}.cidr", item_path("network.subnets", &names, index)), complaint);
    }
}

fn cut(context: &mut Context<'_>, network: &Network, range: Cidr) {
    let zones = context.cluster.zones.len();
    let is_private = network.topology == Topology::Private;
    let place = if context.is_written("network.cidr") { "network.cidr" } else { "zones" };
    if zones == 0 {
        let complaint = error(
            NO_ROOM,
            format!("the network {range} is cut into subnets for each zone, and there is no zone"),
            "name the zones in `zones`, as in `zones: [a]`",
        );
        context.at(place, complaint);
    } else if zones > MOST_ZONES {
        let complaint = error(
            NO_ROOM,
            format!("the network {range} is cut for up to {MOST_ZONES} zones, and there are {zones}"),
            "list the subnets of all zones in `network.subnets`",
        );
        context.at("zones", complaint);
    } else {
        let kinds =
            if is_private { &[SubnetKind::Private, SubnetKind::Utility][..] } else { &[SubnetKind::Public] };
        let has = |kind: &SubnetKind| network.subnets.iter().filter(|subnet| subnet.kind == *kind).count();
        let lacks = kinds.iter().any(|kind| has(kind) < zones);
        if lacks || network.subnets.iter().filter_map(|subnet| subnet.cidr).any(|range| is_too_small(&range))
        {
            // A zone has an eighth of the network, and its utility subnet an eighth of an eighth.
            let longest = if is_private { SMALLEST_IPV4 - 6 } else { SMALLEST_IPV4 - 3 };
            let complaint = error(
                NO_ROOM,
                format!("the network {range} has no room for the subnets of its zones"),
                format!(
                    "write a prefix length of at most {longest}, or list the subnets in `network.subnets`"
                ),
            );
            context.at(place, complaint);
        }
    }
}

fn ipv6(context: &mut Context<'_>, network: &Network) {
    let Some(range) = network.ipv6_cidr.filter(|range| range.prefix_len() > SMALLEST_IPV6) else { return };
    if range.is_ipv6() {
        let complaint = error(
            NO_ROOM,
            format!("the network {range} has no room for a subnet, which has a /{SMALLEST_IPV6}"),
            format!("write a prefix length below {SMALLEST_IPV6}, as in {}/56", range.network()),
        );
        context.at("network.ipv6Cidr", complaint);
    }
}

fn is_too_small(range: &Cidr) -> bool {
    !range.is_ipv6() && range.prefix_len() > SMALLEST_IPV4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{load_files, source::SourceFile};

    /// The places of all complaints about room in a cluster with these zones and this network.
    fn complaints(zones: &str, network: &str) -> Vec<(u32, String)> {
        let text = format!(
            "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: {{ name: demo }}\nspec:\n  provider: {{ name: sim }}\n  \
             kubernetesVersion: 1.35.2\n  zones: {zones}\n  network: {network}\n---\napiVersion: slipway.dev/v1alpha1\nkind: \
             NodePool\nmetadata: {{ name: control-plane }}\nspec: {{ role: controlPlane, machineType: sim.large }}\n"
        );
        let loaded = load_files(vec![SourceFile::new("a.yaml", text)], &[]);
        let complaints = loaded.diagnostics.into_iter().filter(|found| found.code == NO_ROOM);
        complaints.map(|found| (found.location.map_or(0, |place| place.line), found.message)).collect()
    }

    #[test]
    fn every_zone_has_room_for_its_subnets() {
        for (zones, network, line) in [
            ("[a]", "{ cidr: 10.0.0.0/32 }", 8),
            ("[a]", "{ cidr: 10.0.0.0/31 }", 8),
            ("[a]", "{ cidr: 10.0.0.0/30 }", 8),
            ("[a]", "{ cidr: 10.0.0.0/29 }", 8),
            ("[a]", "{ cidr: 10.0.0.0/24 }", 8),
            ("[a]", "{ cidr: 10.0.0.0/27, topology: public }", 8),
            ("[]", "{ cidr: 10.0.0.0/16 }", 8),
            ("[a]", "{ subnets: [] }", 8),
            ("[a, b, c, d, e, f, g, h]", "{}", 7),
            ("[a]", "{ ipFamily: dualStack, ipv6Cidr: \"fd00::/65\" }", 8),
        ] {
            let found = complaints(zones, network);
            assert_eq!(found.len(), 1, "{zones} {network}: {found:?}");
            assert_eq!(found[0].0, line, "{zones} {network}: {found:?}");
        }
        for (zones, network) in [
            ("[a]", "{}"),
            ("[a]", "{ cidr: 10.0.0.0/23 }"),
            ("[a]", "{ cidr: 10.0.0.0/26, topology: public }"),
            ("[a, b, c, d, e, f, g]", "{}"),
            ("[]", "{}"),
            ("[a]", "{ id: net-1 }"),
            ("[a]", "{ ipFamily: dualStack, ipv6Cidr: \"fd00::/56\" }"),
        ] {
            assert_eq!(complaints(zones, network), [], "{zones} {network}");
        }
    }
}
