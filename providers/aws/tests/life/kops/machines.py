# Machines and their groups.


def launch_template(a):
    # kOps itself says that instances may be terminated, and leaves the metadata service's endpoint to AWS.
    data = {"ImageId": a["image_id"], "InstanceType": a["instance_type"], "DisableApiTermination": False}
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
        # Its own order is that of a map.
        for device in reversed(a.get("block_device_mappings", []))
    ]
    data["MetadataOptions"] = {
        camel(key): entry for key, entry in a["metadata_options"][0].items() if key != "http_endpoint"
    }
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
