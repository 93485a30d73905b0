//! Changes of a group: its own settings, its attachments, and settings with calls of their own.

use aws_sdk_autoscaling::types as sdk;
use slipway_aws_model::plan::Manner;
use slipway_resource::{ProviderError, Value};

use super::gates::ROLLOUT;
use super::group::{has, subnets};
use super::mixed;
use crate::cloud::Cloud;
use crate::kind::attribute::{block, blocks, differs, flag, number32, text, texts};
use crate::owner::Tags;
use crate::rate::Class;

/// A tag of a group: key, value, and whether instances get it.
pub(super) type GroupTag = (String, String, bool);

/// How many names the calls take that attach something.
const AT_ONCE: usize = 10;

/// Settings that the updating call takes.
const OWN: [&str; 17] = [
    "min_size",
    "max_size",
    "desired_capacity",
    "vpc_zone_identifier",
    "launch_template",
    "mixed_instances_policy",
    "max_instance_lifetime",
    "protect_from_scale_in",
    "capacity_rebalance",
    "default_cooldown",
    "default_instance_warmup",
    "health_check_type",
    "health_check_grace_period",
    "placement_group",
    "service_linked_role_arn",
    "termination_policies",
    "instance_maintenance_policy",
];

/// Changes the group's own settings, all in one call.
pub(super) async fn own(
    cloud: &Cloud,
    group: &str,
    prior: &Value,
    desired: &Value,
) -> Result<(), ProviderError> {
    let changed = |name: &str| differs(prior, desired, name);
    if !OWN.iter().any(|name| changed(name)) {
        return Ok(());
    }
    let owned = |name: &str| text(desired, name).filter(|_| changed(name)).map(str::to_owned);
    let number = |name: &str| number32(desired, name).filter(|_| changed(name));
    let policies = changed("termination_policies").then(|| match texts(desired, "termination_policies") {
        none if none.is_empty() => vec!["Default".to_owned()],
        policies => policies,
    });
    let truth = |name: &str| changed(name).then(|| flag(desired, name));
    let request = cloud
        .autoscaling()
        .update_auto_scaling_group()
        .auto_scaling_group_name(group)
        .set_min_size(number("min_size"))
        .set_max_size(number("max_size"))
        .set_desired_capacity(number("desired_capacity"))
        .set_vpc_zone_identifier(subnets(desired).filter(|_| changed("vpc_zone_identifier")))
        .set_launch_template(
            block(desired, "launch_template")
                .filter(|_| changed("launch_template"))
                .map(mixed::launch_template),
        )
        .set_mixed_instances_policy(
            block(desired, "mixed_instances_policy")
                .filter(|_| changed("mixed_instances_policy"))
                .map(mixed::policy),
        )
        .set_max_instance_lifetime(number("max_instance_lifetime"))
        .set_new_instances_protected_from_scale_in(truth("protect_from_scale_in"))
        .set_capacity_rebalance(truth("capacity_rebalance"))
        .set_default_cooldown(number("default_cooldown"))
        .set_default_instance_warmup(number("default_instance_warmup"))
        .set_health_check_type(owned("health_check_type"))
        .set_health_check_grace_period(number("health_check_grace_period"))
        .set_placement_group(owned("placement_group"))
        .set_service_linked_role_arn(owned("service_linked_role_arn"))
        .set_termination_policies(policies)
        .set_instance_maintenance_policy(
            block(desired, "instance_maintenance_policy")
                .filter(|_| changed("instance_maintenance_policy"))
                .map(maintenance),
        );
    cloud.write(Class::AutoScaling, "UpdateAutoScalingGroup", || request.clone().send()).await.map(drop)
}

/// Sends a call about a group for some names, if there are any; no call takes more than so many.
macro_rules! send {
    ($cloud:ident, $group:ident, $names:ident, $call:ident.$set:ident, $action:literal) => {
        for names in $names.chunks(AT_ONCE) {
            let request = $cloud.autoscaling().$call().auto_scaling_group_name($group);
            let request = request.$set(Some(names.to_vec()));
            $cloud.write(Class::AutoScaling, $action, || request.clone().send()).await?;
        }
    };
}

