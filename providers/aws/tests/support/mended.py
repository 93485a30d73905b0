"""Mends what moto 5.2.1 does otherwise than AWS, as far as a cluster's infrastructure meets it.

Runs before moto's server in the same interpreter. AWS' behaviour is that of its documentation.
"""

import base64
import copy
import datetime
import hashlib
import inspect
import re
import time

from moto.autoscaling import models as autoscaling
from moto.autoscaling import responses as autoscaling_responses
from moto.autoscaling.exceptions import AutoscalingClientError, ValidationError
from moto.core.responses import EmptyResult
from moto.core.utils import utcnow
from moto.ec2.models import (
    elastic_network_interfaces,
    instances,
    key_pairs,
    launch_templates,
    nat_gateways,
    security_groups,
    subnets,
    vpcs,
)
from moto.ec2.models.tags import TagBackend
from moto.ec2.responses import amis as image_responses
from moto.ec2.responses import dhcp_options as dhcp_responses
from moto.ec2.responses import key_pairs as key_pair_responses
from moto.ec2.responses import launch_templates as launch_template_responses
from moto.ec2.responses import subnets as subnet_responses
from moto.ec2.utils import parse_user_data
from moto.elbv2 import models as balancing
from moto.elbv2.exceptions import TargetGroupNotFoundError
from moto.iam import responses as iam_responses
from moto.sqs import models as sqs


def wrap(owner, name):
    """Puts a function around a method: it gets the original first."""

    def decorate(function):
        original = getattr(owner, name)

        def method(self, *arguments, **named):
            return function(original, self, *arguments, **named)

        setattr(owner, name, method)
        return function

    return decorate


# Subnets: all attributes are stored; a subnet's table is left with it.

SWITCHES = {
    "EnableResourceNameDnsARecordOnLaunch": "EnableResourceNameDnsARecord",
    "EnableResourceNameDnsAAAARecordOnLaunch": "EnableResourceNameDnsAAAARecord",
}


def modify_subnet_attribute(self):
    subnet = self.ec2_backend.get_subnet(self._get_param("SubnetId"))
    options = subnet.private_dns_name_options_on_launch
    for attribute, name in SWITCHES.items():
        if self._get_param(f"{attribute}.Value") is not None:
            options[name] = self._get_bool_param(f"{attribute}.Value")
    if self._get_param("PrivateDnsHostnameTypeOnLaunch"):
        options["HostnameType"] = self._get_param("PrivateDnsHostnameTypeOnLaunch")
    for attribute, name in {
        "MapPublicIpOnLaunch": "map_public_ip_on_launch",
        "AssignIpv6AddressOnCreation": "assign_ipv6_address_on_creation",
        "EnableDns64": "enable_dns64",
    }.items():
        if self._get_param(f"{attribute}.Value") is not None:
            setattr(subnet, name, self._get_bool_param(f"{attribute}.Value"))
    return EmptyResult()


subnet_responses.Subnets.modify_subnet_attribute = modify_subnet_attribute
subnets.Subnet.enable_dns64 = False


# The state of a range is a text.


def ranges(self):
    return [
        {**entry, "ipv6CidrBlockState": {"state": entry["ipv6CidrBlockState"]["state"]["State"]}}
        for entry in all_ranges(self)
    ]


all_ranges = subnets.Subnet.ipv6_cidr_block_association_set.fget
subnets.Subnet.ipv6_cidr_block_association_set = property(ranges)


# A number of 32 bits: that of IPv6 addresses is not told.
all_addresses = subnets.Subnet.available_ip_address_count.fget
subnets.Subnet.available_ip_address_count = property(lambda self: all_addresses(self) if self.cidr_block else 0)


@wrap(subnets.SubnetBackend, "delete_subnet")
def delete_subnet(original, self, subnet_id):
    in_use = [eni for eni in self.get_all_network_interfaces() if eni.subnet.id == subnet_id]
    if in_use:
        from moto.ec2.exceptions import DependencyViolationError

        raise DependencyViolationError(f"The subnet '{subnet_id}' has dependencies and cannot be deleted.")
    subnet = original(self, subnet_id)
    for table in self.route_tables.values():
        gone = [key for key, user in table._associations.items() if user == subnet_id]
        for key in gone:
            del table._associations[key]
    return subnet


