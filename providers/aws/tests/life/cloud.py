# What the tests of whole lives ask of moto beside AWS' own APIs: what there is, and that marks of ownership go. Follows
# the module that mends moto.

from moto.autoscaling.models import autoscaling_backends  # noqa: E402
from moto.ec2.models import ec2_backends  # noqa: E402
from moto.elbv2.models import elbv2_backends  # noqa: E402
from moto.events.models import events_backends  # noqa: E402
from moto.iam.models import iam_backends  # noqa: E402
from moto.route53.models import route53_backends  # noqa: E402
from moto.s3.models import s3_backends  # noqa: E402
from moto.sqs.models import sqs_backends  # noqa: E402

OWN = "slipway.dev/"


def ec2_tags(backend, identity):
    return dict(backend.tags.get(identity, {}))


def as_map(tags):
    if isinstance(tags, dict):
        return {key: value["Value"] if isinstance(value, dict) else value for key, value in tags.items()}
    return {tag.get("Key", tag.get("key")): tag.get("Value", tag.get("value")) for tag in tags or []}


def ec2_objects(backend):
    """Type, id, and tags of everything in one region."""
    plain = {
        "vpc": backend.vpcs,
        "route-table": backend.route_tables,
        "internet-gateway": backend.internet_gateways,
        "egress-only-gateway": backend.egress_only_internet_gateways,
        "dhcp-options": backend.dhcp_options_sets,
        "volume": backend.volumes,
        "launch-template": backend.launch_templates,
        "interface": backend.enis,
    }
    for kind, objects in plain.items():
        for identity in list(objects):
            yield kind, identity, ec2_tags(backend, identity)
    for subnets_of_zone in backend.subnets.values():
        for identity in subnets_of_zone:
            yield "subnet", identity, ec2_tags(backend, identity)
    for groups in backend.groups.values():
        for identity, group in groups.items():
            yield "security-group", identity, ec2_tags(backend, identity)
            for rule in group.ingress_rules + group.egress_rules:
                yield "rule", f"{identity} {rule_text(rule)}", {}
    for identity, gateway in backend.nat_gateways.items():
        if gateway.state != "deleted":
            yield "nat-gateway", identity, ec2_tags(backend, identity)
    for address in backend.addresses:
        yield "address", address.allocation_id, ec2_tags(backend, address.allocation_id)
    for pair in backend.key_pairs.values():
        yield "key-pair", pair.id, ec2_tags(backend, pair.id)
    for table in backend.route_tables.values():
        for route in table.routes:
            # The cloud chooses a network's IPv6 range.
            other = "IPv6" if route.local else route.destination_ipv6_cidr_block
            destination = route.destination_cidr_block or other
            yield "route", f"{table.id} {destination}", {}
        for subnet in table._associations.values():
            yield "association", f"{table.id} {subnet}", {}
    for reservation in backend.reservations.values():
        for instance in reservation.instances:
            if instance.state in ("pending", "running"):
                group = ec2_tags(backend, instance.id).get("aws:autoscaling:groupName", "")
                yield "instance", instance.id, {"Name": f"{group} {instance.image_id}"}


def rule_text(rule):
    other = rule.source_group.get("GroupId") or rule.prefix_list_id
    other = other or rule.ip_range.get("CidrIp") or rule.ip_range.get("CidrIpv6")
    way = "out" if rule.is_egress else "in"
    return f"{way} {rule.ip_protocol} {rule.from_port} {rule.to_port} {other}"


def iam_objects(backend):
    for role in backend.roles.values():
        yield "role", role.name, as_map(role.tags)
        for name in role.policies:
            yield "role-policy", f"{role.name} {name}", {}
        for arn in role.managed_policies:
            yield "role-attachment", f"{role.name} {arn}", {}
    for profile in backend.instance_profiles.values():
        yield "profile", profile.name, as_map(profile.tags)
    for provider in backend.open_id_providers.values():
        yield "openid-provider", provider.arn, as_map(provider.tags)


