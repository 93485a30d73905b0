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