# A VPC leaves its DHCP options where they are.


@wrap(vpcs.VPCBackend, "delete_vpc")
def delete_vpc(original, self, vpc_id):
    vpc = self.vpcs.get(vpc_id)
    if vpc:
        options, vpc.dhcp_options = vpc.dhcp_options, None
        try:
            return original(self, vpc_id)
        except Exception:
            vpc.dhcp_options = options
            raise
    return original(self, vpc_id)


# A NAT gateway takes its interface with it and gives its address back.


@wrap(nat_gateways.NatGatewayBackend, "create_nat_gateway")
def create_nat_gateway(original, self, subnet_id, allocation_id, tags=None, connectivity_type="public"):
    gateway = original(self, subnet_id, allocation_id, tags, connectivity_type)
    # One that a test wants to be slow.
    gateway.ready_at = time.monotonic() + float((tags or {}).get("test/seconds", 0))
    if gateway.ready_at > time.monotonic():
        gateway.state = "pending"
    return gateway


@wrap(nat_gateways.NatGatewayBackend, "describe_nat_gateways")
def describe_nat_gateways(original, self, filters, nat_gateway_ids):
    for gateway in self.nat_gateways.values():
        if gateway.state == "pending" and time.monotonic() >= gateway.ready_at:
            gateway.state = "available"
    return original(self, filters, nat_gateway_ids)


@wrap(nat_gateways.NatGatewayBackend, "delete_nat_gateway")
def delete_nat_gateway(original, self, nat_gateway_id):
    from moto.ec2.exceptions import EC2ClientError

    gateway = self.nat_gateways.get(nat_gateway_id)
    if gateway is None:
        raise EC2ClientError("NatGatewayNotFound", f"NAT gateway {nat_gateway_id} was not found")
    if gateway.state != "deleted":
        for address in gateway.address_set:
            if address.get("associationId"):
                self.disassociate_address(association_id=address["associationId"])
        gateway._eni.delete()
    return original(self, nat_gateway_id)


# A security group stays while something uses it; the tags of a rule go with the rule.


@wrap(security_groups.SecurityGroupBackend, "delete_security_group")
def delete_security_group(original, self, name=None, group_id=None):
    from moto.ec2.exceptions import DependencyViolationError

    group = self.get_security_group_from_id(group_id) if group_id else None
    if group and group.group_name != "default":
        used = any(
            group_id in [member.id for member in eni.group_set] for eni in self.get_all_network_interfaces()
        )
        named = any(
            rule.source_group.get("GroupId") == group_id
            for other in self.describe_security_groups()
            if other.id != group_id
            for rule in other.ingress_rules + other.egress_rules
        )
        if used or named:
            raise DependencyViolationError(f"resource {group_id} has a dependent object")
    return original(self, name=name, group_id=group_id)


# Rules for IPv6 go also where the network has no IPv6.


@wrap(security_groups.SecurityGroupBackend, "revoke_security_group_egress")
def revoke_security_group_egress(original, self, *arguments, **named):
    asked = inspect.signature(original).bind(self, *arguments, **named).arguments
    ranges = [entry["CidrIpv6"] for entry in asked["ip_ranges"] if "CidrIpv6" in entry]
    answer = original(self, *arguments, **named)
    group = self.get_security_group_by_name_or_id(asked["group_name_or_id"], asked.get("vpc_id"))
    group.egress_rules = [
        rule
        for rule in group.egress_rules
        if rule.ip_protocol != asked["ip_protocol"] or rule.ip_range.get("CidrIpv6") not in ranges
    ]
    return answer


@wrap(TagBackend, "describe_tags")
def describe_tags(original, self, filters=None):
    rules = {
        rule.id
        for group in self.describe_security_groups()
        for rule in group.ingress_rules + group.egress_rules
    }
    return [
        tag
        for tag in original(self, filters)
        if not tag["resource_id"].startswith("sgr-") or tag["resource_id"] in rules
    ]


