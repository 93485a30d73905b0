//! Settings of machines that change in place: an object in the cluster has them, and not the user data.
//!
//! The rest of the settings stays in the user data (the seed), so that a change of it replaces the machines. A field that is not
//! known to be safe belongs to the seed. The user data of control planes has the settings as well, for the machine that begins the
//! cluster; a plan does not change it because of these alone.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value as Json, json};
use slipway_bootstrap::boot::{SETTINGS, SETTINGS_KIND, SETTINGS_OF, SETTINGS_VERSION, settings_name};
use slipway_cluster_input::{Component, ComponentName, FileAsset, Kubelet, NodePool, Role};

use super::build::Builder;
use super::compute;
use super::compute::tags::node_labels;
use super::topology::names_machines;
use crate::tags::Tags;

/// The role with which nodes read the settings.
const ROLE: &str = "slipway-node-settings";
const RBAC: &str = "rbac.authorization.k8s.io";

/// Fields of `KubeletConfiguration` beyond those of the spec that the kubelet reads when it starts, and that change neither the
/// resources of pods nor how containers run (<https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/>).
const SAFE: [&str; 26] = [
    "containerLogMaxFiles",
    "containerLogMaxSize",
    "containerLogMaxWorkers",
    "containerLogMonitorInterval",
    "eventBurst",
    "eventRecordQPS",
    "evictionMaxPodGracePeriod",
    "evictionMinimumReclaim",
    "evictionPressureTransitionPeriod",
    "fileCheckFrequency",
    "httpCheckFrequency",
    "imageMaximumGCAge",
    "imageMinimumGCAge",
    "kubeAPIBurst",
    "kubeAPIQPS",
    "logging",
    "maxParallelImagePulls",
    "nodeLeaseDurationSeconds",
    "nodeStatusReportFrequency",
    "nodeStatusUpdateFrequency",
    "registryBurst",
    "registryPullQPS",
    "runtimeRequestTimeout",
    "shutdownGracePeriodCriticalPods",
    "streamingConnectionIdleTimeout",
    "syncFrequency",
];

/// The static pods whose settings change in place on control planes. etcd is not one of them: it has the data of the cluster.
const STATIC_PODS: [ComponentName; 3] =
    [ComponentName::ApiServer, ComponentName::ControllerManager, ComponentName::Scheduler];

/// The settings of a pool, version `v1alpha1`. Missing fields have the spec's default.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeSettings<'a> {
    api_version: &'static str,
    kind: &'static str,
    kubelet: Kubelet,
    labels: Tags,
    files: &'a [FileAsset],
    components: BTreeMap<ComponentName, &'a Component>,
}

/// An object of the cluster that settings need.
pub(super) struct Object {
    /// The field that it comes from.
    pub field: String,
    /// The object.
    pub manifest: Json,
    /// Whether it has the settings of control planes.
    pub is_of_control_planes: bool,
}

/// Whether settings of a pool change in place.
pub(super) fn is_in_place(builder: &Builder<'_>, pool: &NodePool) -> bool {
    !pool.rollout.strategy.is_replace() && why_not(builder, pool).is_none()
}

