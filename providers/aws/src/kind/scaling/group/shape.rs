//! A group and its instances, in the form of the schema.

use std::collections::BTreeSet;

use aws_sdk_autoscaling::types as sdk;
use slipway_resource::Value;

use super::super::{changes, gates, mixed};
use crate::kind::attribute::some;
use crate::kind::{Condition, Found};
use crate::owner::{Tags, is_hidden, of_ec2};

/// A group as it is.
pub(super) fn found(group: &sdk::AutoScalingGroup) -> Found {
    let tags: Tags = group
        .tags()
        .iter()
        .filter_map(|tag| Some((tag.key()?.to_owned(), tag.value().unwrap_or_default().to_owned())))
        .collect();
    let name = group.auto_scaling_group_name().unwrap_or_default();
    let found = Found::ready(name, attributes(group), &tags);
    match group.status() {
        Some(_) => found.but(Condition::Ending),
        None => found,
    }
}

fn attributes(group: &sdk::AutoScalingGroup) -> Value {
    let number = |number: Option<i32>| Value::from(number.map(i64::from));
    let texts = |texts: &[String]| Value::list(texts.iter().map(String::as_str));
    let subnets = group.vpc_zone_identifier().unwrap_or_default().split(',').filter(|id| !id.is_empty());
    let suspended: BTreeSet<&str> =
        group.suspended_processes().iter().filter_map(|process| process.process_name()).collect();
    let metrics: BTreeSet<&str> =
        group.enabled_metrics().iter().filter_map(|metric| metric.metric()).collect();
    let granularity = group.enabled_metrics().first().and_then(|metric| metric.granularity());
    let block = |value: Value| Value::List(vec![value]);
    let warm_pool = group.warm_pool_configuration().filter(|pool| pool.status().is_none());
    // The policy holds the template of a group that has one.
    let template = group.launch_template().filter(|_| group.mixed_instances_policy().is_none());
    Value::map([
        ("id", some(group.auto_scaling_group_name())),
        ("arn", some(group.auto_scaling_group_arn())),
        ("name", some(group.auto_scaling_group_name())),
        ("min_size", number(group.min_size())),
        ("max_size", number(group.max_size())),
        ("desired_capacity", number(group.desired_capacity())),
        ("vpc_zone_identifier", Value::list(subnets)),
        ("launch_template", Value::from(template.map(|of| block(mixed::launch_template_block(of))))),
        (
            "mixed_instances_policy",
            group.mixed_instances_policy().map(|of| block(mixed::policy_block(of))).into(),
        ),
        ("warm_pool", warm_pool.map(|of| block(changes::warm_pool_block(of))).into()),
        ("target_group_arns", texts(group.target_group_arns())),
        ("load_balancers", texts(group.load_balancer_names())),
        ("max_instance_lifetime", number(group.max_instance_lifetime())),
        ("protect_from_scale_in", group.new_instances_protected_from_scale_in().into()),
        ("capacity_rebalance", group.capacity_rebalance().into()),
        ("default_cooldown", number(group.default_cooldown())),
        ("default_instance_warmup", number(group.default_instance_warmup())),
        ("health_check_type", some(group.health_check_type())),
        ("health_check_grace_period", number(group.health_check_grace_period())),
        ("placement_group", some(group.placement_group())),
        ("service_linked_role_arn", some(group.service_linked_role_arn())),
        ("termination_policies", policies(group.termination_policies())),
        ("suspended_processes", Value::list(suspended)),
        ("metrics_granularity", granularity.into()),
        ("enabled_metrics", Value::list(metrics)),
        (
            "instance_maintenance_policy",
            group.instance_maintenance_policy().map(|of| block(changes::maintenance_block(of))).into(),
        ),
        ("tag", tag_blocks(group.tags())),
        ("instances", Value::list(group.instances().iter().map(instance))),
    ])
}

/// Nothing where they are what AWS takes by itself.
fn policies(policies: &[String]) -> Value {
    match policies {
        [only] if only == "Default" => Value::Null,
        policies => Value::list(policies.iter().map(String::as_str)),
    }
}

fn tag_blocks(tags: &[sdk::TagDescription]) -> Value {
    let shown = tags.iter().filter(|tag| !tag.key().is_none_or(is_hidden));
    Value::list(shown.map(|tag| {
        Value::map([
            ("key", Value::from(tag.key())),
            ("value", tag.value().unwrap_or_default().into()),
            ("propagate_at_launch", tag.propagate_at_launch().unwrap_or_default().into()),
        ])
    }))
}

fn instance(instance: &sdk::Instance) -> Value {
    let template = instance.launch_template();
    Value::map([
        ("id", some(instance.instance_id())),
        ("zone", some(instance.availability_zone())),
        ("type", some(instance.instance_type())),
        ("state", instance.lifecycle_state().map(sdk::LifecycleState::as_str).into()),
        ("health", some(instance.health_status())),
        ("protected", instance.protected_from_scale_in().into()),
        ("launch_template", template.and_then(|template| template.launch_template_id()).into()),
        ("version", template.and_then(|template| template.version()).into()),
    ])
}

/// An instance that has left the group for its replacement.
pub(super) fn detached_instance(instance: &aws_sdk_ec2::types::Instance) -> Value {
    let zone = instance.placement().and_then(|placement| placement.availability_zone());
    Value::map([
        ("id", some(instance.instance_id())),
        ("zone", some(zone)),
        ("type", instance.instance_type().map(|kind| kind.as_str()).into()),
        ("detached", true.into()),
        ("retired", of_ec2(instance.tags()).contains_key(gates::RETIRED).into()),
    ])
}

/// The instances that are in a group.
pub(super) fn ids(attributes: &Value) -> BTreeSet<String> {
    let instances = attributes.get("instances").and_then(Value::as_list).unwrap_or_default();
    instances.iter().filter_map(|one| one.get("id")?.as_str().map(str::to_owned)).collect()
}

/// Adds instances to a group's.
pub(super) fn add_instances(attributes: &mut Value, more: impl Iterator<Item = Value>) {
    if let Value::Map(entries) = attributes
        && let Some(Value::List(instances)) = entries.get_mut("instances")
    {
        instances.extend(more);
    }
}
