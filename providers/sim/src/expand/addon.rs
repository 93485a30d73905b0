//! The workloads in the cluster, with their budgets.

use slipway_cluster_input::{Addon, ClusterInput, Manifest, ProxyMode, Role};
use slipway_resource::{Address, Value};

use super::address;
use super::build::Builder;
use super::pool::pool_address;

/// Adds the add-ons, the pod network and the service proxy.
pub(super) fn addons(builder: &mut Builder<'_>) {
    let cluster = builder.cluster;
    let home = home(cluster);
    for addon in &cluster.addons {
        if addon.enabled {
            add(builder, addon, home);
        } else if has_settings(addon) {
            let message = format!("add-on {} is off, so its settings have no effect", addon.name);
            builder.note(format!("addons[{}].enabled", addon.name), message);
        }
    }
    if cluster.network.cni.name != "none" {
        let draft = daemon(builder, "cni", "network.cni")
            .set("version", cluster.network.cni.name.as_str(), "network.cni.name")
            .set("configuration", document(&cluster.network.cni.config), "network.cni.config");
        builder.add(draft);
    }
    let proxy = address("sim_workload", "kube-proxy");
    if cluster.network.proxy_mode != ProxyMode::None && !builder.has(&proxy) {
        let draft = daemon(builder, "kube-proxy", "network.proxyMode").set(
            "version",
            cluster.kubernetes_version.to_string(),
            "kubernetesVersion",
        );
        builder.add(draft);
    }
}

/// Whether an add-on says more than its name.
fn has_settings(addon: &Addon) -> bool {
    addon.version.is_some()
        || addon.replicas.is_some()
        || addon.minimum_available.is_some()
        || addon.manifest.is_some()
        || !addon.config.is_null()
}

fn daemon(builder: &Builder<'_>, name: &str, origin: &str) -> super::build::Draft {
    builder
        .draft("sim_workload", name, origin)
        .set("cluster", builder.cluster.name.as_str(), "name")
        .fix("name", name)
        .fix("kind", "daemon")
        .after(pools(builder.cluster, &[Role::ControlPlane]))
}

fn add(builder: &mut Builder<'_>, addon: &Addon, home: Role) {
    let cluster = builder.cluster;
    let field = |name: &str| format!("addons[{}].{name}", addon.name);
    let (version, version_field) = match &addon.version {
        Some(version) => (version.clone(), field("version")),
        None => {
            let version = &cluster.kubernetes_version;
            let version = format!("of Kubernetes {}.{}", version.major, version.minor);
            (version, "kubernetesVersion".to_owned())
        }
    };
    let manifest = addon.manifest.as_ref().map(|manifest| match manifest {
        Manifest::File(path) => format!("file {path}"),
        Manifest::Url { url, sha256 } => format!("{url} sha256:{sha256}"),
    });
    let replicas = addon.replicas.map_or_else(|| usual_replicas(&addon.name), i64::from);
    let selector = Value::map([("role", home.as_str())]);
    let draft = builder
        .draft("sim_workload", &addon.name, format!("addons[{}]", addon.name))
        .set("cluster", cluster.name.as_str(), "name")
        .set("name", addon.name.as_str(), field("name"))
        .set("version", version, version_field)
        .set("replicas", replicas, field("replicas"))
        .set(
            "minimum_available",
            addon.minimum_available.map(|amount| amount.to_string()),
            field("minimumAvailable"),
        )
        .set("node_selector", selector, "pools")
        .set("configuration", document(&addon.config), field("config"))
        .set("manifest", manifest, field("manifest"))
        .after(pools(cluster, &[Role::ControlPlane, home]));
    builder.add(draft);
}

/// Where ordinary pods run.
fn home(cluster: &ClusterInput) -> Role {
    if cluster.pools_with(Role::Worker).next().is_some() { Role::Worker } else { Role::ControlPlane }
}

fn pools(cluster: &ClusterInput, roles: &[Role]) -> Vec<Address> {
    let wanted = cluster.pools.iter().filter(|pool| roles.contains(&pool.role));
    wanted.map(|pool| pool_address(&pool.name)).collect()
}

fn usual_replicas(name: &str) -> i64 {
    match name {
        "coredns" | "metrics-server" => 2,
        _ => 1,
    }
}

fn document(config: &serde_json::Value) -> Value {
    match config {
        serde_json::Value::Null => Value::Null,
        config => serde_json::to_string_pretty(config).map_or(Value::Null, Value::from),
    }
}
