"""Reads a cluster from a cloud: each named object with its attributes, so that clusters of two tools can be compared.

The endpoint is the argument. Ids are written as the names of their objects. Attributes that the cloud chooses, and
objects that it creates by itself, are left out. Policies become sets of grants, because their order has no meaning.
"""

import json
import re
import sys

import boto3

CHOSEN = re.compile(
    r"Id$|Ids$|Arn$|ARN$|DNSName|Time|Version(Id|Number)|Date|Owner|PublicIp|PrivateIp|MacAddress|AvailableIp|QueueUrl"
    r"|Approximate|Timestamp|Ipv6CidrBlock|Instances|NatGatewayAddresses|KmsKey|IpPermissions|RoleLastUsed"
)
# Ids of other objects are kept, as names.
REFERENCES = (
    "VpcId",
    "SubnetId",
    "GroupId",
    "NatGatewayId",
    "GatewayId",
    "RouteTableId",
    "AllocationId",
    "TargetGroupArn",
)

names = {}
objects = {}


def client(service):
    place = {"endpoint_url": sys.argv[1], "region_name": "us-east-1"}
    return boto3.client(service, aws_access_key_id="testing", aws_secret_access_key="testing", **place)


def tags(found):
    pairs = found.items() if isinstance(found, dict) else [(tag["Key"], tag["Value"]) for tag in found or []]
    return {key: value for key, value in pairs if not key.startswith("slipway.dev/")}


def add(kind, name, attributes, identity=None):
    if identity:
        names[identity] = f"{kind} {name}"
    objects[f"{kind} {name}"] = attributes


def listed(value):
    return value if isinstance(value, list) else [value]


def grants(document):
    found = set()
    for part in listed((json.loads(document) if isinstance(document, str) else document)["Statement"]):
        condition = {
            test: {key: sorted(listed(value)) for key, value in values.items()}
            for test, values in part.get("Condition", {}).items()
        }
        for action in listed(part["Action"]):
            for resource in listed(part.get("Resource", "")):
                grant = [part["Effect"], action, resource, part.get("Principal"), condition]
                found.add(json.dumps(grant, sort_keys=True))
    return sorted(found)


def network(ec2):
    plain = {
        "vpc": (ec2.describe_vpcs()["Vpcs"], "VpcId"),
        "subnet": (ec2.describe_subnets()["Subnets"], "SubnetId"),
        "internet-gateway": (ec2.describe_internet_gateways()["InternetGateways"], "InternetGatewayId"),
        "dhcp-options": (ec2.describe_dhcp_options()["DhcpOptions"], "DhcpOptionsId"),
        "nat-gateway": (ec2.describe_nat_gateways()["NatGateways"], "NatGatewayId"),
        "address": (ec2.describe_addresses()["Addresses"], "AllocationId"),
        "route-table": (ec2.describe_route_tables()["RouteTables"], "RouteTableId"),
        "volume": (ec2.describe_volumes()["Volumes"], "VolumeId"),
        "security-group": (ec2.describe_security_groups()["SecurityGroups"], "GroupId"),
    }
    for kind, (found, key) in plain.items():
        for item in found:
            item["tags"] = tags(item.pop("Tags", []))
            # Others are those of every account and of every network.
            if "Name" in item["tags"]:
                add(kind, item["tags"]["Name"], item, item[key])
    for rule in ec2.describe_security_group_rules()["SecurityGroupRules"]:
        if rule["GroupId"] in names:
            other = rule.get("ReferencedGroupInfo", {}).get("GroupId")
            other = names.get(other) or rule.get("CidrIpv4") or rule.get("CidrIpv6")
            way = "out" if rule["IsEgress"] else "in"
            ports = f"{rule['IpProtocol']} {rule.get('FromPort')}-{rule.get('ToPort')}"
            add("rule", f"{names[rule['GroupId']]} {way} {ports} {other}", {"tags": len(tags(rule.get("Tags"))) > 0})


