//! The order of zones and subnets: it decides which ranges subnets get by default, and where machines and members of etcd are. A list
//! with the same items in another order must not move them.

use super::defaults::cut_subnets;
use crate::{
    model::{Cluster, EtcdCluster, EtcdMember, Network, NodePool, Subnet, SubnetKind},
    source::FieldSources,
    value::Cidr,
};

/// The most zones that have default subnets.
const MOST_ZONES: usize = 7;

/// Gives the zones of a cluster, and the zones and subnets of its pools, the order of the applied spec: new ones take the places of those
/// that are gone, or follow. Default subnets keep their ranges, and members of etcd without a written subnet stay where they are.
pub fn keep_order(cluster: &mut Cluster, sources: &FieldSources, applied: &Cluster) {
    let zones = ordered(&cluster.zones, &applied.zones);
    let mut is_reordered = zones != cluster.zones;
    let network = &mut cluster.network;
    let is_default = !sources.is_written("network.subnets")
        && network.subnets == cut_subnets(network.cidr, &cluster.zones, network.topology);
    if is_default {
        network.subnets = default_subnets(network, &zones, &applied.network.subnets);
    }
    cluster.zones = zones;
    for pool in &mut cluster.pools {
        if let Some(before) = applied.pools.iter().find(|before| before.name == pool.name) {
            pool.zones = ordered(&pool.zones, &before.zones);
            let subnets = ordered(&pool.subnets, &before.subnets);
            is_reordered |= subnets != pool.subnets;
            pool.subnets = subnets;
        }
    }
    for etcd in &mut cluster.etcd {
        let before = applied.etcd.iter().find(|before| before.name == etcd.name);
        place_members(etcd, before, &cluster.pools, (sources, is_reordered));
    }
}

/// The items of a list in the order of an earlier one. New items take the places of those that are gone, and the others follow.
fn ordered(items: &[String], before: &[String]) -> Vec<String> {
    let mut new = items.iter().filter(|item| !before.contains(item));
    let mut result: Vec<String> = Vec::with_capacity(items.len());
    for item in before {
        let here = if items.contains(item) { Some(item) } else { new.next() };
        result.extend(here.cloned());
    }
    result.extend(new.cloned());
    result
}

/// The default subnets of zones. Zones that had default subnets keep the ranges; others get ranges that no zone had, as far as there are
/// such.
fn default_subnets(network: &Network, zones: &[String], applied: &[Subnet]) -> Vec<Subnet> {
    let cut = |zones: &[String]| cut_subnets(network.cidr, zones, network.topology);
    // As many zones as there can be, without names.
    let unnamed = vec![String::new(); zones.len().max(MOST_ZONES)];
    let blocks: Vec<Option<Cidr>> = cut(&unnamed)
        .iter()
        .filter(|subnet| subnet.kind != SubnetKind::Utility)
        .map(|subnet| subnet.cidr)
        .collect();
    let block_of = |subnet: &Subnet| blocks.iter().position(|block| *block == subnet.cidr);
    let had = |zone: &String| {
        let of_zone = applied.iter().find(|subnet| subnet.name == *zone && subnet.zone == *zone);
        of_zone.and_then(block_of)
    };
    let mut named = vec![String::new(); blocks.len()];
    let mut new: Vec<&String> = Vec::new();
    for zone in zones {
        match had(zone).and_then(|block| named.get_mut(block)).filter(|name| name.is_empty()) {
            Some(name) => name.clone_from(zone),
            None => new.push(zone),
        }
    }
    let used: Vec<usize> = applied.iter().filter_map(block_of).collect();
    let (never, again): (Vec<usize>, Vec<usize>) =
        (0..blocks.len()).filter(|block| named[*block].is_empty()).partition(|block| !used.contains(block));
    if new.len() > never.len() + again.len() {
        return cut(zones);
    }
    for (zone, block) in new.into_iter().zip(never.into_iter().chain(again)) {
        named[block].clone_from(zone);
    }
    cut(&named).into_iter().filter(|subnet| !subnet.zone.is_empty()).collect()
}

/// Places the members of a cluster of etcd whose subnets are not written: where they were; a new one in the next subnet of its pool, if
/// their order has changed.
fn place_members(
    etcd: &mut EtcdCluster,
    before: Option<&EtcdCluster>,
    pools: &[NodePool],
    (sources, is_reordered): (&FieldSources, bool),
) {
    let list = format!("etcd[{}].members", etcd.name);
    let are_written = sources.is_written(&list);
    let pools_of: Vec<String> = etcd.members.iter().map(|member| member.pool.clone()).collect();
    for (index, member) in etcd.members.iter_mut().enumerate() {
        let Some(pool) = pools.iter().find(|pool| pool.name == member.pool) else { continue };
        let is_of_pool = |subnet: &String| pool.subnets.contains(subnet);
        // A member in a subnet that its pool does not have was placed by hand.
        if sources.is_written(&format!("{list}[{}].subnet", member.name))
            || !member.subnet.as_ref().is_some_and(is_of_pool)
        {
            continue;
        }
        let turn = match are_written {
            true => index,
            false => pools_of.iter().take(index).filter(|other| **other == member.pool).count(),
        };
        let there = before.and_then(|before| same_member(before, member)?.subnet.clone());
        let next = || pool.subnets.get(turn.checked_rem(pool.subnets.len())?).cloned();
        match there.filter(is_of_pool) {
            Some(there) => member.subnet = Some(there),
            None if is_reordered => member.subnet = next(),
            None => {}
        }
    }
}

