# Load balancers and names: balancers have addresses of their subnets, and targets are as healthy as the laboratory
# finds them.

from moto.elbv2.models import ELBv2Backend, FakeTargetGroup, elbv2_backends
from moto.route53.models import route53_backends

# Of targets: by group, id and port.
healthy = {}


def addresses_of(balancer):
    known = balancer.__dict__.setdefault("addresses", {})
    for subnet in balancer.subnets:
        if subnet.id not in known:
            known[subnet.id] = (subnet, subnet.get_available_subnet_ip(balancer))
    return [address for _, address in known.values()]


@wrap(ELBv2Backend, "delete_load_balancer")
def give_addresses_back(original, self, arn):
    balancer = self.load_balancers.get(arn)
    for subnet, address in getattr(balancer, "addresses", {}).values():
        subnet.del_subnet_ip(address)
    return original(self, arn)


@wrap(FakeTargetGroup, "health_for")
def health_for(original, self, target, ec2_backend):
    health = original(self, target, ec2_backend)
    if health.status != "healthy":
        return health
    known = healthy.get((self.arn, health.instance_id, int(health.port)))
    if not self.load_balancer_arns:
        health.status, health.reason = "unused", "Target.NotInUse"
        health.description = "Target group is not configured to receive traffic from the load balancer"
    elif known is None:
        health.status, health.reason = "initial", "Elb.RegistrationInProgress"
        health.description = "Target registration is in progress"
    elif not known:
        health.status, health.reason = "unhealthy", "Target.FailedHealthChecks"
        health.description = "Health checks failed"
    return health


def report_health(found):
    for entry in found:
        healthy[entry["group"], entry["target"], entry["port"]] = entry["healthy"]
    return {}


def balancers():
    return [
        {
            "name": balancer.dns_name,
            "addresses": addresses_of(balancer),
            "listeners": [
                {
                    "port": int(listener.port),
                    "groups": [
                        arn
                        for action in listener.default_actions
                        for arn in [action.data.get("TargetGroupArn")]
                        + [
                            group["TargetGroupArn"]
                            for group in action.data.get("ForwardConfig", {}).get("TargetGroups", [])
                        ]
                        if arn
                    ],
                }
                for listener in balancer.listeners.values()
                if listener.protocol in ("TCP", "TLS", "TCP_UDP")
            ],
        }
        for _, _, backend in backends_of(elbv2_backends)
        for balancer in backend.load_balancers.values()
        if balancer.type == "network"
    ]


def address_of(backend, target):
    instance = backend.get_instance_by_id(target) if target.startswith("i-") else None
    return instance.private_ip if instance and instance.is_running() else target


def target_groups():
    return [
        {
            "arn": group.arn,
            "targets": [
                {
                    "id": target["Id"],
                    "port": int(target["Port"]),
                    "address": address_of(ec2_backends[account][region], target["Id"]),
                    "health_port": int(
                        target["Port"] if group.health_check_port == "traffic-port" else group.health_check_port
                    ),
                    "healthy": healthy.get((group.arn, target["Id"], int(target["Port"]))),
                }
                for target in group.targets.values()
            ],
        }
        for account, region, backend in backends_of(elbv2_backends)
        for group in backend.target_groups.values()
    ]


def records():
    return [
        {
            "name": record.name.strip(".").lower(),
            "kind": record.type,
            "values": [entry["Value"] if isinstance(entry, dict) else entry for entry in record.records or []],
            "alias": (record.alias_target or {}).get("DNSName", "").strip(".").lower() or None,
        }
        for _, _, backend in backends_of(route53_backends)
        for zone in backend.zones.values()
        for record in zone.rrsets
    ]