/// Changes target groups and classic load balancers from those in `prior` to those in `desired`.
pub(super) async fn attachments(
    cloud: &Cloud,
    group: &str,
    prior: &Value,
    desired: &Value,
) -> Result<(), ProviderError> {
    let (more, fewer) = difference(prior, desired, "target_group_arns");
    send!(
        cloud,
        group,
        more,
        attach_load_balancer_target_groups.set_target_group_arns,
        "AttachLoadBalancerTargetGroups"
    );
    send!(
        cloud,
        group,
        fewer,
        detach_load_balancer_target_groups.set_target_group_arns,
        "DetachLoadBalancerTargetGroups"
    );
    let (more, fewer) = difference(prior, desired, "load_balancers");
    send!(cloud, group, more, attach_load_balancers.set_load_balancer_names, "AttachLoadBalancers");
    send!(cloud, group, fewer, detach_load_balancers.set_load_balancer_names, "DetachLoadBalancers");
    Ok(())
}

/// The items that only `desired` has, and those that only `prior` has.
fn difference(prior: &Value, desired: &Value, name: &str) -> (Vec<String>, Vec<String>) {
    let (before, after) = (texts(prior, name), texts(desired, name));
    let more = after.iter().filter(|item| !before.contains(item)).cloned().collect();
    let fewer = before.iter().filter(|item| !after.contains(item)).cloned().collect();
    (more, fewer)
}

/// Settings with calls of their own: metrics, suspended processes, the warm pool.
pub(super) async fn beside(
    cloud: &Cloud,
    group: &str,
    prior: &Value,
    desired: &Value,
) -> Result<(), ProviderError> {
    let (more, fewer) = difference(prior, desired, "enabled_metrics");
    if !more.is_empty() {
        let request = cloud
            .autoscaling()
            .enable_metrics_collection()
            .auto_scaling_group_name(group)
            .granularity(text(desired, "metrics_granularity").unwrap_or("1Minute"))
            .set_metrics(Some(more));
        cloud.write(Class::AutoScaling, "EnableMetricsCollection", || request.clone().send()).await?;
    }
    send!(cloud, group, fewer, disable_metrics_collection.set_metrics, "DisableMetricsCollection");
    let (more, fewer) = difference(prior, desired, "suspended_processes");
    send!(cloud, group, more, suspend_processes.set_scaling_processes, "SuspendProcesses");
    send!(cloud, group, fewer, resume_processes.set_scaling_processes, "ResumeProcesses");
    if differs(prior, desired, "warm_pool") {
        warm_pool(cloud, group, prior, desired).await?;
    }
    Ok(())
}

async fn warm_pool(cloud: &Cloud, group: &str, prior: &Value, desired: &Value) -> Result<(), ProviderError> {
    let client = cloud.autoscaling();
    let Some(pool) = block(desired, "warm_pool") else {
        if !has(prior, "warm_pool") {
            return Ok(());
        }
        let request = client.delete_warm_pool().auto_scaling_group_name(group).force_delete(true);
        return cloud.write(Class::AutoScaling, "DeleteWarmPool", || request.clone().send()).await.map(drop);
    };
    let reuses = |pool: Option<&Value>| {
        let policy = pool.and_then(|pool| block(pool, "instance_reuse_policy"));
        policy.is_some_and(|policy| flag(policy, "reuse_on_scale_in"))
    };
    let (before, after) = (reuses(block(prior, "warm_pool")), reuses(Some(pool)));
    // A policy that is left out stays as it was.
    let reuse =
        (before || after).then(|| sdk::InstanceReusePolicy::builder().reuse_on_scale_in(after).build());
    let request = client
        .put_warm_pool()
        .auto_scaling_group_name(group)
        .set_pool_state(text(pool, "pool_state").map(sdk::WarmPoolState::from))
        .set_min_size(number32(pool, "min_size"))
        // -1 takes a limit away that was set before.
        .max_group_prepared_capacity(number32(pool, "max_group_prepared_capacity").unwrap_or(-1))
        .set_instance_reuse_policy(reuse);
    cloud.write(Class::AutoScaling, "PutWarmPool", || request.clone().send()).await.map(drop)
}

