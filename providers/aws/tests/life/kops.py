"""Makes in moto, through AWS' own APIs, the cluster that a case describes, as kOps makes it.

    kops.py ENDPOINT CASE FOLDER [account]

CASE is a folder with `spec.yaml`, `expected.json` and `env.json`. The account's own objects that the spec names are made
first, and with `account` nothing else; the spec, with their ids and with a region that moto knows, is written to
FOLDER/spec.yaml, and what there is then to FOLDER/account.json. Prints how many resources the cluster has.
"""

import json
import pathlib
import re
import sys
import urllib.request
import xml.sax.saxutils

import boto3

ENDPOINT, CASE, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
ACCOUNT, REGION = "123456789012", "us-west-2"


def client(service):
    keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
    return boto3.client(service, endpoint_url=ENDPOINT, region_name=REGION, **keys)


ec2, iam, scaling, elb = client("ec2"), client("iam"), client("autoscaling"), client("elbv2")
route53, sqs, events = client("route53"), client("sqs"), client("events")

# A case's account is not moto's.
RENAMED = {"us-test-1": REGION, "aws-test": "aws", "000000000000": ACCOUNT}
env = json.loads((CASE / "env.json").read_text())
spec, expected = (CASE / "spec.yaml").read_text(), (CASE / "expected.json").read_text()
NAME = re.search(r"^kind: Cluster$.*?^  name: (\S+)$", spec, re.S | re.M)[1]


def rename(old, new):
    global spec, expected
    pattern = re.compile(rf"(?<![\w-]){re.escape(old)}(?![\w])")
    spec, expected = pattern.sub(new, spec), pattern.sub(new, expected)


for old, new in RENAMED.items():
    spec, expected = spec.replace(old, new), expected.replace(old, new)
# The cases keep secrets and backups in memory: as if the folder's first part were a bucket.
base = re.search(r"configBase: \w+://([^/\s]+)", spec)[1]
expected = re.sub(r"placeholder-(read|write)-bucket/", "", expected)
expected = re.sub(r"placeholder-(read|write)-bucket", base, expected)


# The account's own objects, each under the id that moto gives it.

for zone in env["hosted_zones"]:
    if zone["id"] in spec + expected or zone["name"] in spec:
        more, name = {}, zone["name"]
        for entry in json.loads(expected):
            attributes = entry["attributes"]
            if entry["type"] == "aws_route53_record" and zone["id"] in attributes["zone_id"]:
                # One case has a record that no zone of that name can have.
                if not attributes["name"].endswith("." + name):
                    name = attributes["name"].partition(".")[2]
                    spec = re.sub(rf"dnsZone: {re.escape(zone['name'])}", f"dnsZone: {name}", spec)
        if zone["private"]:
            vpc = ec2.create_vpc(CidrBlock="10.99.0.0/16")["Vpc"]["VpcId"]
            more = {"VPC": {"VPCRegion": REGION, "VPCId": vpc}, "HostedZoneConfig": {"PrivateZone": True}}
        made = route53.create_hosted_zone(Name=name, CallerReference=zone["id"], **more)["HostedZone"]
        rename(zone["id"], made["Id"].rsplit("/")[-1])

for name, image in env["images"].items():
    made = ec2.register_image(Name=name, RootDeviceName=image["root_device"], Architecture=image["architecture"])
    rename(image["id"], made["ImageId"])
    spec = re.sub(rf"image: \S*{re.escape(name)}", f"image: {made['ImageId']}", spec)

networks = {}
for network in env["vpcs"]:
    if network["id"] not in spec:
        continue
    vpc = ec2.create_vpc(CidrBlock=network["cidr_block"])["Vpc"]["VpcId"]
    networks[network["id"]] = vpc
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    rename(network["id"], vpc)
    rename(network["internet_gateway"], gateway)
    for subnet in (subnet for subnet in network["subnets"] if subnet["id"] in spec):
        place = subnet["availability_zone"].replace("us-test-1", REGION)
        made = ec2.create_subnet(VpcId=vpc, CidrBlock=subnet["cidr_block"], AvailabilityZone=place)
        rename(subnet["id"], made["Subnet"]["SubnetId"])

