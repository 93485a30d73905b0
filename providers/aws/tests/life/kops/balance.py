# Load balancers. kOps makes one anew under another name when it cannot change it, and says so in a tag: here each is the
# second of its kind.


def anew(a):
    return {"Name": a["name"][:-6] + "second", "Tags": tag_list({**a.get("tags", {}), "kops.k8s.io/revision": "2"})}


def target_group(a):
    check = a["health_check"][0]
    more = {"HealthCheckPath": check["path"]} if check.get("path") else {}
    made = elb.create_target_group(
        Port=a["port"],
        Protocol=a["protocol"],
        VpcId=a["vpc_id"],
        HealthCheckProtocol=check["protocol"],
        HealthCheckIntervalSeconds=check["interval"],
        HealthyThresholdCount=check["healthy_threshold"],
        UnhealthyThresholdCount=check["unhealthy_threshold"],
        **anew(a),
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
        Type=a["load_balancer_type"],
        Scheme="internal" if a["internal"] else "internet-facing",
        SecurityGroups=a.get("security_groups", []),
        SubnetMappings=[
            {name: entry[key] for key, name in mapping.items() if entry.get(key)} for entry in a["subnet_mapping"]
        ],
        **anew(a),
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
