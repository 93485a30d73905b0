# Auto-scaling groups.

import datetime

from moto.autoscaling import models as autoscaling
from moto.autoscaling import responses as autoscaling_responses
from moto.autoscaling.exceptions import AutoscalingClientError, ValidationError
from moto.core.responses import EmptyResult
from moto.core.utils import utcnow
from moto.ec2.models import instances, security_groups, subnets
from moto.elbv2.exceptions import TargetGroupNotFoundError, TargetNotRunning


# Auto-scaling groups: every setting is stored, and an update changes what it names alone.

SETTINGS = {
    "DefaultCooldown": ("default_cooldown", int),
    "DefaultInstanceWarmup": ("default_instance_warmup", int),
    "MaxInstanceLifetime": ("max_instance_lifetime", int),
    "PlacementGroup": ("placement_group", str),
    "TerminationPolicies": ("termination_policies", list),
    "ServiceLinkedRoleARN": ("service_linked_role_arn", str),
    "InstanceMaintenancePolicy": ("instance_maintenance_policy", dict),
}
autoscaling.FakeAutoScalingGroup.default_instance_warmup = None
autoscaling.FakeAutoScalingGroup.max_instance_lifetime = None
autoscaling.FakeAutoScalingGroup.instance_maintenance_policy = None


def store_settings(response):
    group = response.autoscaling_backend.autoscaling_groups[response._get_param("AutoScalingGroupName")]
    for name, (attribute, kind) in SETTINGS.items():
        value = response._get_param(name)
        if value is not None:
            setattr(group, attribute, kind(value))
    if response._get_param("CapacityRebalance") is not None:
        group.capacity_rebalance = response._get_bool_param("CapacityRebalance")


@wrap(autoscaling_responses.AutoScalingResponse, "create_auto_scaling_group")
def create_auto_scaling_group(original, self):
    name = self._get_param("AutoScalingGroupName")
    if name in self.autoscaling_backend.autoscaling_groups:
        raise AutoscalingClientError("AlreadyExists", f"AutoScalingGroup by this name already exists: {name}")
    answer = original(self)
    store_settings(self)
    policy = self.autoscaling_backend.autoscaling_groups[name].mixed_instances_policy
    if policy:
        policy["InstancesDistribution"].setdefault("OnDemandBaseCapacity", 0)
    return answer


@wrap(autoscaling_responses.AutoScalingResponse, "update_auto_scaling_group")
def update_auto_scaling_group(original, self):
    answer = original(self)
    store_settings(self)
    launch_lacking(self.autoscaling_backend.autoscaling_groups[self._get_param("AutoScalingGroupName")])
    return answer


@wrap(autoscaling.FakeAutoScalingGroup, "update")
def update_group(original, self, *arguments, **named):
    if not named.get("mixed_instances_policy") and not named.get("launch_template"):
        named["mixed_instances_policy"] = self.mixed_instances_policy
    return original(self, *arguments, **named)


@wrap(autoscaling.AutoScalingBackend, "delete_auto_scaling_group")
def delete_auto_scaling_group(original, self, group_name):
    group = self.autoscaling_groups.get(group_name)
    if group:
        group.new_instances_protected_from_scale_in = False
        for state in group.instance_states:
            state.protected_from_scale_in = False
        self.delete_warm_pool(group_name)
        for key, hook in list(self.lifecycle_hooks.items()):
            if hook.auto_scaling_group_name == group_name:
                del self.lifecycle_hooks[key]
    return original(self, group_name)


# Instances know the version that they were launched from, live in their subnet's zone, and come one after the other.

CLOCK = [None]


def next_moment():
    now = utcnow().replace(microsecond=0)
    CLOCK[0] = now if CLOCK[0] is None or now > CLOCK[0] else CLOCK[0] + datetime.timedelta(seconds=1)
    return CLOCK[0]


@wrap(autoscaling.InstanceState, "__init__")
def instance_state(original, self, instance, *arguments, **named):
    original(self, instance, *arguments, **named)
    group = self.auto_scaling_group
    if not hasattr(instance, "launched_from") and group is not None and group.ec2_launch_template:
        version = group.ec2_launch_template.get_version(group.launch_template_version)
        instance.launched_from = {
            "LaunchTemplateId": group.ec2_launch_template.id,
            "LaunchTemplateName": group.ec2_launch_template.name,
            "Version": str(version.number),
        }


autoscaling.InstanceState.launch_template = property(lambda self: getattr(self.instance, "launched_from", None))