def route53_objects(backend):
    for zone in backend.zones.values():
        yield "zone", zone.resource_id, {}
        for record in zone.rrsets:
            if record.type not in ("NS", "SOA"):
                yield "record", f"{zone.name} {record.name} {record.type}", {}
        for vpc in zone.vpcs:
            yield "zone-association", f"{zone.resource_id} {vpc.get('vpc_id')}", {}


def elbv2_objects(backend):
    tags = lambda arn: as_map(backend.tagging_service.list_tags_for_resource(arn)["Tags"])  # noqa: E731
    for arn, balancer in backend.load_balancers.items():
        yield "load-balancer", arn, tags(arn)
        for listener in balancer.listeners:
            yield "listener", listener, tags(listener)
    for arn in backend.target_groups:
        yield "target-group", arn, tags(arn)


def autoscaling_objects(backend):
    for group in backend.autoscaling_groups.values():
        yield "group", group.name, as_map(group.tags)
        if getattr(group, "warm_pool", None) is not None:
            yield "warm-pool", group.name, {}
    for hook in backend.lifecycle_hooks.values():
        yield "hook", f"{hook.auto_scaling_group_name} {hook.name}", {}


def events_objects(backend):
    for bus in backend.event_buses.values():
        for rule in bus.rules.values():
            yield "event-rule", rule.name, as_map(backend.tagger.list_tags_for_resource(rule.arn)["Tags"])
            for target in rule.targets:
                yield "event-target", f"{rule.name} {target.get('Arn')}", {}


def sqs_objects(backend):
    for queue in backend.queues.values():
        yield "queue", queue.name, as_map(queue.tags)


def s3_objects(backend):
    for bucket in backend.buckets.values():
        yield "bucket", bucket.name, {}
        for key in bucket.keys:
            yield "object", f"{bucket.name} {key}", {}


LISTED = [
    (ec2_backends, ec2_objects),
    (iam_backends, iam_objects),
    (route53_backends, route53_objects),
    (elbv2_backends, elbv2_objects),
    (autoscaling_backends, autoscaling_objects),
    (events_backends, events_objects),
    (sqs_backends, sqs_objects),
    (s3_backends, s3_objects),
]


def inventory():
    found = []
    # What every account has is there when it is first asked for.
    ec2_backends["123456789012"]["us-east-1"]
    for backends, list_objects in LISTED:
        for account, region, backend in list(backends.iter_backends()):
            for kind, identity, tags in list_objects(backend):
                name = tags.get(OWN + "address") or tags.get("Name") or ""
                place = f"{account} {region}"
                found.append({"kind": kind, "id": identity, "name": name, "place": place})
    return found


def without_own(tags):
    if isinstance(tags, dict):
        return {key: value for key, value in tags.items() if not key.startswith(OWN)}
    return [tag for tag in tags or [] if not tag.get("Key", tag.get("key", "")).startswith(OWN)]


def forget_owners():
    """Takes every mark of ours away, as if another tool had made it all."""
    for _, _, backend in ec2_backends.iter_backends():
        for identity, tags in backend.tags.items():
            for key in [key for key in tags if key.startswith(OWN)]:
                del tags[key]
    for _, _, backend in iam_backends.iter_backends():
        objects = [*backend.roles.values(), *backend.instance_profiles.values(), *backend.open_id_providers.values()]
        for item in objects:
            item.tags = without_own(item.tags)
    for backends, attribute in ((elbv2_backends, "tagging_service"), (events_backends, "tagger")):
        for _, _, backend in backends.iter_backends():
            tagger = getattr(backend, attribute)
            for arn in list(tagger.tags):
                own = [key for key in tagger.get_tag_dict_for_resource(arn) if key.startswith(OWN)]
                tagger.untag_resource_using_names(arn, own)
    for _, _, backend in autoscaling_backends.iter_backends():
        for group in backend.autoscaling_groups.values():
            group.tags = without_own(group.tags)
    for _, _, backend in sqs_backends.iter_backends():
        for queue in backend.queues.values():
            queue.tags = without_own(queue.tags)
