use std::collections::BTreeMap;

use crate::{
    model::{FileAsset, Hook, Network, NodeFiles, NodePool},
    v1alpha1::{ClusterSpec, NodePoolDocument, defaults},
};

/// A pool of a cluster, with what the cluster says for all of them.
pub(super) fn pool(
    document: NodePoolDocument,
    cluster: &ClusterSpec,
    network: &Network,
    zones: &[String],
) -> NodePool {
    let NodePoolDocument { metadata, spec, .. } = document;
    let (subnets, zones) = defaults::placement(&spec, network, zones);
    NodePool {
        name: metadata.name,
        labels: metadata.labels,
        role: spec.role,
        size: defaults::size(&spec),
        kubernetes_version: spec
            .kubernetes_version
            .clone()
            .unwrap_or_else(|| cluster.kubernetes_version.clone()),
        public_ip: defaults::public_ip(&spec, network),
        rollout: defaults::rollout(&spec, &cluster.rollout),
        taints: spec.taints.unwrap_or_else(|| defaults::taints(spec.role, cluster.control_plane.schedulable)),
        machine_type: spec.machine_type,
        architecture: spec.architecture,
        image: spec.image,
        mixed_instances: spec.mixed_instances,
        spot: spec.spot,
        root_volume: spec.root_volume,
        volumes: spec.volumes,
        subnets,
        zones,
        additional_security_groups: spec.additional_security_groups,
        node_labels: spec.node_labels,
        kubelet: cluster.kubelet.merged_with(&spec.kubelet),
        warm_pool: spec.warm_pool,
        hosts: spec.hosts,
        user_data: spec.user_data,
        packages: spec.packages,
        sysctls: over(&cluster.sysctls, spec.sysctls),
        node_files: files(&cluster.node_files, spec.node_files),
        cloud_labels: over(&cluster.cloud_labels, spec.cloud_labels),
        provider_config: spec.provider_config,
    }
}

fn over(base: &BTreeMap<String, String>, own: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut merged = base.clone();
    merged.extend(own);
    merged
}

fn files(base: &NodeFiles, own: NodeFiles) -> NodeFiles {
    NodeFiles {
        files: replace(&base.files, own.files, |file: &FileAsset| &file.name),
        hooks: replace(&base.hooks, own.hooks, |hook: &Hook| &hook.name),
    }
}

/// The cluster's items, each replaced by the pool's one of the same name, then the pool's others.
fn replace<T: Clone>(base: &[T], own: Vec<T>, name: impl Fn(&T) -> &String) -> Vec<T> {
    let mut merged = base.to_vec();
    for item in own {
        match merged.iter_mut().find(|other| name(other) == name(&item)) {
            Some(other) => *other = item,
            None => merged.push(item),
        }
    }
    merged
}