home = next(iter(networks.values()), None)
for group in sorted(set(re.findall(r"(?<![\w-])sg-[a-z0-9-]+", spec))):
    vpc = home or ec2.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])["Vpcs"][0]["VpcId"]
    # It has the rule of every new group, which the cluster uses and leaves behind.
    made = ec2.create_security_group(GroupName=group.replace("sg-", "own-"), Description="own", VpcId=vpc)
    rename(group, made["GroupId"])
for gateway in sorted(set(re.findall(r"(?<![\w-])tgw-[a-z0-9]+", spec))):
    rename(gateway, ec2.create_transit_gateway()["TransitGateway"]["TransitGatewayId"])
for address in sorted(set(re.findall(r"(?<![\w-])eipalloc-[a-z0-9]+", spec))):
    rename(address, ec2.allocate_address(Domain="vpc")["AllocationId"])
for prefixes in sorted(set(re.findall(r"(?<![\w-])pl-[a-z0-9]+", spec))):
    family = "IPv6" if re.search(rf"ipv6\S*.*{prefixes}", spec) else "IPv4"
    made = ec2.create_managed_prefix_list(PrefixListName=prefixes.replace("pl-", "own-"), MaxEntries=1, AddressFamily=family)
    rename(prefixes, made["PrefixList"]["PrefixListId"])
for name in sorted(set(re.findall(r"loadBalancerName: (\S+)", spec))):
    classic = client("elb")
    listener = {"Protocol": "TCP", "LoadBalancerPort": 80, "InstancePort": 80}
    classic.create_load_balancer(LoadBalancerName=name, Listeners=[listener], AvailabilityZones=[REGION + "a"])
for arn in sorted(set(re.findall(r"targetGroupArn: (\S+)", spec))):
    vpc = ec2.describe_vpcs()["Vpcs"][0]["VpcId"]
    made = elb.create_target_group(Name=arn.split("/")[-2][:32], Protocol="TCP", Port=80, VpcId=vpc)
    rename(arn, made["TargetGroups"][0]["TargetGroupArn"])
for arn in sorted(set(re.findall(r"arn:aws:acm:\S+", spec))):
    rename(arn, client("acm").request_certificate(DomainName="api.example.com")["CertificateArn"])
for profile in sorted(set(re.findall(r"instance-profile/(\S+)", spec))):
    trust = {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}
    iam.create_role(RoleName=profile, AssumeRolePolicyDocument=json.dumps({"Statement": [trust]}))
    iam.create_instance_profile(InstanceProfileName=profile)
    iam.add_role_to_instance_profile(InstanceProfileName=profile, RoleName=profile)

resources = json.loads(expected)
networks_made = {}
FOLDER.mkdir(parents=True, exist_ok=True)
with urllib.request.urlopen(urllib.request.Request(ENDPOINT + "/lab/inventory", method="POST")) as answer:
    (FOLDER / "account.json").write_bytes(answer.read())
if sys.argv[4:] == ["account"]:
    # Ranges of the documentation are in no network that AWS gives: a part of the network's.
    part = re.compile(r"ipv6CIDR: \S*([0-9a-f]{2})::/64")
    (FOLDER / "spec.yaml").write_text(part.sub(lambda match: f"ipv6CIDR: /64#{match[1]}", spec))
    print(len(resources))
    sys.exit()

# What has been made: attributes by address, for references.
made = {}


def value(item):
    """A value with references resolved."""
    if isinstance(item, dict):
        return {key: value(entry) for key, entry in item.items()}
    if isinstance(item, list):
        return [value(entry) for entry in item]
    if isinstance(item, str):
        match = re.fullmatch(r"\$\{([\w-]+)\.([^}]+)\.([\w]+)\}", item)
        if match:
            return made[match[1], match[2]][match[3]]
        return re.sub(r"\$\{([\w-]+)\.([^}]+)\.([\w]+)\}", lambda m: str(made[m[1], m[2]][m[3]]), item)
    return item


