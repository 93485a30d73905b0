//! Auto-scaling groups and their lifecycle hooks.

use slipway_resource::provider::operation;
use slipway_resource::schema::OwnershipKind;
use slipway_resource::{Attribute, Type};

use super::builder::{
    BOOL, Builder, INTEGER, Named, TEXT, blocks, default, may, may_compute, must, own_form, texts,
};
use super::rate::AUTOSCALING;

pub(super) fn types() -> Vec<Named> {
    vec![group(), lifecycle_hook()]
}

fn group() -> Named {
    let template = blocks([
        may_compute("id", TEXT, "The launch template."),
        may_compute("name", TEXT, "Its name, in place of the id."),
        own_form(may("version", TEXT, "The version's number, $Latest or $Default.")),
    ]);
    let warm_pool = blocks([
        default("pool_state", TEXT, "Stopped", "State of its instances: Stopped, Running or Hibernated."),
        default("min_size", INTEGER, 0i64, "How many instances it has at least."),
        may(
            "max_group_prepared_capacity",
            INTEGER,
            "How many instances it and the group have together at most.",
        ),
        may(
            "instance_reuse_policy",
            blocks([default("reuse_on_scale_in", BOOL, false, "Whether instances come back to it.")]),
            "Handling of instances that leave the group.",
        ),
    ]);
    let tag = blocks([
        must("key", TEXT, "The key."),
        must("value", TEXT, "The value."),
        must("propagate_at_launch", BOOL, "Whether new instances get it."),
    ]);
    let maintenance = blocks([
        must(
            "min_healthy_percentage",
            INTEGER,
            "Minimum share of the group that stays in service, in percent.",
        ),
        must("max_healthy_percentage", INTEGER, "How large it gets at most, in percent."),
    ]);
    let instance = Type::object([
        may("id", TEXT, "The instance."),
        may("zone", TEXT, "The zone it is in."),
        may("type", TEXT, "Its type."),
        may("state", TEXT, "Where it is in its life, as InService."),
        may("health", TEXT, "Healthy or Unhealthy."),
        may("protected", BOOL, "Whether it is safe from scaling in."),
        may("launch_template", TEXT, "The launch template it was made from."),
        may("version", TEXT, "The version of that."),
        may("detached", BOOL, "Whether a roll has taken it out of the group; it goes."),
        may("retired", BOOL, "Whether nothing took its place when it was taken out."),
    ]);
    Builder::new("aws_autoscaling_group", AUTOSCALING, "A pool of instances that AWS keeps at its size.")
        .id("Its name.")
        .arn()
        .idempotent()
        .fixed("name", TEXT, "Its name, once in a region.")
        .required("min_size", INTEGER, "How many instances it has at least.")
        .required("max_size", INTEGER, "How many instances it has at most.")
        .optional_computed(
            "desired_capacity",
            INTEGER,
            "The desired number of instances; left to the autoscaler where the least and the most differ.",
        )
        .attribute("vpc_zone_identifier", Attribute::optional(texts()).holds(), "The subnets.")
        .optional("launch_template", template, "Launch template of new instances.")
        .optional("mixed_instances_policy", mixed_instances(), "Several instance types, and the spot market.")
        .optional("warm_pool", warm_pool, "Instances that are ready to join.")
        .optional("target_group_arns", texts(), "The target groups that its instances join.")
        .optional("load_balancers", texts(), "The classic load balancers that its instances join.")
        .number("max_instance_lifetime", 0, "After how many seconds an instance is replaced; 0 for never.")
        .switch("protect_from_scale_in", false, "Whether new instances are safe from scaling in.")
        .switch(
            "capacity_rebalance",
            false,
            "Whether spot instances are replaced before they are interrupted.",
        )
        .optional_computed("default_cooldown", INTEGER, "How many seconds lie between two scalings.")
        .optional("default_instance_warmup", INTEGER, "After how many seconds a new instance counts.")
        .optional_computed("health_check_type", TEXT, "Service that checks the health of instances: EC2 or ELB.")
        .optional_computed(
            "health_check_grace_period",
            INTEGER,
            "For how many seconds a new instance is not checked.",
        )
        .optional("placement_group", TEXT, "The placement group.")
        .optional_computed("service_linked_role_arn", TEXT, "The role with which AWS acts.")
        .optional("termination_policies", Type::list(TEXT), "Policies that select the instances to terminate first.")
        .optional("suspended_processes", texts(), "Processes of Auto Scaling that are suspended, such as AZRebalance.")
        .text(
            "metrics_granularity",
            "1Minute",
            "How often metrics are collected; 1Minute is the only choice.",
        )
        .optional("enabled_metrics", texts(), "The metrics of the group that are collected.")
        .optional(
            "instance_maintenance_policy",
            maintenance,
            "How large the group is while AWS replaces instances.",
        )
        .attribute(
            "rollout",
            Attribute::optional(rollout()).write_only(),
            "How instances are replaced. AWS has no such setting: it is kept in the state, and in a tag for who replaces them.",
        )
        .attribute("tag", Attribute::optional(tag), "Tags, without those that say whose it is.")
        .computed("instances", Type::list(instance), "The instances that it has.")
        .operation(operation::SURGE, 90_000, false, "Starts one instance beyond the size.")
        .operation(operation::REMOVE, 60_000, false, "Terminates an instance without replacing it.")
        .operation(operation::CONSOLE, 1_000, true, "Reads the end of an instance's console output.")
        .exclusive(["name"])
        .takes(90_000, 2_000, 120_000)
        .build()
}

