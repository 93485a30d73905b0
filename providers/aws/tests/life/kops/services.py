# Names, and what tells of interruptions.


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
