//! Several instance types in one group, and the spot market.

use aws_sdk_autoscaling::types as sdk;
use slipway_resource::Value;

use super::requirements;
use crate::kind::attribute::{block, blocks, number32, some, text};

/// A launch template by id or name, with its version.
pub(super) fn launch_template(block: &Value) -> sdk::LaunchTemplateSpecification {
    specification(block, "id", "name")
}

fn specification(block: &Value, id: &str, name: &str) -> sdk::LaunchTemplateSpecification {
    let given = text(block, id).map(str::to_owned);
    // AWS takes one of the two.
    let named = text(block, name).filter(|_| given.is_none()).map(str::to_owned);
    sdk::LaunchTemplateSpecification::builder()
        .set_launch_template_id(given)
        .set_launch_template_name(named)
        .set_version(text(block, "version").map(str::to_owned))
        .build()
}

/// The launch template of a group, as a block.
pub(super) fn launch_template_block(template: &sdk::LaunchTemplateSpecification) -> Value {
    Value::map([
        ("id", some(template.launch_template_id())),
        ("name", some(template.launch_template_name())),
        ("version", some(template.version())),
    ])
}

/// The policy of a block.
pub(super) fn policy(policy: &Value) -> sdk::MixedInstancesPolicy {
    let template = block(policy, "launch_template").map(|template| {
        let overrides: Vec<_> = blocks(template, "override").iter().map(override_of).collect();
        sdk::LaunchTemplate::builder()
            .set_launch_template_specification(block(template, "launch_template_specification").map(of_mix))
            .set_overrides(Some(overrides))
            .build()
    });
    sdk::MixedInstancesPolicy::builder()
        .set_launch_template(template)
        .set_instances_distribution(block(policy, "instances_distribution").map(distribution))
        .build()
}

fn of_mix(block: &Value) -> sdk::LaunchTemplateSpecification {
    specification(block, "launch_template_id", "launch_template_name")
}

fn override_of(value: &Value) -> sdk::LaunchTemplateOverrides {
    sdk::LaunchTemplateOverrides::builder()
        .set_instance_type(text(value, "instance_type").map(str::to_owned))
        .set_weighted_capacity(text(value, "weighted_capacity").map(str::to_owned))
        .set_launch_template_specification(block(value, "launch_template_specification").map(of_mix))
        .set_instance_requirements(block(value, "instance_requirements").map(requirements::request))
        .build()
}

fn distribution(block: &Value) -> sdk::InstancesDistribution {
    sdk::InstancesDistribution::builder()
        .set_on_demand_allocation_strategy(text(block, "on_demand_allocation_strategy").map(str::to_owned))
        .set_on_demand_base_capacity(number32(block, "on_demand_base_capacity"))
        .set_on_demand_percentage_above_base_capacity(number32(
            block,
            "on_demand_percentage_above_base_capacity",
        ))
        .set_spot_allocation_strategy(text(block, "spot_allocation_strategy").map(str::to_owned))
        .set_spot_instance_pools(number32(block, "spot_instance_pools"))
        .set_spot_max_price(block.get("spot_max_price").and_then(Value::as_str).map(str::to_owned))
        .build()
}

/// The block of a policy.
pub(super) fn policy_block(policy: &sdk::MixedInstancesPolicy) -> Value {
    let template = policy.launch_template().map(|template| {
        let overrides = template.overrides().iter().map(override_block);
        Value::List(vec![Value::map([
            (
                "launch_template_specification",
                Value::from(template.launch_template_specification().map(of_mix_block)),
            ),
            ("override", Value::list(overrides)),
        ])])
    });
    let distribution = policy.instances_distribution().map(|distribution| {
        let number = |number: Option<i32>| Value::from(number.map(i64::from));
        Value::List(vec![Value::map([
            ("on_demand_allocation_strategy", some(distribution.on_demand_allocation_strategy())),
            ("on_demand_base_capacity", number(distribution.on_demand_base_capacity())),
            (
                "on_demand_percentage_above_base_capacity",
                number(distribution.on_demand_percentage_above_base_capacity()),
            ),
            ("spot_allocation_strategy", some(distribution.spot_allocation_strategy())),
            ("spot_instance_pools", number(distribution.spot_instance_pools())),
            ("spot_max_price", some(distribution.spot_max_price())),
        ])])
    });
    Value::map([("instances_distribution", Value::from(distribution)), ("launch_template", template.into())])
}

fn of_mix_block(template: &sdk::LaunchTemplateSpecification) -> Value {
    Value::List(vec![Value::map([
        ("launch_template_id", some(template.launch_template_id())),
        ("launch_template_name", some(template.launch_template_name())),
        ("version", some(template.version())),
    ])])
}

fn override_block(value: &sdk::LaunchTemplateOverrides) -> Value {
    let requirements = value.instance_requirements().map(|of| Value::List(vec![requirements::response(of)]));
    Value::map([
        ("instance_type", some(value.instance_type())),
        ("weighted_capacity", some(value.weighted_capacity())),
        (
            "launch_template_specification",
            Value::from(value.launch_template_specification().map(of_mix_block)),
        ),
        ("instance_requirements", requirements.into()),
    ])
}
