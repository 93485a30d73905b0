//! Pools of machines.

use slipway_cluster_input::value::SecretReference;
use slipway_cluster_input::{Architecture, AtRest, NodePool, OnBlocked, Role, Volume};
use slipway_resource::{Address, Secret, Value};

use super::build::{Builder, Draft, id_of, json, millis, word};
use super::endpoint::Reached;
use super::network::subnet_address;
use super::{AMD64_IMAGE, ARM64_IMAGE, address, etcd, identity, node, security};

/// The address of a pool.
pub(super) fn pool_address(name: &str) -> Address {
    address("sim_machine_pool", name)
}

/// Adds the pools.
pub(super) fn pools(builder: &mut Builder<'_>, reached: &Reached) {
    let cluster = builder.cluster;
    for pool in &cluster.pools {
        let base = format!("pools[{}]", pool.name);
        let draft = builder.draft("sim_machine_pool", &pool.name, base.as_str());
        let draft = basics(builder, draft, pool, &base, reached);
        let draft = template(builder, draft, pool, &base, reached);
        let draft = sizes(draft, pool, &base);
        let mut draft = rolling(draft, pool, &base);
        draft = draft.protected(cluster.deletion_protection && pool.role == Role::ControlPlane);
        if pool.role != Role::ControlPlane && pool.role.is_node() {
            // Nodes join what is there.
            draft = draft.after(cluster.pools_with(Role::ControlPlane).map(|pool| pool_address(&pool.name)));
        }
        if pool.role == Role::ControlPlane {
            draft = draft.set("snapshot_before_roll", etcd::stores(cluster), "etcd");
        }
        builder.add(draft);
        if !pool.role.is_node() && pool.kubelet != cluster.kubelet {
            builder.note(format!("{base}.kubelet"), "a bastion is not a node and has no kubelet");
        }
        if !pool.rollout.strategy.is_replace() {
            let message = "machines of the simulated cloud are replaced for every change";
            builder.note(format!("{base}.rollout.strategy"), message);
        }
        if pool.rollout.drain.on_blocked == OnBlocked::Skip {
            let message = "`skip` has the effect of `fail` here: a blocked drain stops the roll, and no machine of the \
                           plan is left out";
            builder.note(format!("{base}.rollout.drain.onBlocked"), message);
        }
    }
}

fn basics(builder: &Builder<'_>, draft: Draft, pool: &NodePool, base: &str, reached: &Reached) -> Draft {
    let cluster = builder.cluster;
    let subnets = pool.subnets.iter().map(|name| id_of(&subnet_address(name)));
    let zones = if pool.zones.is_empty() { &cluster.zones } else { &pool.zones };
    let volumes = etcd::volumes_of(cluster, &pool.name);
    let serves = matches!(pool.role, Role::ControlPlane | Role::ApiServer);
    let targets = reached.target_group.iter().filter(|_| serves).map(id_of);
    draft
        .set("name", pool.name.as_str(), format!("{base}.name"))
        .set("cluster", cluster.name.as_str(), "name")
        .set("role", pool.role.as_str(), format!("{base}.role"))
        .set("zones", Value::list(zones.iter().map(String::as_str)), format!("{base}.zones"))
        .set("subnet_ids", Value::list(subnets), format!("{base}.subnets"))
        .set("target_group_ids", Value::list(targets), "controlPlane.endpoint")
        .set("volume_ids", Value::list(volumes.iter().map(id_of)), "etcd")
        .set("tags", pool.cloud_labels.clone(), format!("{base}.cloudLabels"))
}