def references(item):
    if isinstance(item, dict):
        return set().union(*(references(entry) for entry in item.values())) if item else set()
    if isinstance(item, list):
        return set().union(*(references(entry) for entry in item)) if item else set()
    if isinstance(item, str):
        return {(match[0], match[1]) for match in re.findall(r"\$\{([\w-]+)\.([^}]+)\.[\w]+\}", item)}
    return set()


def tag_list(tags):
    return [{"Key": key, "Value": text} for key, text in (tags or {}).items()]


def specification(kind, attributes):
    return [{"ResourceType": kind, "Tags": tag_list(attributes.get("tags"))}]


def document(policy):
    return policy if isinstance(policy, str) else json.dumps(policy)


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


def key_pair(a):
    ec2.import_key_pair(
        KeyName=a["key_name"],
        PublicKeyMaterial=a["public_key"].encode(),
        TagSpecifications=specification("key-pair", a),
    )
    return {"id": a["key_name"]}


def volume(a):
    more = {key: a[key] for key in ("iops", "throughput") if a.get(key)}
    names = {"iops": "Iops", "throughput": "Throughput"}
    made = ec2.create_volume(
        AvailabilityZone=a["availability_zone"],
        Size=a["size"],
        VolumeType=a["type"],
        Encrypted=a["encrypted"],
        TagSpecifications=specification("volume", a),
        **{names[key]: number for key, number in more.items()},
    )
    return {"id": made["VolumeId"]}


def role(a):
    more = {"PermissionsBoundary": a["permissions_boundary"]} if a.get("permissions_boundary") else {}
    made = iam.create_role(
        RoleName=a["name"],
        AssumeRolePolicyDocument=document(a["assume_role_policy"]),
        Tags=tag_list(a.get("tags")),
        **more,
    )
    return {"id": a["name"], "name": a["name"], "arn": made["Role"]["Arn"]}


def role_policy(a):
    iam.put_role_policy(RoleName=a["role"], PolicyName=a["name"], PolicyDocument=document(a["policy"]))
    return {}


def profile(a):
    iam.create_instance_profile(InstanceProfileName=a["name"], Tags=tag_list(a.get("tags")))
    iam.add_role_to_instance_profile(InstanceProfileName=a["name"], RoleName=a["role"])
    return {"id": a["name"]}


def openid_provider(a):
    made = iam.create_open_id_connect_provider(
        Url=a["url"],
        ClientIDList=a["client_id_list"],
        ThumbprintList=a["thumbprint_list"],
        Tags=tag_list(a.get("tags")),
    )
    return {"id": made["OpenIDConnectProviderArn"], "arn": made["OpenIDConnectProviderArn"]}


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def launch_template(a):
    data = {"ImageId": a["image_id"], "InstanceType": a["instance_type"]}
    if a.get("key_name"):
        data["KeyName"] = a["key_name"]
    data["IamInstanceProfile"] = {"Name": a["iam_instance_profile"][0]["name"]}
    data["UserData"] = "IyEvYmluL2Jhc2gK"
    data["BlockDeviceMappings"] = [
        {
            "DeviceName": device["device_name"],
            **({"VirtualName": device["virtual_name"]} if device.get("virtual_name") else {}),
            **({"Ebs": {camel(key): entry for key, entry in device["ebs"][0].items()}} if device.get("ebs") else {}),
        }
        for device in a.get("block_device_mappings", [])
    ]
    data["MetadataOptions"] = {camel(key): entry for key, entry in a["metadata_options"][0].items()}
    if "HttpProtocolIpv6" in data["MetadataOptions"]:
        data["MetadataOptions"]["HttpProtocolIpv6"] = data["MetadataOptions"].pop("HttpProtocolIpv6")
    data["Monitoring"] = {"Enabled": a["monitoring"][0]["enabled"]}
    if a.get("credit_specification"):
        data["CreditSpecification"] = {"CpuCredits": a["credit_specification"][0]["cpu_credits"]}
    if a.get("instance_market_options"):
        options = a["instance_market_options"][0]
        data["InstanceMarketOptions"] = {
            "MarketType": options["market_type"],
            "SpotOptions": {camel(key): entry for key, entry in options.get("spot_options", [{}])[0].items()},
        }
    if a.get("placement"):
        data["Placement"] = {camel(key): entry for key, entry in a["placement"][0].items()}
    data["NetworkInterfaces"] = [
        {
            "DeviceIndex": 0,
            "AssociatePublicIpAddress": entry["associate_public_ip_address"],
            "DeleteOnTermination": entry["delete_on_termination"],
            "Ipv6AddressCount": entry.get("ipv6_address_count", 0),
            "Groups": entry["security_groups"],
        }
        for entry in a["network_interfaces"]
    ]
    data["TagSpecifications"] = [
        {"ResourceType": entry["resource_type"], "Tags": tag_list(entry["tags"])} for entry in a["tag_specifications"]
    ]
    made = ec2.create_launch_template(
        LaunchTemplateName=a["name"],
        LaunchTemplateData=data,
        TagSpecifications=specification("launch-template", a),
    )["LaunchTemplate"]
    return {"id": made["LaunchTemplateId"], "latest_version": "1"}