fn same_member<'c>(etcd: &'c EtcdCluster, member: &EtcdMember) -> Option<&'c EtcdMember> {
    etcd.members.iter().find(|other| other.name == member.name && other.pool == member.pool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{load_files, source::SourceFile};

    fn spec(zones: &str) -> (Cluster, FieldSources) {
        let text = format!(
            "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: {{ name: a }}\n\
             spec:\n  provider: {{ name: sim }}\n  region: sim-1\n  kubernetesVersion: 1.35.2\n  zones: [{zones}]\n\
             ---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{ name: control-plane }}\n\
             spec: {{ role: controlPlane, machineType: sim.medium, size: {{ fixed: 3 }} }}\n\
             ---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{ name: workers }}\n\
             spec: {{ machineType: sim.medium, size: {{ fixed: 3 }} }}\n"
        );
        let mut loaded = load_files(vec![SourceFile::new("a.yaml", text)], &[]);
        assert!(loaded.is_valid(), "{:?}", loaded.diagnostics);
        (loaded.clusters.remove(0), loaded.sources.cluster("a").cloned().unwrap_or_default())
    }

    #[test]
    fn the_order_of_zones_changes_nothing() {
        let (applied, _) = spec("sim-1a, sim-1b, sim-1c");
        for order in ["sim-1c, sim-1a, sim-1b", "sim-1b, sim-1a, sim-1c", "sim-1a, sim-1b, sim-1c"] {
            let (mut reordered, sources) = spec(order);
            keep_order(&mut reordered, &sources, &applied);
            assert_eq!(reordered, applied, "{order}");
        }
    }

    #[test]
    fn a_new_zone_moves_nothing_wherever_it_is_listed() {
        let (applied, _) = spec("sim-1b, sim-1c");
        let (mut more, sources) = spec("sim-1a, sim-1b, sim-1c");
        keep_order(&mut more, &sources, &applied);
        assert_eq!(more.zones, ["sim-1b", "sim-1c", "sim-1a"]);
        for subnet in &applied.network.subnets {
            assert!(more.network.subnets.contains(subnet), "{subnet:?}");
        }
        let places = |cluster: &Cluster| -> Vec<Option<String>> {
            cluster.etcd[0].members.iter().map(|member| member.subnet.clone()).collect()
        };
        assert_eq!(places(&more), places(&applied));
    }

    #[test]
    fn a_zone_in_place_of_another_one_moves_nothing_else() {
        let (applied, _) = spec("sim-1a, sim-1b, sim-1c");
        let (mut other, sources) = spec("sim-1b, sim-1c, sim-1d");
        keep_order(&mut other, &sources, &applied);
        assert_eq!(other.zones, ["sim-1d", "sim-1b", "sim-1c"]);
        let stay = applied.network.subnets.iter().filter(|subnet| subnet.zone != "sim-1a");
        for subnet in stay {
            assert!(other.network.subnets.contains(subnet), "{subnet:?}");
        }
        // The range of the zone that is gone is used until its subnet is deleted.
        for new in other.network.subnets.iter().filter(|subnet| subnet.zone == "sim-1d") {
            assert!(applied.network.subnets.iter().all(|subnet| subnet.cidr != new.cidr), "{new:?}");
        }
        let places: Vec<Option<&str>> =
            other.etcd[0].members.iter().map(|member| member.subnet.as_deref()).collect();
        assert_eq!(places, [Some("sim-1d"), Some("sim-1b"), Some("sim-1c")], "one for each zone");
    }

    #[test]
    fn a_zone_that_is_gone_moves_nothing() {
        let (applied, _) = spec("sim-1a, sim-1b, sim-1c");
        for zones in ["sim-1b, sim-1c", "sim-1c, sim-1a", "sim-1b"] {
            let (mut fewer, sources) = spec(zones);
            keep_order(&mut fewer, &sources, &applied);
            let subnets = &fewer.network.subnets;
            assert_eq!(subnets.len(), applied.network.subnets.len() / 3 * fewer.zones.len(), "{zones}");
            assert!(subnets.iter().all(|subnet| applied.network.subnets.contains(subnet)), "{subnets:?}");
            // Also in the next plan.
            let (mut again, sources) = spec(zones);
            keep_order(&mut again, &sources, &fewer);
            assert_eq!(again, fewer, "{zones}");
        }
    }

    #[test]
    fn a_list_has_the_order_of_an_earlier_one() {
        let list = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<String>>();
        let in_order = |items: &str, before: &str| ordered(&list(items), &list(before)).join(" ");
        assert_eq!(in_order("c a", "a b c"), "a c");
        assert_eq!(in_order("d c b a", "a b"), "a b d c");
        assert_eq!(in_order("b c d", "a b c"), "d b c");
        assert_eq!(in_order("e d", "a b c"), "e d");
        assert_eq!(ordered(&list("b a"), &[]), list("b a"));
    }
}
