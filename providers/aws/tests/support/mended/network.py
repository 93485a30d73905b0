# Networks.

import inspect
import time

from moto.core.responses import EmptyResult
from moto.ec2.models import elastic_network_interfaces, nat_gateways, security_groups, subnets, vpcs
from moto.ec2.models.tags import TagBackend
from moto.ec2.responses import dhcp_options as dhcp_responses
from moto.ec2.responses import subnets as subnet_responses


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
            answer = original(self, vpc_id)
        except Exception:
            vpc.dhcp_options = options
            raise
        if options:
            options.vpc = None
        return answer
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


# DHCP options have the tags that they are made with.


@wrap(dhcp_responses.DHCPOptions, "create_dhcp_options")
def create_dhcp_options(original, self):
    answer = original(self)
    answer.result["DhcpOptions"].add_tags(self._parse_tag_specification().get("dhcp-options", {}))
    return answer


# Interfaces in subnets without IPv4 have names too.


name_of_ip = elastic_network_interfaces.generate_dns_from_ip


def name_of_any_ip(ip, *arguments, **named):
    return name_of_ip(ip if "." in str(ip) else "0.0.0.0", *arguments, **named)


elastic_network_interfaces.generate_dns_from_ip = name_of_any_ip