/// Why the settings of a pool cannot change in place.
fn why_not(builder: &Builder<'_>, pool: &NodePool) -> Option<&'static str> {
    match pool.role {
        // They read their settings with the keys of the cluster.
        Role::ControlPlane => return None,
        Role::Worker => {}
        Role::ApiServer | Role::Bastion => {
            return Some("only control planes and workers change in place");
        }
    }
    if !compute::is_group(builder, pool) {
        return Some("Karpenter starts and replaces the machines of this pool");
    }
    (!names_machines(builder.cluster)).then_some(
        "machines read their settings with the credential of their node, and `assets.programs` does not have the program \
         `provider` that they ask for it with",
    )
}

/// Names the pools whose settings cannot change in place although the spec asks for it.
pub(super) fn name(builder: &mut Builder<'_>) {
    let cluster = builder.cluster;
    for pool in cluster.pools.iter().filter(|pool| !pool.rollout.strategy.is_replace()) {
        if let Some(why) = why_not(builder, pool) {
            let message = format!("settings of this pool do not change in place: {why}");
            builder.note(format!("pools[{}].rollout.strategy", pool.name), message);
        }
    }
}

/// The kubelet's configuration in the user data of a pool.
pub(super) fn kubelet_of_seed(builder: &Builder<'_>, pool: &NodePool) -> Kubelet {
    if is_in_place(builder, pool) { split(&pool.kubelet).0 } else { pool.kubelet.clone() }
}

/// The files in the user data of a pool. With hooks, all of them: a hook may read them when the machine boots.
pub(super) fn files_of_seed<'a>(builder: &Builder<'_>, pool: &'a NodePool) -> &'a [FileAsset] {
    if is_in_place(builder, pool) && pool.node_files.hooks.is_empty() { &[] } else { &pool.node_files.files }
}

/// Whether the settings of a component are in the user data of a pool.
pub(super) fn is_component_of_seed(builder: &Builder<'_>, pool: &NodePool, name: ComponentName) -> bool {
    pool.role != Role::ControlPlane || !STATIC_PODS.contains(&name) || !is_in_place(builder, pool)
}

/// The settings with which a control plane begins the cluster.
pub(super) fn first(builder: &Builder<'_>, pool: &NodePool) -> Option<String> {
    (pool.role == Role::ControlPlane).then(|| text(builder, pool))
}

/// The part of the kubelet's configuration whose change replaces machines, and the part that changes in place.
fn split(kubelet: &Kubelet) -> (Kubelet, Kubelet) {
    // A new field has to be in one of the two.
    let Kubelet {
        max_pods,
        kube_reserved,
        system_reserved,
        eviction_hard,
        eviction_soft,
        eviction_soft_grace_period,
        cpu_manager_policy,
        topology_manager_policy,
        image_gc_high_threshold_percent,
        image_gc_low_threshold_percent,
        shutdown_grace_period,
        serialize_image_pulls,
        server_tls_bootstrap,
        fail_swap_on,
        allowed_unsafe_sysctls,
        feature_gates,
        extra_config,
    } = kubelet.clone();
    let (safe, other): (Map<String, Json>, Map<String, Json>) = match extra_config {
        Json::Object(fields) => fields.into_iter().partition(|(name, _)| SAFE.contains(&name.as_str())),
        _ => Default::default(),
    };
    let whole = |fields: Map<String, Json>| if fields.is_empty() { Json::Null } else { Json::Object(fields) };
    let seed = Kubelet {
        cpu_manager_policy,
        topology_manager_policy,
        server_tls_bootstrap,
        fail_swap_on,
        allowed_unsafe_sysctls,
        feature_gates,
        extra_config: whole(other),
        ..Kubelet::default()
    };
    let settings = Kubelet {
        // A node is drained before these four change.
        max_pods,
        kube_reserved,
        system_reserved,
        eviction_hard,
        eviction_soft,
        eviction_soft_grace_period,
        image_gc_high_threshold_percent,
        image_gc_low_threshold_percent,
        shutdown_grace_period,
        serialize_image_pulls,
        extra_config: whole(safe),
        ..Kubelet::default()
    };
    (seed, settings)
}

/// The objects with the settings of all pools that change in place, those of control planes first, and the permission of workers
/// to read theirs.
pub(super) fn objects(builder: &Builder<'_>) -> Vec<Object> {
    let pools = builder.cluster.pools.iter().filter(|pool| is_in_place(builder, pool));
    let (control_planes, workers): (Vec<&NodePool>, Vec<&NodePool>) =
        pools.partition(|pool| pool.role == Role::ControlPlane);
    let maps = control_planes.into_iter().map(|pool| map(builder, pool));
    maps.chain(permission(&workers)).chain(workers.iter().map(|pool| map(builder, pool))).collect()
}

/// The object with the settings of a pool.
fn map(builder: &Builder<'_>, pool: &NodePool) -> Object {
    let mut metadata = metadata(&settings_name(&pool.name));
    metadata["labels"] = json!({ SETTINGS_OF: pool.name });
    let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
        "data": { SETTINGS: text(builder, pool) }});
    let field = format!("pools[{}].rollout.strategy", pool.name);
    Object { field, manifest, is_of_control_planes: pool.role == Role::ControlPlane }
}

/// The permission to read the settings of workers. Control planes need none.
fn permission(workers: &[&NodePool]) -> Vec<Object> {
    if workers.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = workers.iter().map(|pool| settings_name(&pool.name)).collect();
    let role = json!({"apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": metadata(ROLE),
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": names, "verbs": ["get"]}]});
    let binding = json!({"apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding", "metadata": metadata(ROLE),
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": ROLE},
        "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": "system:nodes"}]});
    let field = "rollout.strategy".to_owned();
    let object = |manifest| Object { field: field.clone(), manifest, is_of_control_planes: false };
    vec![object(role), object(binding)]
}

fn metadata(name: &str) -> Json {
    json!({"name": name, "namespace": "kube-system"})
}

/// The settings of a pool as text, so that a plan shows the lines that change.
fn text(builder: &Builder<'_>, pool: &NodePool) -> String {
    let components = builder.cluster.components.iter();
    let settings = NodeSettings {
        api_version: SETTINGS_VERSION,
        kind: SETTINGS_KIND,
        kubelet: split(&pool.kubelet).1,
        labels: node_labels(builder, pool),
        files: if pool.node_files.hooks.is_empty() { &pool.node_files.files } else { &[] },
        components: components
            .filter(|(name, _)| !is_component_of_seed(builder, pool, **name))
            .map(|(name, component)| (*name, component))
            .collect(),
    };
    let mut json = serde_json::to_value(&settings).unwrap_or_default();
    super::user_data::prune(&mut json);
    format!("{json:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_the_kubelet_is_either_in_the_user_data_or_in_the_settings() {
        let kubelet = Kubelet {
            max_pods: Some(50),
            cpu_manager_policy: Some("static".to_owned()),
            image_gc_low_threshold_percent: Some(70),
            extra_config: json!({"cgroupDriver": "systemd", "kubeAPIQPS": 20, "unknown": true}),
            ..Kubelet::default()
        };
        let (seed, settings) = split(&kubelet);
        assert_eq!((seed.max_pods, settings.max_pods), (None, Some(50)));
        assert!(seed.cpu_manager_policy.is_some() && settings.cpu_manager_policy.is_none());
        assert_eq!(seed.image_gc_low_threshold_percent, None);
        assert_eq!(settings.image_gc_low_threshold_percent, Some(70));
        assert_eq!(seed.extra_config, json!({"cgroupDriver": "systemd", "unknown": true}));
        assert_eq!(settings.extra_config, json!({"kubeAPIQPS": 20}));
        assert_eq!(seed.merged_with(&settings), kubelet);
    }
}