/// The same names as those of pools of the simulated cloud.
fn rollout() -> Type {
    Type::object([
        must(
            "group",
            TEXT,
            "Role by which pools know each other: control-plane, api-server, worker or bastion.",
        ),
        must("max_surge", TEXT, "How many instances may exist beyond the size: a count or a percentage."),
        must("max_unavailable", TEXT, "How many may be missing: a count or a percentage."),
        must("drain", BOOL, "Whether nodes are drained before their instances go."),
        must("drain_budgets", TEXT, "Whether disruption budgets hold: respect or ignore."),
        must("drain_on_blocked", TEXT, "Action when a drain takes too long: fail, skip or force."),
        must("drain_timeout_ms", INTEGER, "How long a drain may take, in milliseconds."),
        must("ready_timeout_ms", INTEGER, "How long an instance may take to become a ready node."),
        must("settle_ms", INTEGER, "How long lies between two instances, in milliseconds."),
        may(
            "strategy",
            TEXT,
            "How changed settings reach instances: in-place, in-place-or-replace or replace; replace without.",
        ),
        may("data_disks", Type::list(TEXT), "Data disks that are deleted with their instances."),
        may("etcd_data", TEXT, "Where etcd keeps its data: boot-disk, boot-disk-of-image or elsewhere."),
    ])
}

fn mixed_instances() -> Type {
    let distribution = blocks([
        may_compute(
            "on_demand_allocation_strategy",
            TEXT,
            "How on-demand types are chosen: prioritized or lowest-price.",
        ),
        may_compute(
            "on_demand_base_capacity",
            INTEGER,
            "How many instances are on-demand before any is spot.",
        ),
        may_compute(
            "on_demand_percentage_above_base_capacity",
            INTEGER,
            "How many of the others are on-demand, in percent.",
        ),
        may_compute(
            "spot_allocation_strategy",
            TEXT,
            "How spot types are chosen, as price-capacity-optimized.",
        ),
        may_compute("spot_instance_pools", INTEGER, "Over how many spot pools lowest-price spreads."),
        default(
            "spot_max_price",
            TEXT,
            "",
            "The price an hour beyond which spot instances go, in US dollars; empty for the on-demand price.",
        ),
    ]);
    let specification = || {
        blocks([
            may_compute("launch_template_id", TEXT, "The launch template."),
            may_compute("launch_template_name", TEXT, "Its name, in place of the id."),
            own_form(may("version", TEXT, "The version's number, $Latest or $Default.")),
        ])
    };
    let overrides = blocks([
        may("instance_type", TEXT, "The instance type."),
        may("weighted_capacity", TEXT, "How many units of capacity it counts."),
        may("launch_template_specification", specification(), "The launch template of this type."),
        may("instance_requirements", requirements(), "Requirements for the instance type."),
    ]);
    let template = blocks([
        must("launch_template_specification", specification(), "The launch template."),
        may("override", overrides, "The instance types, the best first."),
    ]);
    blocks([
        may("instances_distribution", distribution, "Distribution of on-demand and spot instances."),
        must("launch_template", template, "Launch template of new instances."),
    ])
}

fn requirements() -> Type {
    let range = |text: &'static str| {
        move |name: &'static str, kind: Type| {
            let limits = blocks([may("min", kind.clone(), "The least."), may("max", kind, "The most.")]);
            may(name, limits, text)
        }
    };
    blocks([
        range("How many virtual CPUs.")("vcpu_count", INTEGER),
        range("Memory, in MiB.")("memory_mib", INTEGER),
        range("How many accelerators.")("accelerator_count", INTEGER),
        range("Memory for each virtual CPU, in GiB.")("memory_gib_per_vcpu", Type::Float),
        range("How many network interfaces.")("network_interface_count", INTEGER),
        may("allowed_instance_types", texts(), "The types that are taken, as m5.*."),
        may("excluded_instance_types", texts(), "The types that are not taken."),
        may("instance_generations", texts(), "current, previous."),
        may("cpu_manufacturers", texts(), "Whose processors."),
        may("accelerator_types", texts(), "gpu, fpga, inference."),
        may("accelerator_manufacturers", texts(), "Whose accelerators."),
        may("bare_metal", TEXT, "included, excluded or required."),
        may("burstable_performance", TEXT, "included, excluded or required."),
        may("local_storage", TEXT, "included, excluded or required."),
        may("require_hibernate_support", BOOL, "Whether the type can hibernate."),
    ])
}

fn lifecycle_hook() -> Named {
    Builder::new(
        "aws_autoscaling_lifecycle_hook",
        AUTOSCALING,
        "Holds an instance when it comes or goes, until somebody has been told.",
    )
    .id("The group's name and its own, with a slash between them.")
    .owned_by(OwnershipKind::Parent)
    .removed_with("aws_autoscaling_group", "autoscaling_group_name")
    .lets_go()
    .idempotent()
    .fixed("autoscaling_group_name", TEXT, "The group.")
    .fixed("name", TEXT, "Its name, once in a group.")
    .required(
        "lifecycle_transition",
        TEXT,
        "autoscaling:EC2_INSTANCE_LAUNCHING or autoscaling:EC2_INSTANCE_TERMINATING.",
    )
    .text("default_result", "ABANDON", "Result if nobody answers in time: CONTINUE or ABANDON.")
    .number("heartbeat_timeout", 3_600, "For how long an answer is waited for, in seconds.")
    .optional("notification_metadata", TEXT, "Text that is sent with the notification.")
    .optional("notification_target_arn", TEXT, "The target of the notifications.")
    .optional("role_arn", TEXT, "The role with which they are told.")
    .build()
}