def template(block):
    # As kOps has it; what Terraform writes is the number.
    return {"LaunchTemplateId": block["id"], "Version": "$Latest"}


def group(a):
    more = {}
    if a.get("launch_template"):
        more["LaunchTemplate"] = template(a["launch_template"][0])
    if a.get("mixed_instances_policy"):
        policy = a["mixed_instances_policy"][0]
        inner = policy["launch_template"][0]
        chosen = inner["launch_template_specification"][0]
        overrides = []
        for override in inner.get("override", []):
            if override.get("instance_type"):
                overrides.append({"InstanceType": override["instance_type"]})
            else:
                needs = override["instance_requirements"][0]
                overrides.append(
                    {
                        "InstanceRequirements": {
                            {"vcpu_count": "VCpuCount", "memory_mib": "MemoryMiB"}.get(key, camel(key)): (
                                {camel(name): number for name, number in entry[0].items()}
                                if isinstance(entry, list) and entry and isinstance(entry[0], dict)
                                else entry
                            )
                            for key, entry in needs.items()
                        }
                    }
                )
        more["MixedInstancesPolicy"] = {
            "LaunchTemplate": {
                "LaunchTemplateSpecification": {
                    "LaunchTemplateId": chosen["launch_template_id"],
                    "Version": "$Latest",
                },
                "Overrides": overrides,
            },
            "InstancesDistribution": {
                {"spot_max_price": "SpotMaxPrice"}.get(key, camel(key)): entry
                for key, entry in policy["instances_distribution"][0].items()
                if entry != ""
            },
        }
    for key, name in (("target_group_arns", "TargetGroupARNs"), ("load_balancers", "LoadBalancerNames")):
        if a.get(key):
            more[name] = a[key]
    if a.get("max_instance_lifetime"):
        more["MaxInstanceLifetime"] = a["max_instance_lifetime"]
    scaling.create_auto_scaling_group(
        AutoScalingGroupName=a["name"],
        MinSize=a["min_size"],
        MaxSize=a["max_size"],
        VPCZoneIdentifier=",".join(a["vpc_zone_identifier"]),
        NewInstancesProtectedFromScaleIn=a.get("protect_from_scale_in", False),
        Tags=[
            {
                "ResourceId": a["name"],
                "ResourceType": "auto-scaling-group",
                "Key": entry["key"],
                "Value": entry["value"],
                "PropagateAtLaunch": entry["propagate_at_launch"],
            }
            for entry in a["tag"]
        ],
        **more,
    )
    if a.get("enabled_metrics"):
        scaling.enable_metrics_collection(
            AutoScalingGroupName=a["name"], Granularity="1Minute", Metrics=a["enabled_metrics"]
        )
    if a.get("suspended_processes"):
        scaling.suspend_processes(AutoScalingGroupName=a["name"], ScalingProcesses=a["suspended_processes"])
    if a.get("warm_pool"):
        pool = a["warm_pool"][0]
        more = {"MinSize": pool.get("min_size", 0)}
        if pool.get("max_group_prepared_capacity") is not None:
            more["MaxGroupPreparedCapacity"] = pool["max_group_prepared_capacity"]
        scaling.put_warm_pool(AutoScalingGroupName=a["name"], **more)
    return {"id": a["name"]}


