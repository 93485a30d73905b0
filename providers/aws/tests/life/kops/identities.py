# Keys, disks, and identities.


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