/// The block of a warm pool.
pub(super) fn warm_pool_block(pool: &sdk::WarmPoolConfiguration) -> Value {
    let number = |number: Option<i32>| Value::from(number.map(i64::from));
    let reuse = pool
        .instance_reuse_policy()
        .map(|policy| Value::List(vec![Value::map([("reuse_on_scale_in", policy.reuse_on_scale_in())])]));
    let limit = pool.max_group_prepared_capacity().filter(|limit| *limit >= 0);
    Value::map([
        ("pool_state", Value::from(pool.pool_state().map(sdk::WarmPoolState::as_str))),
        ("min_size", number(pool.min_size())),
        ("max_group_prepared_capacity", number(limit)),
        ("instance_reuse_policy", reuse.into()),
    ])
}

/// The maintenance policy of a block.
pub(super) fn maintenance(block: &Value) -> sdk::InstanceMaintenancePolicy {
    sdk::InstanceMaintenancePolicy::builder()
        .set_min_healthy_percentage(number32(block, "min_healthy_percentage"))
        .set_max_healthy_percentage(number32(block, "max_healthy_percentage"))
        .build()
}

/// The block of a maintenance policy.
pub(super) fn maintenance_block(policy: &sdk::InstanceMaintenancePolicy) -> Value {
    Value::map([
        ("min_healthy_percentage", policy.min_healthy_percentage().map(i64::from)),
        ("max_healthy_percentage", policy.max_healthy_percentage().map(i64::from)),
    ])
}

/// The tags that the attributes ask for.
pub(super) fn wanted_tags(attributes: &Value) -> Vec<GroupTag> {
    let tags = blocks(attributes, "tag").iter().filter_map(|tag| {
        let value = tag.get("value").and_then(Value::as_str).unwrap_or_default().to_owned();
        Some((text(tag, "key")?.to_owned(), value, flag(tag, "propagate_at_launch")))
    });
    tags.collect()
}

/// Tags in the form of Auto Scaling. Ownership tags are not propagated to instances.
pub(super) fn tags(group: &str, wanted: &[GroupTag], marks: &Tags) -> Vec<sdk::Tag> {
    let tag = |key: &str, value: &str, propagate: bool| {
        sdk::Tag::builder()
            .resource_id(group)
            .resource_type("auto-scaling-group")
            .key(key)
            .value(value)
            .propagate_at_launch(propagate)
            .build()
    };
    let wanted = wanted.iter().map(|(key, value, propagate)| tag(key, value, *propagate));
    wanted.chain(marks.iter().map(|(key, value)| tag(key, value, false))).collect()
}

/// The settings for the replacement of instances, as a tag for the gates; none when the spec has no such
/// settings.
pub(super) fn manner(desired: &Value) -> Tags {
    let line = desired.get("rollout").filter(|block| !block.is_null()).map(|_| Manner::of(desired).to_line());
    line.into_iter().map(|line| (ROLLOUT.to_owned(), line)).collect()
}

/// Sets tags of groups.
pub(super) async fn set_tags(cloud: &Cloud, tags: Vec<sdk::Tag>) -> Result<(), ProviderError> {
    if tags.is_empty() {
        return Ok(());
    }
    let request = cloud.autoscaling().create_or_update_tags().set_tags(Some(tags));
    cloud.write(Class::AutoScaling, "CreateOrUpdateTags", || request.clone().send()).await.map(drop)
}

/// Changes the tags of a group from those in `prior` to those in `desired`.
pub(super) async fn update_tags(
    cloud: &Cloud,
    group: &str,
    prior: &Value,
    desired: &Value,
) -> Result<(), ProviderError> {
    let (before, after) = (wanted_tags(prior), wanted_tags(desired));
    let set: Vec<GroupTag> = after.iter().filter(|tag| !before.contains(tag)).cloned().collect();
    set_tags(cloud, tags(group, &set, &manner(desired))).await?;
    let gone: Vec<GroupTag> =
        before.into_iter().filter(|(key, ..)| after.iter().all(|(other, ..)| other != key)).collect();
    if gone.is_empty() {
        return Ok(());
    }
    let request = cloud.autoscaling().delete_tags().set_tags(Some(tags(group, &gone, &Tags::new())));
    cloud.write(Class::AutoScaling, "DeleteTags", || request.clone().send()).await.map(drop)
}
