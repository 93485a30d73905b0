//! Tags, as clusters made by kOps have them.

use std::collections::BTreeMap;

use slipway_cluster_input::ClusterInput;

/// The tag that names the cluster.
pub const CLUSTER: &str = "KubernetesCluster";
/// The tag that names the resource.
pub const NAME: &str = "Name";
/// The tag that tells route tables apart.
pub const ROUTE_TABLE_ROLE: &str = "kubernetes.io/kops/role";
/// The prefix of tags from which the cluster autoscaler learns the labels of a pool's nodes.
pub const NODE_TEMPLATE_LABEL: &str = "k8s.io/cluster-autoscaler/node-template/label/";

/// Tags of one resource.
pub type Tags = BTreeMap<String, String>;

/// The tag by which cloud controllers find what belongs to a cluster.
#[must_use]
pub fn membership(cluster: &str) -> String {
    format!("kubernetes.io/cluster/{cluster}")
}

/// The tags of a resource that the cluster owns: the cluster's cloud labels, and its name.
#[must_use]
pub fn owned(cluster: &ClusterInput, name: &str) -> Tags {
    let mut tags = cluster.cloud_labels.clone();
    tags.insert(CLUSTER.to_owned(), cluster.name.clone());
    tags.insert(NAME.to_owned(), name.to_owned());
    tags.insert(membership(&cluster.name), "owned".to_owned());
    tags
}

/// Adds tags.
#[must_use]
pub fn with<'a>(mut tags: Tags, more: impl IntoIterator<Item = (&'a str, &'a str)>) -> Tags {
    tags.extend(more.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())));
    tags
}