def hook(a):
    scaling.put_lifecycle_hook(
        AutoScalingGroupName=a["autoscaling_group_name"],
        LifecycleHookName=a["name"],
        LifecycleTransition=a["lifecycle_transition"],
        DefaultResult=a["default_result"],
        HeartbeatTimeout=a["heartbeat_timeout"],
    )
    return {}


def target_group(a):
    check = a["health_check"][0]
    more = {"HealthCheckPath": check["path"]} if check.get("path") else {}
    made = elb.create_target_group(
        Name=a["name"],
        Port=a["port"],
        Protocol=a["protocol"],
        VpcId=a["vpc_id"],
        HealthCheckProtocol=check["protocol"],
        HealthCheckIntervalSeconds=check["interval"],
        HealthyThresholdCount=check["healthy_threshold"],
        UnhealthyThresholdCount=check["unhealthy_threshold"],
        Tags=tag_list(a.get("tags")),
        **more,
    )["TargetGroups"][0]["TargetGroupArn"]
    settings = {
        "deregistration_delay.connection_termination.enabled": a.get("connection_termination"),
        "deregistration_delay.timeout_seconds": a.get("deregistration_delay"),
    }
    attributes = [{"Key": key, "Value": str(entry)} for key, entry in settings.items() if entry is not None]
    elb.modify_target_group_attributes(TargetGroupArn=made, Attributes=attributes)
    return {"id": made, "arn": made}


def balancer(a):
    mapping = {
        "subnet_id": "SubnetId",
        "allocation_id": "AllocationId",
        "private_ipv4_address": "PrivateIPv4Address",
        "ipv6_address": "IPv6Address",
    }
    made = elb.create_load_balancer(
        Name=a["name"],
        Type=a["load_balancer_type"],
        Scheme="internal" if a["internal"] else "internet-facing",
        SecurityGroups=a.get("security_groups", []),
        SubnetMappings=[
            {name: entry[key] for key, name in mapping.items() if entry.get(key)} for entry in a["subnet_mapping"]
        ],
        Tags=tag_list(a.get("tags")),
        **({"IpAddressType": a["ip_address_type"]} if a.get("ip_address_type") else {}),
    )["LoadBalancers"][0]
    crosses = str(a.get("enable_cross_zone_load_balancing", False)).lower()
    attributes = [{"Key": "load_balancing.cross_zone.enabled", "Value": crosses}]
    for log in a.get("access_logs", []):
        attributes += [
            {"Key": "access_logs.s3.enabled", "Value": str(log["enabled"]).lower()},
            {"Key": "access_logs.s3.bucket", "Value": log["bucket"]},
        ]
        if log.get("prefix"):
            attributes.append({"Key": "access_logs.s3.prefix", "Value": log["prefix"]})
    elb.modify_load_balancer_attributes(LoadBalancerArn=made["LoadBalancerArn"], Attributes=attributes)
    return {
        "id": made["LoadBalancerArn"],
        "arn": made["LoadBalancerArn"],
        "dns_name": made["DNSName"],
        "zone_id": made["CanonicalHostedZoneId"],
    }


def listener(a):
    more = {}
    if a.get("certificate_arn"):
        more["Certificates"] = [{"CertificateArn": a["certificate_arn"]}]
    if a.get("ssl_policy"):
        more["SslPolicy"] = a["ssl_policy"]
    made = elb.create_listener(
        LoadBalancerArn=a["load_balancer_arn"],
        Port=a["port"],
        Protocol=a["protocol"],
        DefaultActions=[{"Type": "forward", "TargetGroupArn": a["default_action"][0]["target_group_arn"]}],
        **more,
    )
    return {"id": made["Listeners"][0]["ListenerArn"]}


