# Networks, and what lets traffic in and out.


def vpc(a):
    made = ec2.create_vpc(
        CidrBlock=a["cidr_block"],
        AmazonProvidedIpv6CidrBlock=a.get("assign_generated_ipv6_cidr_block", False),
        TagSpecifications=specification("vpc", a),
    )["Vpc"]
    for name, key in (("EnableDnsSupport", "enable_dns_support"), ("EnableDnsHostnames", "enable_dns_hostnames")):
        ec2.modify_vpc_attribute(VpcId=made["VpcId"], **{name: {"Value": a.get(key, False)}})
    found = ec2.describe_vpcs(VpcIds=[made["VpcId"]])["Vpcs"][0]
    ranges = [entry["Ipv6CidrBlock"] for entry in found.get("Ipv6CidrBlockAssociationSet", [])]
    networks_made[made["VpcId"]] = ranges
    return {"id": made["VpcId"], "ipv6_cidr_block": next(iter(ranges), None)}


def further_range(a):
    ec2.associate_vpc_cidr_block(VpcId=a["vpc_id"], CidrBlock=a["cidr_block"])
    return {}


def dhcp_options(a):
    settings = [
        {"Key": "domain-name", "Values": [a["domain_name"]]},
        {"Key": "domain-name-servers", "Values": a["domain_name_servers"]},
    ]
    made = ec2.create_dhcp_options(DhcpConfigurations=settings, TagSpecifications=specification("dhcp-options", a))
    identity = made["DhcpOptions"]["DhcpOptionsId"]
    ec2.create_tags(Resources=[identity], Tags=tag_list(a.get("tags")))
    return {"id": identity}


def dhcp_association(a):
    ec2.associate_dhcp_options(DhcpOptionsId=a["dhcp_options_id"], VpcId=a["vpc_id"])
    return {}


def subnet(a):
    import ipaddress

    more = {}
    if a.get("cidr_block"):
        more["CidrBlock"] = a["cidr_block"]
    if a.get("ipv6_cidr_block"):
        # The case's ranges are parts of a network of the documentation; the same parts of the one that moto chose.
        ours = ipaddress.ip_network(networks_made[a["vpc_id"]][0])
        part = int(ipaddress.ip_network(a["ipv6_cidr_block"]).network_address) >> 64 & 0xFF
        address = ipaddress.ip_address(int(ours.network_address) + (part << 64))
        more["Ipv6CidrBlock"] = f"{address}/64"
        rename(a["ipv6_cidr_block"], more["Ipv6CidrBlock"])
    if a.get("ipv6_native"):
        more["Ipv6Native"] = True
    made = ec2.create_subnet(
        VpcId=a["vpc_id"],
        AvailabilityZone=a["availability_zone"],
        TagSpecifications=specification("subnet", a),
        **more,
    )["Subnet"]["SubnetId"]
    for key, name in (
        ("assign_ipv6_address_on_creation", "AssignIpv6AddressOnCreation"),
        ("enable_dns64", "EnableDns64"),
        ("enable_resource_name_dns_a_record_on_launch", "EnableResourceNameDnsARecordOnLaunch"),
        ("enable_resource_name_dns_aaaa_record_on_launch", "EnableResourceNameDnsAAAARecordOnLaunch"),
    ):
        if a.get(key):
            ec2.modify_subnet_attribute(SubnetId=made, **{name: {"Value": True}})
    kind = a.get("private_dns_hostname_type_on_launch")
    if kind:
        ec2.modify_subnet_attribute(SubnetId=made, PrivateDnsHostnameTypeOnLaunch=kind)
    return {"id": made}


def internet_gateway(a):
    made = ec2.create_internet_gateway(TagSpecifications=specification("internet-gateway", a))
    identity = made["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=identity, VpcId=a["vpc_id"])
    return {"id": identity}


def egress_gateway(a):
    tags = specification("egress-only-internet-gateway", a)
    made = ec2.create_egress_only_internet_gateway(VpcId=a["vpc_id"], TagSpecifications=tags)
    return {"id": made["EgressOnlyInternetGateway"]["EgressOnlyInternetGatewayId"]}


def address(a):
    made = ec2.allocate_address(Domain="vpc", TagSpecifications=specification("elastic-ip", a))
    return {"id": made["AllocationId"]}


def nat_gateway(a):
    made = ec2.create_nat_gateway(
        SubnetId=a["subnet_id"], AllocationId=a["allocation_id"], TagSpecifications=specification("natgateway", a)
    )
    # kOps remembers it at the subnet in which it stands.
    gateway = made["NatGateway"]["NatGatewayId"]
    ec2.create_tags(Resources=[a["subnet_id"]], Tags=[{"Key": "AssociatedNatgateway", "Value": gateway}])
    return {"id": gateway}


def route_table(a):
    made = ec2.create_route_table(VpcId=a["vpc_id"], TagSpecifications=specification("route-table", a))
    return {"id": made["RouteTable"]["RouteTableId"]}


def route(a):
    names = {
        "destination_cidr_block": "DestinationCidrBlock",
        "destination_ipv6_cidr_block": "DestinationIpv6CidrBlock",
        "gateway_id": "GatewayId",
        "nat_gateway_id": "NatGatewayId",
        "transit_gateway_id": "TransitGatewayId",
        "egress_only_gateway_id": "EgressOnlyInternetGatewayId",
    }
    ec2.create_route(RouteTableId=a["route_table_id"], **{names[key]: a[key] for key in names if a.get(key)})
    return {}


def table_association(a):
    ec2.associate_route_table(RouteTableId=a["route_table_id"], SubnetId=a["subnet_id"])
    return {}


def security_group(a):
    made = ec2.create_security_group(
        GroupName=a["name"],
        Description=a["description"],
        VpcId=a["vpc_id"],
        TagSpecifications=specification("security-group", a),
    )["GroupId"]
    # kOps takes the rules away that every new group has, and makes its own.
    found = ec2.describe_security_groups(GroupIds=[made])["SecurityGroups"][0]
    ec2.revoke_security_group_egress(GroupId=made, IpPermissions=found["IpPermissionsEgress"])
    return {"id": made}


def rule(a):
    permission = {"IpProtocol": a["protocol"]}
    if a["protocol"] != "-1":
        permission.update(FromPort=a["from_port"], ToPort=a["to_port"])
    if a.get("cidr_blocks"):
        permission["IpRanges"] = [{"CidrIp": entry} for entry in a["cidr_blocks"]]
    if a.get("ipv6_cidr_blocks"):
        permission["Ipv6Ranges"] = [{"CidrIpv6": entry} for entry in a["ipv6_cidr_blocks"]]
    if a.get("prefix_list_ids"):
        permission["PrefixListIds"] = [{"PrefixListId": entry} for entry in a["prefix_list_ids"]]
    if a.get("source_security_group_id"):
        permission["UserIdGroupPairs"] = [{"GroupId": a["source_security_group_id"]}]
    way = ec2.authorize_security_group_egress if a["type"] == "egress" else ec2.authorize_security_group_ingress
    own = {"ResourceType": "security-group-rule", "Tags": [{"Key": "KubernetesCluster", "Value": NAME}]}
    try:
        way(GroupId=a["security_group_id"], IpPermissions=[permission], TagSpecifications=[own])
    except ec2.exceptions.ClientError as error:
        # A group that was there before may have it already.
        if error.response["Error"]["Code"] != "InvalidPermission.Duplicate":
            raise
    return {}
