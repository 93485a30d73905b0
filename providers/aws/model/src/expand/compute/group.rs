//! A pool's auto-scaling group.

use slipway_cluster_input::value::Duration;
use slipway_cluster_input::{NodePool, Role, Rollout, WarmPool};
use slipway_resource::{Address, ProviderError, Value};

use super::tags::pool_tags;
use super::{market, seconds};
use crate::expand::build::{Builder, id_of};
use crate::expand::links::{pool_subnet_ids, pool_target_groups};
use crate::expand::refuse;
use crate::names;
use crate::plan::etcd::ETCD_DATA;

const METRICS: [&str; 8] = [
    "GroupDesiredCapacity",
    "GroupInServiceInstances",
    "GroupMaxSize",
    "GroupMinSize",
    "GroupPendingInstances",
    "GroupStandbyInstances",
    "GroupTerminatingInstances",
    "GroupTotalInstances",
];

const WARM_POOL_METRICS: [&str; 8] = [
    "GroupAndWarmPoolDesiredCapacity",
    "GroupAndWarmPoolTotalCapacity",
    "WarmPoolDesiredCapacity",
    "WarmPoolMinSize",
    "WarmPoolPendingCapacity",
    "WarmPoolTerminatingCapacity",
    "WarmPoolTotalCapacity",
    "WarmPoolWarmedCapacity",
];

/// The group that keeps a pool at its size.
pub(super) fn auto_scaling_group(
    builder: &mut Builder<'_>,
    pool: &NodePool,
    template: &Address,
) -> Result<(), ProviderError> {
    let name = names::group(pool, &builder.cluster.name);
    let field = |name: &str| format!("pools[{}].{name}", pool.name);
    let own = |name: &str| format!("pools[{}].providerConfig.{name}", pool.name);
    let settings = builder.pool_settings(pool);
    let mut draft = builder
        .draft("aws_autoscaling_group", &name, field("name"))
        .fix("name", name.as_str())
        .set("min_size", pool.size.min(), field("size"))
        .set("max_size", pool.size.max(), field("size"))
        .set("max_instance_lifetime", lifetime(builder, pool)?, own("maxInstanceLifetime"))
        .set("protect_from_scale_in", settings.instance_protection, own("instanceProtection"))
        .set("capacity_rebalance", settings.capacity_rebalance, own("capacityRebalance"))
        .fix("metrics_granularity", "1Minute")
        .set("enabled_metrics", metrics(pool), field("warmPool"))
        .set("vpc_zone_identifier", Value::List(pool_subnet_ids(builder, pool)), field("subnets"))
        .set("rollout", rollout(builder, pool, template), field("rollout"))
        .set("tag", tag_blocks(builder, pool), field("cloudLabels"))
        .set("warm_pool", pool.warm_pool.as_ref().map(warm_pool), field("warmPool"));
    if !settings.suspend_processes.is_empty() {
        draft = draft.set("suspended_processes", settings.suspend_processes.clone(), own("suspendProcesses"));
    }
    draft = match &pool.mixed_instances {
        Some(mix) => {
            let policy = market::mixed(builder, pool, mix, template)?;
            draft.set("mixed_instances_policy", policy, field("mixedInstances"))
        }
        None => {
            let launch = Value::map([
                ("id", id_of(template)),
                ("version", Value::reference(template.clone(), "latest_version")),
            ]);
            draft.fix("launch_template", Value::List(vec![launch]))
        }
    };
    let mut targets = pool_target_groups(builder, pool);
    let outside = settings.external_load_balancers;
    targets.extend(outside.iter().filter_map(|balancer| balancer.target_group_arn.clone()).map(Value::from));
    if !targets.is_empty() {
        draft = draft.set("target_group_arns", Value::List(targets), own("externalLoadBalancers"));
    }
    let classic: Vec<String> =
        outside.into_iter().filter_map(|balancer| balancer.load_balancer_name).collect();
    if !classic.is_empty() {
        draft = draft.set("load_balancers", classic, own("externalLoadBalancers"));
    }
    builder.add(draft);
    Ok(())
}

