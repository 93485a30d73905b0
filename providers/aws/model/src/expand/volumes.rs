//! The volumes that hold etcd's data. They outlive every machine.

use slipway_cluster_input::{EtcdCluster, EtcdMember, Volume};
use slipway_resource::ProviderError;

use super::build::Builder;
use super::refuse;
use crate::tags;

/// One volume for each member of each etcd cluster, in the zone of the member's pool.
pub(super) fn etcd_volumes(builder: &mut Builder<'_>) -> Result<(), ProviderError> {
    for etcd in &builder.cluster.etcd {
        let mut names: Vec<&str> = etcd.members.iter().map(|member| member.name.as_str()).collect();
        names.sort_unstable();
        let all = names.join(",");
        for member in &etcd.members {
            volume(builder, etcd, member, &all)?;
        }
    }
    Ok(())
}

fn volume(
    builder: &mut Builder<'_>,
    etcd: &EtcdCluster,
    member: &EtcdMember,
    all: &str,
) -> Result<(), ProviderError> {
    let field = format!("etcd[{}].members[{}]", etcd.name, member.name);
    let zone = zone(builder, member).ok_or_else(|| {
        refuse(
            &format!("{field}.pool"),
            "the pool has no zone, so its volume has none",
            "name a pool with a subnet or a zone",
        )
    })?;
    let given = member.volume.clone().unwrap_or_else(|| Volume { encrypted: true, ..Volume::of_size(20) });
    let kind = given.kind.clone().unwrap_or_else(|| "gp3".to_owned());
    let performance = Performance::of(&kind, given.iops, given.throughput);
    let name = builder.named(&format!("{}.etcd-{}", member.name, etcd.name));
    let (cluster_tag, spec_tag) = (format!("k8s.io/etcd/{}", etcd.name), format!("{}/{all}", member.name));
    let own = tags::with(
        builder.tags(&name),
        [
            (cluster_tag.as_str(), spec_tag.as_str()),
            ("k8s.io/role/control-plane", "1"),
            ("k8s.io/role/master", "1"),
        ],
    );
    let draft = builder
        .draft("aws_ebs_volume", &name, field.as_str())
        .set("availability_zone", zone, format!("{field}.pool"))
        .set("size", given.size_gib, format!("{field}.volume.sizeGiB"))
        .set("type", kind, format!("{field}.volume.type"))
        .set("iops", performance.iops, format!("{field}.volume.iops"))
        .set("throughput", performance.throughput, format!("{field}.volume.throughput"))
        .set("encrypted", given.encrypted, format!("{field}.volume.encrypted"))
        .set("kms_key_id", given.key.filter(|_| given.encrypted), format!("{field}.volume.key"))
        .tags(own)
        .protected();
    builder.add(draft);
    Ok(())
}

/// The zone of the member's own subnet, or of the first subnet of its pool.
fn zone(builder: &Builder<'_>, member: &EtcdMember) -> Option<String> {
    let cluster = builder.cluster;
    let pool = cluster.pool(&member.pool);
    let subnets = member.subnet.iter().chain(pool.into_iter().flat_map(|pool| &pool.subnets));
    let in_subnets = subnets.filter_map(|name| cluster.subnet(name)).map(|subnet| subnet.zone.clone());
    in_subnets.chain(pool.and_then(|pool| pool.zones.first().cloned())).find(|zone| !zone.is_empty())
}

/// The performance of a type of volume, where it can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Performance {
    /// Operations a second.
    pub(super) iops: Option<u32>,
    /// MiB a second.
    pub(super) throughput: Option<u32>,
}

impl Performance {
    /// The requested performance, and at least that of the type.
    pub(super) fn of(kind: &str, iops: Option<u32>, throughput: Option<u32>) -> Self {
        match kind {
            "gp3" => Self {
                iops: Some(iops.unwrap_or(0).max(3000)),
                throughput: Some(throughput.unwrap_or(0).max(125)),
            },
            "io1" | "io2" => Self { iops: Some(iops.unwrap_or(0).max(100)), throughput: None },
            _ => Self { iops: None, throughput: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_type_knows_is_asked_for() {
        let of = |kind, iops, throughput| {
            let found = Performance::of(kind, iops, throughput);
            (found.iops, found.throughput)
        };
        assert_eq!(of("gp3", None, None), (Some(3000), Some(125)));
        assert_eq!(of("gp3", Some(100), Some(500)), (Some(3000), Some(500)));
        assert_eq!(of("io2", None, Some(500)), (Some(100), None));
        assert_eq!(of("gp2", Some(4000), Some(500)), (None, None));
    }
}