def emptiest(group, launched, subnets):
    """The subnet with the fewest instances: AWS keeps the zones of a group balanced."""
    used = [state.instance.subnet_id for state in [*group.instance_states, *launched]]
    first = group.launched % len(subnets)
    return min(subnets[first:] + subnets[:first], key=used.count)


def launched_from(template, version):
    """The tags that EC2 gives an instance of a launch template."""
    return {"aws:ec2launchtemplate:id": template.id, "aws:ec2launchtemplate:version": str(version)}


# Zones without capacity: groups launch nothing there, and launch what they lack when they can.

GONE = set()


def zones_are_gone(zones):
    GONE.clear()
    GONE.update(zones)
    for _, _, backend in autoscaling.autoscaling_backends.iter_backends():
        for group in backend.autoscaling_groups.values():
            launch_lacking(group)


def launch_lacking(group):
    if getattr(group, "lacks", False):
        group.lacks = False
        group.set_desired_capacity(group.desired_capacity)


def launch(group, count, lifecycle_state):
    subnets = (group.vpc_zone_identifier or "").split(",")
    if GONE:
        backend = group.ec2_backend
        subnets = [subnet for subnet in subnets if backend.get_subnet(subnet).availability_zone not in GONE]
    if count > 0 and not subnets:
        group.lacks = True
        return []
    tags = group.get_propagated_tags()
    tags[autoscaling.ASG_NAME_TAG] = group.name
    tags.update(group.instance_tags)
    states = []
    for _ in range(count):
        group.launched = getattr(group, "launched", 0) + 1
        subnet = emptiest(group, states, subnets)
        zone = group.ec2_backend.get_subnet(subnet).availability_zone
        version = group.ec2_launch_template.get_version(group.launch_template_version).number
        before = set(group.ec2_backend.volumes)
        reservation = group.ec2_backend.run_instances(
            group.image_id,
            1,
            group.user_data,
            group.security_groups,
            instance_type=group.instance_type or "m5.large",
            tags={"instance": {**tags, **launched_from(group.ec2_launch_template, version)}},
            placement=zone,
            launch_template={"LaunchTemplateId": group.ec2_launch_template.id, "Version": version},
            is_instance_type_default=False,
            subnet_id=subnet,
        )
        for instance in reservation.instances:
            # The disk that the image would have had and the template's has taken the place of.
            used = {device.volume_id for device in instance.block_device_mapping.values()}
            for disk in set(group.ec2_backend.volumes) - before - used:
                group.ec2_backend.volumes.pop(disk)
            instance.launch_time = next_moment()
            instance.autoscaling_group = group
            protected = group.new_instances_protected_from_scale_in
            states.append(autoscaling.InstanceState(instance, lifecycle_state, protected_from_scale_in=protected))
    return states


def replace_autoscaling_group_instances(self, count_needed, propagated_tags):
    if "Launch" in self._suspended_processes:
        return
    warm = getattr(self, "warm_states", [])
    entering, self.warm_states = warm[:count_needed], warm[count_needed:]
    for state in entering:
        state.lifecycle_state = "InService"
    self.instance_states += entering + launch(self, count_needed - len(entering), "InService")
    fill_warm_pool(self)


autoscaling.FakeAutoScalingGroup.replace_autoscaling_group_instances = replace_autoscaling_group_instances


# A warm pool has instances.


def fill_warm_pool(group):
    pool = getattr(group, "warm_pool", None)
    if pool is None:
        return
    prepared = pool.max_group_prepared_capacity
    prepared = group.max_size if prepared is None or int(prepared) < 0 else int(prepared)
    wanted = max(int(pool.min_size or 0), prepared - (group.desired_capacity or 0))
    warm = getattr(group, "warm_states", [])
    group.warm_states = warm + launch(group, max(wanted - len(warm), 0), f"Warmed:{pool.pool_state}")


@wrap(autoscaling.FakeAutoScalingGroup, "put_warm_pool")
def put_warm_pool(original, self, max_group_prepared_capacity, min_size, pool_state, instance_reuse_policy):
    before = self.warm_pool
    if before is not None:
        if max_group_prepared_capacity is None:
            max_group_prepared_capacity = before.max_group_prepared_capacity
        if min_size is None:
            min_size = before.min_size
        instance_reuse_policy = instance_reuse_policy or before.instance_reuse_policy
    original(self, max_group_prepared_capacity, min_size, pool_state, instance_reuse_policy)
    if self.warm_pool.max_group_prepared_capacity is not None and int(self.warm_pool.max_group_prepared_capacity) < 0:
        self.warm_pool.max_group_prepared_capacity = None
    fill_warm_pool(self)


