//! The tags of a pool: on its launch template, its group, and on all objects that are created with a machine
//! of it.

use slipway_cluster_input::{NodePool, Role};

use super::instance_types::has_nvidia;
use crate::expand::build::Builder;
use crate::expand::termination;
use crate::names;
use crate::tags::{CLUSTER, NAME, NODE_TEMPLATE_LABEL, Tags, membership};

/// The prefix of tags from which the cluster autoscaler learns the taints of a pool's nodes.
const NODE_TEMPLATE_TAINT: &str = "k8s.io/cluster-autoscaler/node-template/taint/";

/// A pool's tags.
pub(super) fn pool_tags(builder: &Builder<'_>, pool: &NodePool) -> Tags {
    let name = names::group(pool, &builder.cluster.name);
    let mut tags = builder.cluster.cloud_labels.clone();
    tags.extend(pool.cloud_labels.clone());
    for (label, value) in node_labels(builder, pool) {
        tags.insert(format!("{NODE_TEMPLATE_LABEL}{label}"), value);
    }
    for taint in &pool.taints {
        if !taint.value.is_empty() {
            let value = format!("{}:{:?}", taint.value, taint.effect);
            tags.insert(format!("{NODE_TEMPLATE_TAINT}{}", taint.key), value);
        }
    }
    if let Some(managed) = termination::managed_tag(builder) {
        tags.insert(managed.to_owned(), String::new());
    }
    tags.insert(CLUSTER.to_owned(), builder.cluster.name.clone());
    tags.insert(NAME.to_owned(), name);
    tags.insert(membership(&builder.cluster.name), "owned".to_owned());
    for key in role_tags(pool.role) {
        tags.insert((*key).to_owned(), "1".to_owned());
    }
    tags.insert("kops.k8s.io/instancegroup".to_owned(), pool.name.clone());
    tags
}

const fn role_tags(role: Role) -> &'static [&'static str] {
    match role {
        Role::ControlPlane => &["k8s.io/role/control-plane", "k8s.io/role/master"],
        Role::Worker => &["k8s.io/role/node"],
        Role::ApiServer => &["k8s.io/role/apiserver"],
        Role::Bastion => &["k8s.io/role/bastion"],
    }
}

/// The labels of a pool's nodes, whichever component sets them.
pub(crate) fn node_labels(builder: &Builder<'_>, pool: &NodePool) -> Tags {
    // The machines of a bastion are no nodes. The labels of its pool are written into its tags, as kOps does.
    let mut labels: Tags =
        standard_labels(pool.role).iter().map(|label| ((*label).to_owned(), String::new())).collect();
    if pool.role.is_node() && has_nvidia(builder, pool) {
        labels.insert("kops.k8s.io/gpu".to_owned(), "1".to_owned());
    }
    labels.extend(builder.pool_settings(pool).node_labels);
    labels.extend(pool.node_labels.clone());
    labels
}

const fn standard_labels(role: Role) -> &'static [&'static str] {
    match role {
        Role::ControlPlane => &[
            "kops.k8s.io/kops-controller-pki",
            "node-role.kubernetes.io/control-plane",
            "node.kubernetes.io/exclude-from-external-load-balancers",
        ],
        Role::Worker => &["node-role.kubernetes.io/node"],
        Role::ApiServer => &["kops.k8s.io/kops-controller-pki", "node-role.kubernetes.io/api-server"],
        Role::Bastion => &[],
    }
}
