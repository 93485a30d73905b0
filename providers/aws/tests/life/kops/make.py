# All of it, each after what it refers to.


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
