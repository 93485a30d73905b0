//! The order of zones and subnets: it decides which ranges subnets get by default, and where machines and members of etcd are. A list
//! with the same items in another order must not move them.

use super::defaults::cut_subnets;
use crate::{
    model::{Cluster, EtcdCluster, EtcdMember, NodePool},
    source::FieldSources,
};

/// Gives the zones of a cluster, and the zones and subnets of its pools, the order of the applied spec; new ones follow. Default subnets
/// keep their ranges, and members of etcd without a written subnet stay where they are. Lists that lost an item keep their own order.
pub fn keep_order(cluster: &mut Cluster, sources: &FieldSources, applied: &Cluster) {
    let zones = ordered(&cluster.zones, &applied.zones);
    let mut is_reordered = zones != cluster.zones;
    if is_reordered {
        let network = &mut cluster.network;
        let (range, topology) = (network.cidr, network.topology);
        if network.subnets == cut_subnets(range, &cluster.zones, topology) {
            network.subnets = cut_subnets(range, &zones, topology);
        }
        cluster.zones = zones;
    }
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

/// The items of a list: those of an earlier list in its order, then the others. The list itself if it lacks an earlier item.
fn ordered(items: &[String], before: &[String]) -> Vec<String> {
    if before.iter().any(|item| !items.contains(item)) {
        return items.to_vec();
    }
    let new = items.iter().filter(|item| !before.contains(item));
    before.iter().chain(new).cloned().collect()
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
    fn a_list_without_an_earlier_item_keeps_its_order() {
        let list = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<String>>();
        assert_eq!(ordered(&list("c a"), &list("a b c")), list("c a"));
        assert_eq!(ordered(&list("d c b a"), &list("a b")), list("a b d c"));
        assert_eq!(ordered(&list("b a"), &[]), list("b a"));
    }
}