@wrap(autoscaling.AutoScalingBackend, "delete_warm_pool")
def delete_warm_pool(original, self, group_name):
    original(self, group_name)
    group = self.autoscaling_groups[group_name]
    warm, group.warm_states = getattr(group, "warm_states", []), []
    if warm:
        self.ec2_backend.terminate_instances([state.instance.id for state in warm])


@wrap(autoscaling.AutoScalingBackend, "notify_terminate_instances")
def notify_terminate_instances(original, self, instance_ids):
    for group in self.autoscaling_groups.values():
        warm = getattr(group, "warm_states", [])
        group.warm_states = [state for state in warm if state.instance.id not in instance_ids]
        if len(group.warm_states) < len(warm):
            fill_warm_pool(group)
    answer = original(self, instance_ids)
    # Instances that came for others are in the target groups too.
    for name in self.autoscaling_groups:
        try:
            self.update_attached_target_groups(name)
        except TargetNotRunning:
            pass
    return answer


@wrap(autoscaling_responses.AutoScalingResponse, "describe_warm_pool")
def describe_warm_pool_instances(original, self):
    answer = original(self)
    group = self.autoscaling_backend.autoscaling_groups[self._get_param("AutoScalingGroupName")]
    answer.result["Instances"] = getattr(group, "warm_states", [])
    return answer


# An instance leaves its group's target groups with it.


@wrap(autoscaling.AutoScalingBackend, "detach_instances")
def detach_instances(original, self, group_name, instance_ids, should_decrement):
    group = self.autoscaling_groups.get(group_name)
    if group is None:
        raise ValidationError(f"AutoScalingGroup name not found - {group_name}")
    ours = {state.instance.id for state in group.instance_states}
    for instance_id in instance_ids:
        if instance_id not in ours:
            raise ValidationError(f"The instance {instance_id} is not part of Auto Scaling group {group_name}.")
    for arn in group.target_group_arns:
        self.elbv2_backend.deregister_targets(arn, [{"Id": instance_id} for instance_id in instance_ids])
    return original(self, group_name, instance_ids, should_decrement)


@wrap(autoscaling.AutoScalingBackend, "terminate_instance")
def terminate_instance(original, self, instance_id, should_decrement):
    if not any(
        state.instance.id == instance_id
        for group in self.autoscaling_groups.values()
        for state in group.instance_states
    ):
        raise ValidationError(f"Instance Id not found - No managed instance found for instance ID {instance_id}")
    return original(self, instance_id, should_decrement)


# Metrics are added to those that are collected, and taken away again.


def enable_metrics_collection(self, metrics):
    self.metrics = self.metrics + [metric for metric in metrics or [] if metric not in self.metrics]


autoscaling.FakeAutoScalingGroup.enable_metrics_collection = enable_metrics_collection


def disable_metrics_collection(self):
    group = self.autoscaling_backend.autoscaling_groups[self._get_param("AutoScalingGroupName")]
    gone = self._get_param("Metrics") or list(group.metrics)
    group.metrics = [metric for metric in group.metrics if metric not in gone]
    return EmptyResult()


autoscaling_responses.AutoScalingResponse.disable_metrics_collection = disable_metrics_collection


# Lifecycle hooks tell whom they were told to.


@wrap(autoscaling_responses.AutoScalingResponse, "put_lifecycle_hook")
def put_lifecycle_hook(original, self):
    group, name = self._get_param("AutoScalingGroupName"), self._get_param("LifecycleHookName")
    if group not in self.autoscaling_backend.autoscaling_groups:
        raise ValidationError(f"AutoScalingGroup name not found - null: {group}")
    answer = original(self)
    hook = self.autoscaling_backend.lifecycle_hooks[f"{group}_{name}"]
    hook.role_arn = self._get_param("RoleARN")
    hook.notification_target_arn = self._get_param("NotificationTargetARN")
    hook.notification_metadata = self._get_param("NotificationMetadata")
    return answer


# Auto-scaling groups: what is gone is no failure of theirs.


@wrap(autoscaling.AutoScalingBackend, "describe_warm_pool")
def describe_warm_pool(original, self, group_name):
    if group_name not in self.autoscaling_groups:
        raise ValidationError(f"AutoScalingGroup name not found - null: {group_name}")
    return original(self, group_name)


@wrap(autoscaling.AutoScalingBackend, "update_attached_target_groups")
def update_attached_target_groups(original, self, group_name):
    try:
        return original(self, group_name)
    except TargetGroupNotFoundError:
        return None