fn template(builder: &Builder<'_>, draft: Draft, pool: &NodePool, base: &str, reached: &Reached) -> Draft {
    let cluster = builder.cluster;
    let field = |name: &str| format!("{base}.{name}");
    let groups = std::iter::once(id_of(&security::group_of(pool.role)))
        .chain(pool.additional_security_groups.iter().map(|id| Value::from(id.as_str())));
    let image = pool.image.clone().unwrap_or_else(|| default_image(builder, pool.architecture));
    let spot = pool.spot.as_ref().map_or(Value::Null, |spot| {
        Value::map([("enabled", Value::from(true)), ("max_price", spot.max_price.clone().into())])
    });
    let taints = pool.taints.iter().map(ToString::to_string);
    let serves = matches!(pool.role, Role::ControlPlane | Role::ApiServer);
    let at_rest = cluster.encryption.at_rest.as_ref().filter(|_| serves);
    let key = at_rest.and_then(|at_rest| at_rest.key.as_ref()).map_or(Value::Null, secret);
    draft
        .set("kubernetes_version", pool.kubernetes_version.to_string(), field("kubernetesVersion"))
        .set("machine_type", pool.machine_type.clone(), field("machineType"))
        .set("architecture", word(&pool.architecture), field("architecture"))
        .set("image", image, field("image"))
        .set("root_volume", volume(&pool.root_volume), field("rootVolume"))
        .set("volumes", Value::list(pool.volumes.iter().map(volume)), field("volumes"))
        .set("public_ip", pool.public_ip, field("publicIp"))
        .set("security_group_ids", Value::list(groups), field("additionalSecurityGroups"))
        .set("identity_id", identity::identity_of(pool.role), field("role"))
        .set("key_name", identity::login_key(builder), "ssh")
        .set("spot", spot, field("spot"))
        .set("node_labels", pool.node_labels.clone(), field("nodeLabels"))
        .set("taints", Value::list(taints), field("taints"))
        .set("encryption_key", key, "encryption.atRest.key")
        .set("encryption_at_rest", at_rest.map(encryption), "encryption.atRest")
        .set("user_data", node::user_data(cluster, pool, reached), base)
}

fn sizes(draft: Draft, pool: &NodePool, base: &str) -> Draft {
    let field = |name: &str| format!("{base}.{name}");
    let size = (!pool.size.is_autoscaled()).then(|| pool.size.min());
    let config = if pool.provider_config.is_null() { Value::Null } else { json(&pool.provider_config) };
    draft
        .set("size", size, field("size"))
        .set("min", pool.size.min(), field("size"))
        .set("max", pool.size.max(), field("size"))
        .set("mixed", pool.mixed_instances.as_ref().map(json), field("mixedInstances"))
        .set("warm_pool", pool.warm_pool.as_ref().map(json), field("warmPool"))
        .set("hosts", pool.hosts.as_ref().map(json), field("hosts"))
        .set("provider_config", config, field("providerConfig"))
}

fn rolling(draft: Draft, pool: &NodePool, base: &str) -> Draft {
    let field = |name: &str| format!("{base}.rollout.{name}");
    let rollout = &pool.rollout;
    let draft = match rollout.strategy.is_replace() {
        true => draft,
        false => draft.set("rollout_strategy", rollout.strategy.as_str(), field("strategy")),
    };
    draft
        .set("max_surge", rollout.max_surge.to_string(), field("maxSurge"))
        .set("max_unavailable", rollout.max_unavailable.to_string(), field("maxUnavailable"))
        .set("drain", rollout.drain.enabled, field("drain.enabled"))
        .set("drain_budgets", word(&rollout.drain.budgets), field("drain.budgets"))
        .set("drain_on_blocked", word(&rollout.drain.on_blocked), field("drain.onBlocked"))
        .set("drain_timeout_ms", millis(rollout.drain.timeout), field("drain.timeout"))
        .set("ready_timeout_ms", millis(rollout.ready_timeout), field("readyTimeout"))
        .set("settle_ms", millis(rollout.settle), field("settle"))
}

/// The image that the pinned catalog names for an architecture.
fn default_image(builder: &Builder<'_>, architecture: Architecture) -> String {
    let (key, fallback) = match architecture {
        Architecture::Amd64 => ("amd64", AMD64_IMAGE),
        Architecture::Arm64 => ("arm64", ARM64_IMAGE),
    };
    let pinned = builder.catalog.get("images").and_then(|images| images.get(key)?.as_str());
    pinned.unwrap_or(fallback).to_owned()
}

fn volume(volume: &Volume) -> Value {
    Value::map([
        ("device", Value::from(volume.device.clone())),
        ("mount_path", volume.mount_path.clone().into()),
        ("size_gib", volume.size_gib.into()),
        ("type", volume.kind.clone().into()),
        ("iops", volume.iops.into()),
        ("throughput", volume.throughput.into()),
        ("encrypted", volume.encrypted.into()),
        ("key_id", volume.key.clone().into()),
        ("delete_on_termination", volume.delete_on_termination.into()),
    ])
}

/// The settings, beside the key, on which reading encrypted objects depends.
fn encryption(at_rest: &AtRest) -> String {
    let provider = word(&at_rest.provider);
    let endpoint = at_rest.kms_endpoint.iter().map(|endpoint| format!(" at {endpoint}"));
    format!("{provider}{} for {}", endpoint.collect::<String>(), at_rest.resources.join(", "))
}

fn secret(reference: &SecretReference) -> Value {
    Value::from(Secret::new(reference.source()))
}