fn lifetime(builder: &Builder<'_>, pool: &NodePool) -> Result<i64, ProviderError> {
    let Some(text) = builder.pool_settings(pool).max_instance_lifetime else { return Ok(0) };
    seconds(&text).ok_or_else(|| {
        let field = format!("pools[{}].providerConfig.maxInstanceLifetime", pool.name);
        refuse(&field, &format!("{text:?} is not a span of time"), "write it as in 48h20m")
    })
}

fn metrics(pool: &NodePool) -> Value {
    let more = if pool.warm_pool.is_some() { &WARM_POOL_METRICS[..] } else { &[] };
    Value::list(METRICS.iter().chain(more).copied())
}

fn warm_pool(warm_pool: &WarmPool) -> Value {
    Value::List(vec![Value::map([
        ("min_size", Value::from(warm_pool.min_size)),
        ("max_group_prepared_capacity", Value::from(warm_pool.max_size)),
    ])])
}

/// The settings for the replacement of machines, which AWS does not store. A machine with an etcd volume is
/// removed before the next one is launched, since a volume can be attached to only one machine.
fn rollout(builder: &Builder<'_>, pool: &NodePool, template: &Address) -> Value {
    let Rollout { strategy, max_surge, max_unavailable, drain, ready_timeout, settle } = &pool.rollout;
    let mut members = builder.cluster.etcd.iter().flat_map(|etcd| &etcd.members);
    let (max_surge, max_unavailable) = if members.any(|member| member.pool == pool.name) {
        ("0".to_owned(), "1".to_owned())
    } else {
        (max_surge.to_string(), max_unavailable.to_string())
    };
    let group = match pool.role {
        Role::ControlPlane => "control-plane",
        Role::ApiServer => "api-server",
        Role::Worker => "worker",
        Role::Bastion => "bastion",
    };
    let word = |word: &dyn std::fmt::Debug| Value::from(format!("{word:?}").to_lowercase());
    let millis = |span: Duration| Value::from(i64::try_from(span.get().as_millis()).unwrap_or(i64::MAX));
    let disks: Vec<String> = data_disks(pool).collect();
    let mut block = Value::map([
        ("group", Value::from(group)),
        ("max_surge", Value::from(max_surge)),
        ("max_unavailable", Value::from(max_unavailable)),
        ("drain", Value::from(drain.enabled)),
        ("drain_budgets", word(&drain.budgets)),
        ("drain_on_blocked", word(&drain.on_blocked)),
        ("drain_timeout_ms", millis(drain.timeout)),
        ("ready_timeout_ms", millis(*ready_timeout)),
        ("settle_ms", millis(*settle)),
    ]);
    if let (Value::Map(entries), false) = (&mut block, disks.is_empty()) {
        entries.insert("data_disks".to_owned(), Value::list(disks));
    }
    if let (Value::Map(entries), true) = (&mut block, has_etcd(builder, pool)) {
        // The user data of the template decides it.
        entries.insert(ETCD_DATA.to_owned(), Value::reference(template.clone(), ETCD_DATA));
    }
    if let (Value::Map(entries), false) = (&mut block, strategy.is_replace()) {
        entries.insert("strategy".to_owned(), strategy.as_str().into());
    }
    block
}

/// Whether the user data of a pool has etcd.
fn has_etcd(builder: &Builder<'_>, pool: &NodePool) -> bool {
    pool.role == Role::ControlPlane && !builder.cluster.etcd.is_empty()
}

/// The data disks of a pool that are deleted with their machines, by device and mount path.
fn data_disks(pool: &NodePool) -> impl Iterator<Item = String> {
    let disks = pool.volumes.iter().filter(|disk| disk.delete_on_termination);
    disks.filter_map(|disk| {
        let device = disk.device.clone()?;
        Some(match &disk.mount_path {
            Some(path) => format!("{device} ({path})"),
            None => device,
        })
    })
}

fn tag_blocks(builder: &Builder<'_>, pool: &NodePool) -> Value {
    let block = |(key, value): (String, String)| {
        Value::map([
            ("key", Value::from(key)),
            ("value", Value::from(value)),
            ("propagate_at_launch", Value::from(true)),
        ])
    };
    Value::list(pool_tags(builder, pool).into_iter().map(block))
}