# Key pairs: the fingerprint of an ed25519 key, and deletion by id.


@wrap(key_pairs.KeyPairBackend, "import_key_pair")
def import_key_pair(original, self, key_name, public_key_material, tags):
    pair = original(self, key_name, public_key_material, tags)
    if pair.key_type == "ed25519":
        text = public_key_material if isinstance(public_key_material, str) else public_key_material.decode()
        fields = text.split()
        if len(fields) < 2:
            fields = base64.b64decode(text).decode().split()
        blob = base64.b64decode(fields[1])
        pair.key_fingerprint = base64.b64encode(hashlib.sha256(blob).digest()).decode()
    return pair


@wrap(key_pair_responses.KeyPairs, "delete_key_pair")
def delete_key_pair(original, self):
    wanted = self._get_param("KeyPairId")
    for pair in list(self.ec2_backend.key_pairs.values()):
        if wanted and pair.id == wanted:
            self.ec2_backend.delete_key_pair(pair.key_name)
    return original(self)


# Disks of an instance's own are no volumes.


@wrap(instances.InstanceBackend, "_get_template_from_args")
def template_from_arguments(original, self, arguments):
    version = original(self, arguments)
    mappings = version.data.get("BlockDeviceMappings") or []
    if all("Ebs" in mapping for mapping in mappings):
        return version
    version = copy.copy(version)
    version.data = dict(version.data, BlockDeviceMappings=[mapping for mapping in mappings if "Ebs" in mapping])
    return version


# Instances end once, and take their interfaces and disks with them.


@wrap(instances.Instance, "terminate")
def terminate(original, self):
    if self._state.name == "terminated":
        return self._state
    disks = [device.volume_id for device in self.block_device_mapping.values()]
    state = original(self)
    for interface in list(self.nics.values()):
        if interface.id in self.ec2_backend.enis:
            self.ec2_backend.enis.pop(interface.id)
    for disk in disks:
        self.ec2_backend.volumes.pop(disk, None)
    return state


# DHCP options have the tags that they are made with.


@wrap(dhcp_responses.DHCPOptions, "create_dhcp_options")
def create_dhcp_options(original, self):
    answer = original(self)
    answer.result["DhcpOptions"].add_tags(self._parse_tag_specification().get("dhcp-options", {}))
    return answer


# An image has the root device and the architecture that it is registered with.


@wrap(image_responses.AmisResponse, "register_image")
def register_image(original, self):
    answer = original(self)
    image = self.ec2_backend.amis[answer.result["ImageId"]]
    image.root_device_name = self._get_param("RootDeviceName") or image.root_device_name
    image.architecture = self._get_param("Architecture") or image.architecture
    return answer


# Interfaces in subnets without IPv4 have names too.


name_of_ip = elastic_network_interfaces.generate_dns_from_ip


def name_of_any_ip(ip, *arguments, **named):
    return name_of_ip(ip if "." in str(ip) else "0.0.0.0", *arguments, **named)


elastic_network_interfaces.generate_dns_from_ip = name_of_any_ip


# Load balancers tell the addresses that they were given.


@wrap(balancing.ELBv2Backend, "create_load_balancer")
def create_load_balancer(original, self, *arguments, **named):
    balancer = original(self, *arguments, **named)
    mappings = named.get("subnet_mappings") or []
    balancer.given = {mapping["SubnetId"]: mapping for mapping in mappings if len(mapping) > 1}
    return balancer


zones_of_balancer = balancing.FakeLoadBalancer.availability_zones.fget


def zones_with_addresses(self):
    zones = zones_of_balancer(self)
    for zone in zones:
        given = getattr(self, "given", {}).get(zone.subnet_id)
        zone.load_balancer_addresses = [given] if given else []
    return zones


balancing.FakeLoadBalancer.availability_zones = property(zones_with_addresses)


# Names of target groups may have two hyphens in a row.


class TwoHyphens:
    def __getattr__(self, name):
        return getattr(re, name)

    @staticmethod
    def match(pattern, text):
        return re.match(pattern.replace("(?!.*--)", ""), text)


balancing.re = TwoHyphens()


