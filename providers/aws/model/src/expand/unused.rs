//! Fields of the spec that say something and have no effect on AWS: the plan names them.

use slipway_cluster_input::Endpoint;

use super::build::Builder;
use super::volumes::Performance;

/// The prefix of labels that kOps writes on its own documents.
const OF_KOPS: &str = "kops.k8s.io/";

/// Notes each field that has no effect.
pub(super) fn name(builder: &mut Builder<'_>) {
    let cluster = builder.cluster;
    if cluster.labels.keys().any(|key| !key.starts_with(OF_KOPS)) {
        builder.note("labels", "labels of a document are not written to AWS: use cloudLabels for tags");
    }
    if matches!(cluster.control_plane.endpoint, Endpoint::VirtualIp(_)) {
        builder.note(
            "controlPlane.endpoint.virtualIp",
            "nodes use the address, and nothing on AWS announces it: kube-vip is not installed, so that its other settings have \
             no effect. Use a load balancer",
        );
    }
    for addon in cluster.addons.iter().filter(|addon| addon.minimum_available.is_some()) {
        let field = format!("addons[{}].minimumAvailable", addon.name);
        builder.note(field, "it has no effect: add-ons of Slipway on AWS have budgets of their own");
    }
    unused_zones(builder);
    for pool in &cluster.pools {
        let field = |name: &str| format!("pools[{}].{name}", pool.name);
        if pool.labels.keys().any(|key| !key.starts_with(OF_KOPS)) {
            builder.note(
                field("labels"),
                "labels of a document are not written to AWS: use nodeLabels for nodes and cloudLabels for tags",
            );
        }
        if pool.root_volume.mount_path.is_some() {
            builder.note(field("rootVolume.mountPath"), "it has no effect: the image mounts its root volume");
        }
        let root = std::iter::once(("rootVolume".to_owned(), &pool.root_volume));
        let more =
            pool.volumes.iter().enumerate().map(|(index, volume)| (format!("volumes[{index}]"), volume));
        for (place, volume) in root.chain(more) {
            let kind = volume.kind.as_deref().unwrap_or("gp3");
            let used = Performance::of(kind, volume.iops, volume.throughput);
            if volume.iops.is_some() && used.iops.is_none() {
                let text =
                    format!("it has no effect: the operations of a volume of type {kind} cannot be set");
                builder.note(field(&format!("{place}.iops")), text);
            }
            if volume.throughput.is_some() && used.throughput.is_none() {
                let text =
                    format!("it has no effect: the throughput of a volume of type {kind} cannot be set");
                builder.note(field(&format!("{place}.throughput")), text);
            }
        }
    }
}

/// Zones without a subnet, where the spec lists its subnets.
fn unused_zones(builder: &mut Builder<'_>) {
    let cluster = builder.cluster;
    let has_subnet = |zone: &&String| cluster.network.subnets.iter().any(|subnet| subnet.zone == **zone);
    let unused: Vec<&str> =
        cluster.zones.iter().filter(|zone| !has_subnet(zone)).map(String::as_str).collect();
    if !cluster.network.subnets.is_empty() && !unused.is_empty() {
        let text = format!("{} has no effect: no subnet of the spec is in it", unused.join(", "));
        builder.note("zones", text);
    }
}
