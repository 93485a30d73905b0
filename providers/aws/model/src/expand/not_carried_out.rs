//! Fields of the spec that only reach the bootstrap document, and that a machine which boots by it does not carry out yet: the plan
//! names them, those of each pool in one note, and those of the cluster in another.
//!
//! The core takes the notes out where another tool boots the machines of the cluster.

use slipway_bootstrap::boot::{ETCD, NOT_CARRIED_OUT};
use slipway_cluster_input::{ClusterInput, Component, ComponentName, NodePool, ProgramName, Role};

use super::build::Builder;

/// Components whose environment machines do not set.
const WITHOUT_ENVIRONMENT: [ComponentName; 3] =
    [ComponentName::Kubelet, ComponentName::Etcd, ComponentName::Proxy];

/// The fields that are set, by their names.
type Fields = Vec<String>;

/// Names the fields of the cluster and of each pool.
pub(super) fn name(builder: &mut Builder<'_>) {
    let cluster = builder.cluster;
    let fields = of_cluster(builder);
    if let Some(first) = fields.first() {
        // The field without what is said of it.
        let field = first.split(' ').next().unwrap_or_default().to_owned();
        builder.note(field, format!("{NOT_CARRIED_OUT}{}", fields.join(", ")));
    }
    for pool in cluster.pools.iter().filter(|pool| pool.role != Role::Bastion) {
        let fields = of_pool(builder, pool);
        if !fields.is_empty() {
            let field = format!("pools[{}]", pool.name);
            builder.note(field, format!("{NOT_CARRIED_OUT}{}", fields.join(", ")));
        }
    }
}

fn of_cluster(builder: &Builder<'_>) -> Fields {
    let cluster = builder.cluster;
    let mut fields = Fields::new();
    let mut add = |is_set: bool, field: &str| {
        if is_set {
            fields.push(field.to_owned());
        }
    };
    add(cluster.egress_proxy.is_some(), "egressProxy");
    add(cluster.assets.file_repository.is_some(), "assets.fileRepository");
    add(!cluster.authentication.open_id_connect.is_empty(), "authentication.openIdConnect");
    add(cluster.authentication.anonymous_health_checks, "authentication.anonymousHealthChecks");
    // Discovery documents in a bucket of S3 are objects of the plan.
    let store = cluster.service_accounts.discovery_store.as_deref();
    add(store.is_some_and(|store| !store.starts_with("s3://")), "serviceAccounts.discoveryStore");
    add(!builder.settings.containerd.is_null(), "provider.config.containerd");
    fields.extend(of_runtime(cluster));
    fields.extend(of_etcd(cluster));
    for (name, component) in &cluster.components {
        fields.extend(of_component(*name, component));
    }
    fields
}

/// Machines configure containerd only if they install it.
fn of_runtime(cluster: &ClusterInput) -> Fields {
    let runtime = &cluster.container_runtime;
    let is_installed = cluster.assets.programs.files.iter().any(|file| file.name == ProgramName::Containerd);
    let fields = [
        (runtime.version.is_some(), "version"),
        (!runtime.registry_mirrors.is_empty(), "registryMirrors"),
        (runtime.sandbox_image.is_some() && !is_installed, "sandboxImage"),
        (runtime.extra_config.is_some() && !is_installed, "extraConfig"),
    ];
    set(&fields).map(|field| format!("containerRuntime.{field}")).collect()
}

/// Every control plane runs one member of one etcd cluster.
fn of_etcd(cluster: &ClusterInput) -> Fields {
    let mut fields = Fields::new();
    for etcd in &cluster.etcd {
        let place = format!("etcd[{}]", etcd.name);
        if etcd.name != ETCD {
            fields.push(format!("{place} (its volumes are created and not used)"));
            continue;
        }
        let own = [
            (etcd.version.is_some(), "version"),
            (etcd.cpu_request.is_some(), "cpuRequest"),
            (etcd.memory_request.is_some(), "memoryRequest"),
        ];
        fields.extend(set(&own).map(|field| format!("{place}.{field}")));
    }
    fields
}

/// Images are those of the Kubernetes version, static pods have kubeadm's requests, and kube-proxy is set up by its document.
fn of_component(name: ComponentName, component: &Component) -> Fields {
    // The add-on has its settings.
    if name == ComponentName::CloudController {
        return Fields::new();
    }
    let is_proxy = name == ComponentName::Proxy;
    let fields = [
        (component.image.is_some(), "image"),
        (component.resources != Default::default(), "resources"),
        (!component.environment.is_empty() && WITHOUT_ENVIRONMENT.contains(&name), "environment"),
        (!component.feature_gates.is_empty() && is_proxy, "featureGates"),
        (component.log_level.is_some() && is_proxy, "logLevel"),
    ];
    set(&fields).map(|field| format!("components.{name}.{field}")).collect()
}

fn of_pool(builder: &Builder<'_>, pool: &NodePool) -> Fields {
    let images = builder.pool_settings(pool).warm_pool.additional_images;
    let fields = [
        (!pool.packages.is_empty(), "packages"),
        (pool.node_files.hooks.iter().any(|hook| hook.enabled), "nodeFiles.hooks"),
        (pool.volumes.iter().any(|volume| volume.mount_path.is_some()), "volumes[].mountPath"),
        (pool.warm_pool.is_some() && !images.is_empty(), "providerConfig.warmPool.additionalImages"),
    ];
    set(&fields).map(str::to_owned).collect()
}

/// The fields that are set.
fn set(fields: &[(bool, &'static str)]) -> impl Iterator<Item = &'static str> {
    fields.iter().filter(|(is_set, _)| *is_set).map(|(_, field)| *field)
}