# Queues: a policy that is not named stays as it is.


@wrap(sqs.Queue, "_set_attributes")
def set_queue_attributes(original, self, attributes, now=None):
    policy = self.policy if hasattr(self, "_policy_json") else None
    original(self, attributes, now)
    if "Policy" not in attributes:
        self.policy = policy


# OpenID Connect providers: their audiences change.


def change_client_ids(change):
    def method(self):
        provider = self.backend.get_open_id_connect_provider(self._get_param("OpenIDConnectProviderArn"))
        change(provider.client_id_list, self._get_param("ClientID"))
        return EmptyResult()

    return method


def add_client_id(present, wanted):
    if wanted not in present:
        present.append(wanted)


def remove_client_id(present, unwanted):
    if unwanted in present:
        present.remove(unwanted)


iam_responses.IamResponse.add_client_id_to_open_id_connect_provider = change_client_ids(add_client_id)
iam_responses.IamResponse.remove_client_id_from_open_id_connect_provider = change_client_ids(remove_client_id)


# A new version of a launch template knows its user data as the first one does; the template's own tags are none of its
# machines', and can change.

launch_templates.LaunchTemplate.tags = property(lambda self: self.get_tags(), lambda self, tags: None)


@wrap(launch_template_responses.LaunchTemplates, "create_launch_template_version")
def create_launch_template_version(original, self):
    data = self._get_param("LaunchTemplateData", {})
    data["UserData"] = parse_user_data(self._get_param("LaunchTemplateData.UserData"))
    return original(self)


@wrap(launch_template_responses.LaunchTemplates, "_get_int_param")
def page_size(original, self, name, if_none=None):
    return original(self, name, 200 if name == "MaxResults" and if_none == 15 else if_none)


@wrap(launch_templates.LaunchTemplate, "create_version")
def create_version(original, self, data, description):
    specifications = [
        specification
        for specification in data.get("TagSpecifications", [])
        if specification.get("ResourceType") != "launch-template"
    ]
    if "TagSpecifications" in data:
        data["TagSpecifications"] = specifications
    return original(self, data, description)


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


def launch(group, count, lifecycle_state):
    subnets = (group.vpc_zone_identifier or "").split(",")
    tags = group.get_propagated_tags()
    tags[autoscaling.ASG_NAME_TAG] = group.name
    tags.update(group.instance_tags)
    states = []
    for _ in range(count):
        group.launched = getattr(group, "launched", 0) + 1
        subnet = subnets[group.launched % len(subnets)]
        zone = group.ec2_backend.get_subnet(subnet).availability_zone
        version = group.ec2_launch_template.get_version(group.launch_template_version).number
        before = set(group.ec2_backend.volumes)
        reservation = group.ec2_backend.run_instances(
            group.image_id,
            1,
            group.user_data,
            group.security_groups,
            instance_type=group.instance_type or "m5.large",
            tags={"instance": dict(tags)},
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
    return original(self, instance_ids)


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


# Creating calls with a client token have one effect: the answer to the first is that to all.


class OnceForEachToken:
    def __init__(self, application):
        self.application = application
        self.answers = {}

    def __call__(self, environment, start_response):
        import io
        from urllib.parse import parse_qs

        length = int(environment.get("CONTENT_LENGTH") or 0)
        body = environment["wsgi.input"].read(length) if length else b""
        environment["wsgi.input"] = io.BytesIO(body)
        fields = parse_qs(body.decode("latin1")) if b"ClientToken=" in body and b"Action=Create" in body else {}
        token = fields.get("ClientToken", [None])[0]
        key = token and (environment.get("HTTP_AUTHORIZATION", "")[:80], fields["Action"][0], token)
        if key in self.answers:
            status, headers, answer = self.answers[key]
            start_response(status, headers)
            return [answer]
        told = []

        def listen(status, headers, *more):
            told[:] = [status, headers]
            return start_response(status, headers, *more)

        answer = b"".join(self.application(environment, listen))
        if key and told and told[0].startswith("200"):
            self.answers[key] = (told[0], told[1], answer)
        return [answer]


def mend_application(application):
    return OnceForEachToken(application)
