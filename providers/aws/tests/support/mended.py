"""Mends what moto 5.2.1 does otherwise than AWS, as far as a cluster's infrastructure meets it.

Runs before moto's server in the same interpreter. AWS' behaviour is that of its documentation.
"""

import base64
import hashlib

from moto.autoscaling import models as autoscaling
from moto.autoscaling.exceptions import ValidationError
from moto.core.responses import EmptyResult
from moto.ec2.models import instances, key_pairs, nat_gateways, security_groups, subnets, vpcs
from moto.ec2.models.tags import TagBackend
from moto.ec2.responses import key_pairs as key_pair_responses
from moto.ec2.responses import subnets as subnet_responses
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


# Instances end once, and take their interfaces with them.


@wrap(instances.Instance, "terminate")
def terminate(original, self):
    if self._state.name == "terminated":
        return self._state
    state = original(self)
    for interface in list(self.nics.values()):
        if interface.id in self.ec2_backend.enis:
            self.ec2_backend.enis.pop(interface.id)
    return state


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