def machines(ec2, scaling):
    for pair in ec2.describe_key_pairs()["KeyPairs"]:
        add("key-pair", pair["KeyName"], {"tags": tags(pair.get("Tags"))})
    for template in ec2.describe_launch_templates()["LaunchTemplates"]:
        name = template["LaunchTemplateName"]
        versions = ec2.describe_launch_template_versions(LaunchTemplateName=name, Versions=["$Latest"])
        data = versions["LaunchTemplateVersions"][0]["LaunchTemplateData"]
        data["TagSpecifications"] = {part["ResourceType"]: tags(part["Tags"]) for part in data["TagSpecifications"]}
        add("launch-template", name, {"tags": tags(template.get("Tags")), **data}, template["LaunchTemplateId"])
    for group in scaling.describe_auto_scaling_groups()["AutoScalingGroups"]:
        name = group["AutoScalingGroupName"]
        group["tags"] = tags(group.pop("Tags"))
        group["VPCZoneIdentifier"] = group["VPCZoneIdentifier"].split(",")
        add("auto-scaling-group", name, group)
        for hook in scaling.describe_lifecycle_hooks(AutoScalingGroupName=name)["LifecycleHooks"]:
            add("lifecycle-hook", f"{name} {hook['LifecycleHookName']}", hook)


def identities(iam):
    for role in iam.list_roles()["Roles"]:
        name = role["RoleName"]
        own = tags(iam.list_role_tags(RoleName=name)["Tags"])
        add("role", name, {"grants": grants(role["AssumeRolePolicyDocument"]), "tags": own})
        for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]:
            document = iam.get_role_policy(RoleName=name, PolicyName=policy)["PolicyDocument"]
            add("role-policy", f"{name} {policy}", {"grants": grants(document)})
    for profile in iam.list_instance_profiles()["InstanceProfiles"]:
        roles = [role["RoleName"] for role in profile["Roles"]]
        add("instance-profile", profile["InstanceProfileName"], {"tags": tags(profile.get("Tags")), "roles": roles})


def balance(elb):
    def of(arn):
        return tags(elb.describe_tags(ResourceArns=[arn])["TagDescriptions"][0]["Tags"])

    for balancer in elb.describe_load_balancers()["LoadBalancers"]:
        arn = balancer["LoadBalancerArn"]
        settings = tags(elb.describe_load_balancer_attributes(LoadBalancerArn=arn)["Attributes"])
        name = of(arn).get("Name", balancer["LoadBalancerName"])
        add("load-balancer", name, {**balancer, "tags": of(arn), "attributes": settings}, arn)
        for listener in elb.describe_listeners(LoadBalancerArn=arn)["Listeners"]:
            add("listener", f"{name} {listener['Port']}", {**listener, "tags": of(listener["ListenerArn"])})
    for group in elb.describe_target_groups()["TargetGroups"]:
        arn = group["TargetGroupArn"]
        settings = tags(elb.describe_target_group_attributes(TargetGroupArn=arn)["Attributes"])
        add("target-group", group["TargetGroupName"], {**group, "tags": of(arn), "attributes": settings}, arn)


def events(queues, bridge):
    for url in queues.list_queues().get("QueueUrls", []):
        found = queues.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        found["Policy"] = grants(found["Policy"])
        own = tags(queues.list_queue_tags(QueueUrl=url).get("Tags", {}))
        add("queue", url.split("/")[-1], {**found, "tags": own})
    for rule in bridge.list_rules()["Rules"]:
        own = tags(bridge.list_tags_for_resource(ResourceARN=rule["Arn"])["Tags"])
        add("event-rule", rule["Name"], {**rule, "EventPattern": json.loads(rule["EventPattern"]), "tags": own})
        for target in bridge.list_targets_by_rule(Rule=rule["Name"])["Targets"]:
            add("event-target", rule["Name"], {"Arn": target["Arn"]})


def store(s3):
    for bucket in s3.list_buckets()["Buckets"]:
        for item in s3.list_objects_v2(Bucket=bucket["Name"]).get("Contents", []):
            # The first folder below that of the cluster.
            add("object", "/".join(item["Key"].split("/")[1:2]), {})


def flat(value, path, found):
    """Values by path. The places in a list have no meaning; references to other objects are names."""
    if isinstance(value, dict):
        for key, inner in value.items():
            inside = f"{path}.{key}" if path else key
            if key in REFERENCES and inner in names:
                found.setdefault(inside, []).append(names[inner])
            elif path.endswith("tags") or not CHOSEN.search(key):
                flat(inner, inside, found)
    elif isinstance(value, list):
        for inner in value:
            flat(inner, path, found)
    else:
        found.setdefault(path, []).append(names.get(value, value))


network(client("ec2"))
machines(client("ec2"), client("autoscaling"))
identities(client("iam"))
balance(client("elbv2"))
events(client("sqs"), client("events"))
store(client("s3"))
result = {}
for name, attributes in objects.items():
    values = {}
    flat(attributes, "", values)
    result[name] = {path: sorted(map(str, inner)) for path, inner in values.items()}
print(json.dumps(result))
