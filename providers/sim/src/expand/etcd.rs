//! etcd's objects in the cloud: volumes that stay, and stores for backups.

use slipway_cluster_input::{ClusterInput, EtcdCluster, EtcdMember, Volume};
use slipway_resource::{Address, Value};

use super::address;
use super::build::{Builder, id_of, millis};

/// Adds a volume for each member that has one, and a store for each etcd cluster that is backed up.
pub(super) fn volumes_and_backups(builder: &mut Builder<'_>) {
    let cluster = builder.cluster;
    for etcd in &cluster.etcd {
        for (index, member) in etcd.members.iter().enumerate() {
            if let Some(volume) = &member.volume {
                add_volume(builder, etcd, member, index, volume);
            }
        }
        let field = |name: &str| format!("etcd[{}].backups.{name}", etcd.name);
        if !etcd.backups.enabled {
            let defaults = slipway_cluster_input::EtcdBackups { enabled: false, ..Default::default() };
            if etcd.backups != defaults {
                builder.note(field("enabled"), "backups are off, so their other settings have no effect");
            }
            continue;
        }
        let draft = builder
            .draft("sim_backup_store", &format!("etcd-{}", etcd.name), field("enabled"))
            .set("name", format!("{}-etcd-{}", cluster.name, etcd.name), "name")
            .set("location", etcd.backups.store.clone(), field("store"))
            .set("interval_ms", millis(etcd.backups.interval), field("interval"))
            .set("retention_ms", millis(etcd.backups.retention), field("retention"))
            .retain(etcd.backups.keep_on_delete);
        builder.add(draft);
    }
}

/// The backup stores, by address, with their identities.
pub(super) fn stores(cluster: &ClusterInput) -> Value {
    Value::map(cluster.etcd.iter().filter(|etcd| etcd.backups.enabled).map(|etcd| {
        let store = address("sim_backup_store", &format!("etcd-{}", etcd.name));
        (store.to_string(), id_of(&store))
    }))
}

/// The volumes of the members on a pool.
pub(super) fn volumes_of(cluster: &ClusterInput, pool: &str) -> Vec<Address> {
    let mut addresses = Vec::new();
    for etcd in &cluster.etcd {
        for member in &etcd.members {
            if member.pool == pool && member.volume.is_some() {
                addresses.push(volume_address(etcd, member));
            }
        }
    }
    addresses
}

fn volume_address(etcd: &EtcdCluster, member: &EtcdMember) -> Address {
    address("sim_volume", &format!("etcd-{}-{}", etcd.name, member.name))
}

fn add_volume(
    builder: &mut Builder<'_>,
    etcd: &EtcdCluster,
    member: &EtcdMember,
    index: usize,
    volume: &Volume,
) {
    let cluster = builder.cluster;
    let base = format!("etcd[{}].members[{}]", etcd.name, member.name);
    let field = |name: &str| format!("{base}.volume.{name}");
    let address = volume_address(etcd, member);
    let draft = builder
        .draft("sim_volume", address.name(), format!("{base}.volume"))
        .fix("name", format!("{}.etcd-{}.{}", member.name, etcd.name, cluster.name))
        .set("zone", zone_of(cluster, etcd, member, index), format!("{base}.subnet"))
        .set("size_gib", i64::from(volume.size_gib), field("sizeGiB"))
        .set("type", volume.kind.clone(), field("type"))
        .set("iops", volume.iops, field("iops"))
        .set("throughput", volume.throughput, field("throughput"))
        .set("encrypted", volume.encrypted, field("encrypted"))
        .set("key_id", volume.key.clone(), field("key"))
        .set("device", volume.device.clone(), field("device"))
        .set("mount_path", volume.mount_path.clone(), field("mountPath"))
        .set("delete_on_termination", volume.delete_on_termination, field("deleteOnTermination"));
    builder.add(draft);
}

/// The zone of a member: that of its subnet, or the next one of its pool.
fn zone_of(cluster: &ClusterInput, etcd: &EtcdCluster, member: &EtcdMember, index: usize) -> String {
    let subnet = member.subnet.as_deref().and_then(|name| cluster.subnet(name));
    if let Some(subnet) = subnet {
        return subnet.zone.clone();
    }
    let zones = cluster.pool(&member.pool).map_or(&cluster.zones, |pool| &pool.zones);
    let zones = if zones.is_empty() { &cluster.zones } else { zones };
    let position = etcd
        .members
        .iter()
        .take(index)
        .filter(|other| other.pool == member.pool && other.subnet.is_none())
        .count();
    zones.get(position % zones.len().max(1)).cloned().unwrap_or_else(|| "zone".to_owned())
}