def record(a):
    alias = a["alias"][0]
    target = {
        "HostedZoneId": alias["zone_id"],
        "DNSName": xml.sax.saxutils.escape(alias["name"]),
        "EvaluateTargetHealth": alias["evaluate_target_health"],
    }
    change = {"Name": a["name"], "Type": a["type"], "AliasTarget": target}
    route53.change_resource_record_sets(
        HostedZoneId=a["zone_id"].rsplit("/")[-1],
        ChangeBatch={"Changes": [{"Action": "CREATE", "ResourceRecordSet": change}]},
    )
    return {}


def zone_association(a):
    network = {"VPCRegion": REGION, "VPCId": a["vpc_id"]}
    route53.associate_vpc_with_hosted_zone(HostedZoneId=a["zone_id"].rsplit("/")[-1], VPC=network)
    return {}


def queue(a):
    made = sqs.create_queue(
        QueueName=a["name"],
        Attributes={"MessageRetentionPeriod": str(a["message_retention_seconds"]), "Policy": document(a["policy"])},
        tags=a.get("tags", {}),
    )["QueueUrl"]
    return {"id": made, "arn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{a['name']}"}


def event_rule(a):
    events.put_rule(Name=a["name"], EventPattern=document(a["event_pattern"]), Tags=tag_list(a.get("tags")))
    return {"id": a["name"]}


def event_target(a):
    events.put_targets(Rule=a["rule"], Targets=[{"Id": "1", "Arn": a["arn"]}])
    return {}


MAKERS = {
    "aws_vpc": vpc,
    "aws_vpc_ipv4_cidr_block_association": further_range,
    "aws_vpc_dhcp_options": dhcp_options,
    "aws_vpc_dhcp_options_association": dhcp_association,
    "aws_subnet": subnet,
    "aws_internet_gateway": internet_gateway,
    "aws_egress_only_internet_gateway": egress_gateway,
    "aws_eip": address,
    "aws_nat_gateway": nat_gateway,
    "aws_route_table": route_table,
    "aws_route": route,
    "aws_route_table_association": table_association,
    "aws_security_group": security_group,
    "aws_security_group_rule": rule,
    "aws_key_pair": key_pair,
    "aws_ebs_volume": volume,
    "aws_iam_role": role,
    "aws_iam_role_policy": role_policy,
    "aws_iam_instance_profile": profile,
    "aws_iam_openid_connect_provider": openid_provider,
    "aws_launch_template": launch_template,
    "aws_autoscaling_group": group,
    "aws_autoscaling_lifecycle_hook": hook,
    "aws_lb": balancer,
    "aws_lb_target_group": target_group,
    "aws_lb_listener": listener,
    "aws_route53_record": record,
    "aws_route53_zone_association": zone_association,
    "aws_sqs_queue": queue,
    "aws_cloudwatch_event_rule": event_rule,
    "aws_cloudwatch_event_target": event_target,
}

# Subnets need the network's further ranges, and groups the ways out of their subnets, without naming them.
EARLY = ["aws_vpc", "aws_vpc_ipv4_cidr_block_association"]
known = {(resource["type"], resource["name"]) for resource in resources}
waiting = sorted(resources, key=lambda resource: resource["type"] not in EARLY)
while waiting:
    ready = [entry for entry in waiting if references(entry["attributes"]) & known <= made.keys()]
    if not ready:
        sys.exit(f"a circle: {[(entry['type'], entry['name']) for entry in waiting]}")
    for entry in ready:
        try:
            made[entry["type"], entry["name"]] = MAKERS[entry["type"]](value(entry["attributes"]))
        except Exception as error:
            sys.exit(f"{entry['type']}.{entry['name']}: {error!r}")
    waiting = [entry for entry in waiting if entry not in ready]
(FOLDER / "spec.yaml").write_text(spec)
print(len(made))
