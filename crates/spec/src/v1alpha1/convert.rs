//! From documents to the model.

use super::{ClusterDocument, ClusterSpec, ControlPlaneSpec, NodePoolDocument, defaults};
use crate::model::{
    Addon, Cluster, ControlPlane, EtcdBackups, EtcdCluster, EtcdMember, Host, NodePool, Profile,
    ServiceAccounts,
};

mod network;
mod pool;

/// The cluster of a document and its pools, with every default filled in. Never fails: the checks of the
/// model find contradictions.
#[must_use]
pub(super) fn cluster(
    document: ClusterDocument,
    pools: Vec<NodePoolDocument>,
    mut hosts: Vec<Host>,
) -> Cluster {
    let ClusterDocument { metadata, mut spec, .. } = document;
    spec.sysctls = defaults::sysctls(std::mem::take(&mut spec.sysctls), spec.profile);
    let zones = zones(&spec);
    let network = network::network(&spec.network, spec.profile, &zones);
    let mut pools: Vec<NodePool> =
        pools.into_iter().map(|pool| pool::pool(pool, &spec, &network, &zones)).collect();
    pools.sort_by(|a, b| a.name.cmp(&b.name));
    hosts.sort_by(|a, b| (&a.name, &a.inventory).cmp(&(&b.name, &b.inventory)));
    let etcd = etcd(&spec, &pools, &zones);
    let issuer = spec
        .service_accounts
        .issuer
        .unwrap_or_else(|| format!("https://kubernetes.default.svc.{}", network.cluster_domain));
    Cluster {
        name: metadata.name,
        labels: metadata.labels,
        profile: spec.profile,
        provider: spec.provider,
        kubernetes_version: spec.kubernetes_version,
        emulated_version: None,
        turned_back_from: None,
        region: spec.region,
        control_plane: control_plane(spec.control_plane, &zones),
        zones,
        network,
        etcd,
        components: spec.components,
        kubelet: spec.kubelet,
        container_runtime: spec.container_runtime,
        addons: addons(spec.addons, spec.profile),
        authentication: spec.authentication,
        service_accounts: ServiceAccounts {
            issuer,
            discovery_store: spec.service_accounts.discovery_store,
            additional_audiences: spec.service_accounts.additional_audiences,
        },
        encryption: spec.encryption.unwrap_or_else(|| defaults::encryption(spec.profile)),
        audit: defaults::audit(spec.audit, spec.profile),
        pod_security: spec.pod_security.or_else(|| defaults::pod_security(spec.profile)),
        ssh: spec.ssh,
        node_files: spec.node_files,
        sysctls: spec.sysctls,
        assets: spec.assets,
        egress_proxy: spec.egress_proxy,
        cloud_labels: spec.cloud_labels,
        deletion_protection: spec.deletion_protection,
        ignore_changes: spec.ignore_changes,
        moved: spec.moved,
        removed: spec.removed,
        import: spec.import,
        pools,
        hosts,
    }
}

/// The zones that are given, or those of the subnets in order.
fn zones(spec: &ClusterSpec) -> Vec<String> {
    spec.zones.clone().unwrap_or_else(|| {
        let mut zones: Vec<String> = Vec::new();
        for subnet in spec.network.subnets.iter().flatten() {
            if !zones.contains(&subnet.zone) {
                zones.push(subnet.zone.clone());
            }
        }
        zones
    })
}

fn control_plane(spec: ControlPlaneSpec, zones: &[String]) -> ControlPlane {
    let usual = ControlPlane::default();
    ControlPlane {
        endpoint: spec.endpoint.unwrap_or_else(|| defaults::endpoint(zones)),
        node_local_balancer: spec.node_local_balancer,
        hosting: spec.hosting,
        soak: spec.soak,
        on_broken_gate: spec.on_broken_gate,
        gates: spec.gates,
        dns: spec.dns,
        additional_sans: spec.additional_sans,
        access: spec.access.unwrap_or(usual.access),
        schedulable: spec.schedulable,
    }
}

fn etcd(spec: &ClusterSpec, pools: &[NodePool], zones: &[String]) -> Vec<EtcdCluster> {
    let clusters = spec.etcd.clone().unwrap_or_else(|| defaults::etcd_clusters(spec.profile));
    clusters
        .into_iter()
        .map(|cluster| EtcdCluster {
            members: match cluster.members {
                None => defaults::etcd_members(pools, zones),
                Some(members) => members
                    .into_iter()
                    .enumerate()
                    .map(|(index, member)| EtcdMember {
                        subnet: member.subnet.or_else(|| turn(pools, &member.pool, index)),
                        volume: member.volume.or_else(|| defaults::etcd_volume(zones)),
                        name: member.name,
                        pool: member.pool,
                    })
                    .collect(),
            },
            backups: cluster.backups.unwrap_or_else(|| EtcdBackups {
                enabled: spec.profile.has_own_defaults(),
                ..EtcdBackups::default()
            }),
            name: cluster.name,
            version: cluster.version,
            cpu_request: cluster.cpu_request,
            memory_request: cluster.memory_request,
        })
        .collect()
}

/// The subnet of a pool whose turn it is.
fn turn(pools: &[NodePool], pool: &str, index: usize) -> Option<String> {
    let subnets = &pools.iter().find(|candidate| candidate.name == pool)?.subnets;
    subnets.get(index.checked_rem(subnets.len())?).cloned()
}

/// The listed add-ons, and those of the profile, in the order of names.
fn addons(listed: Vec<Addon>, profile: Profile) -> Vec<Addon> {
    let mut addons = listed;
    for addon in defaults::addons(profile) {
        if !addons.iter().any(|listed| listed.name == addon.name) {
            addons.push(addon);
        }
    }
    addons.sort_by(|a, b| a.name.cmp(&b.name));
    addons
}
