//! Labels, annotations and finalizers.

use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// The label of Cluster API with the name of the cluster of an object.
pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
/// The label of Cluster API on the machines of a control plane.
pub const CONTROL_PLANE: &str = "cluster.x-k8s.io/control-plane";
/// The annotation of Cluster API that pauses an object.
pub const PAUSED: &str = "cluster.x-k8s.io/paused";
/// The annotation, or label, of Cluster API on infrastructure that another tool manages.
pub const MANAGED_BY: &str = "cluster.x-k8s.io/managed-by";
/// The label of Cluster API that assigns objects to one of several controllers.
pub const WATCH_FILTER: &str = "cluster.x-k8s.io/watch-filter";
/// The label with the failure domain of a host.
pub const FAILURE_DOMAIN: &str = "topology.kubernetes.io/zone";

/// Host label: name of the Machine that has claimed the host.
pub const MACHINE_NAME: &str = "elementalhost.infrastructure.cluster.x-k8s.io/machine-name";
/// Host label: name of the ElementalMachine that has claimed the host.
pub const ELEMENTAL_MACHINE_NAME: &str =
    "elementalhost.infrastructure.cluster.x-k8s.io/elemental-machine-name";
/// Host label: the operating system is installed.
pub const INSTALLED: &str = "elementalhost.infrastructure.cluster.x-k8s.io/installed";
/// Host label: the bootstrap data has run.
pub const BOOTSTRAPPED: &str = "elementalhost.infrastructure.cluster.x-k8s.io/bootstrapped";
/// Host label: the host must be reset.
pub const NEEDS_RESET: &str = "elementalhost.infrastructure.cluster.x-k8s.io/needs-reset";
/// Host label: the host was reset.
pub const RESET: &str = "elementalhost.infrastructure.cluster.x-k8s.io/reset";

/// Annotation of an ElementalCluster: name of the host whose address is the elected endpoint.
pub const ELECTED_HOST: &str = "elementalcluster.infrastructure.cluster.x-k8s.io/elected-host";
/// Annotation of an ElementalCluster: UID of that host.
pub const ELECTED_HOST_UID: &str = "elementalcluster.infrastructure.cluster.x-k8s.io/elected-host-uid";
/// Annotation of an ElementalCluster: the elected endpoint, `host:port`.
pub const ELECTED_ENDPOINT: &str = "elementalcluster.infrastructure.cluster.x-k8s.io/elected-endpoint";
/// Annotation of an ElementalCluster: the endpoints that it had before, `host:port`, divided by commas.
pub const PREVIOUS_ENDPOINTS: &str = "elementalcluster.infrastructure.cluster.x-k8s.io/previous-endpoints";
/// Annotation of an ElementalMachine: the endpoint that its bootstrap data was made for, `host:port`.
pub const BOOTSTRAP_ENDPOINT: &str = "elementalmachine.infrastructure.cluster.x-k8s.io/bootstrap-endpoint";

/// The finalizer of ElementalClusters.
pub const CLUSTER_FINALIZER: &str = "elementalcluster.infrastructure.cluster.x-k8s.io";
/// The finalizer of ElementalMachines, and of ElementalHosts, as Elemental names it.
pub const MACHINE_FINALIZER: &str = "elementalmachine.infrastructure.cluster.x-k8s.io";

/// A label.
#[must_use]
pub fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.labels.as_ref()?.get(key).map(String::as_str)
}

/// An annotation.
#[must_use]
pub fn annotation<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

/// Whether a label is `true`.
#[must_use]
pub fn is_set(metadata: &ObjectMeta, key: &str) -> bool {
    label(metadata, key) == Some("true")
}

/// Whether another tool manages the object.
#[must_use]
pub fn is_externally_managed(metadata: &ObjectMeta) -> bool {
    annotation(metadata, MANAGED_BY).or_else(|| label(metadata, MANAGED_BY)).is_some()
}

/// Whether the object is paused by itself.
#[must_use]
pub fn is_paused(metadata: &ObjectMeta) -> bool {
    annotation(metadata, PAUSED).is_some()
}

/// Whether the object has a finalizer.
#[must_use]
pub fn has_finalizer(metadata: &ObjectMeta, finalizer: &str) -> bool {
    metadata.finalizers.as_deref().unwrap_or_default().iter().any(|one| one == finalizer)
}

/// The finalizers of an object with one more.
#[must_use]
pub fn with_finalizer(metadata: &ObjectMeta, finalizer: &str) -> Vec<String> {
    let mut all = metadata.finalizers.clone().unwrap_or_default();
    all.push(finalizer.to_owned());
    all
}

/// The finalizers of an object without one.
#[must_use]
pub fn without_finalizer(metadata: &ObjectMeta, finalizer: &str) -> Vec<String> {
    metadata.finalizers.iter().flatten().filter(|one| *one != finalizer).cloned().collect()
}
