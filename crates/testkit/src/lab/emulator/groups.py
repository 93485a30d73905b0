# Auto-scaling groups replace an instance that was terminated, but not within the call that terminates it.

from moto.autoscaling.models import AutoScalingBackend, FakeAutoScalingGroup, autoscaling_backends

# Seconds until a group notices.
NOTICED_AFTER = 1.0

ending = []


@wrap(AutoScalingBackend, "notify_terminate_instances")
def notice_later(original, self, instance_ids):
    ending.append(instance_ids)
    try:
        return original(self, instance_ids)
    finally:
        ending.pop()
        for group in self.autoscaling_groups.values():
            for arn in group.target_group_arns:
                target_group = self.elbv2_backend.target_groups.get(arn)
                for instance_id in instance_ids:
                    if target_group and instance_id in target_group.targets:
                        target_group.deregister([{"Id": instance_id}])


@wrap(FakeAutoScalingGroup, "replace_autoscaling_group_instances")
def replace_later(original, self, count_needed, propagated_tags):
    if not ending:
        return original(self, count_needed, propagated_tags)
    self.replaces_at = time.monotonic() + NOTICED_AFTER


def replace_instances():
    """Lets the groups replace what they miss."""
    for _, _, backend in backends_of(autoscaling_backends):
        for group in list(backend.autoscaling_groups.values()):
            if time.monotonic() < getattr(group, "replaces_at", float("inf")):
                continue
            group.replaces_at = float("inf")
            missing = (group.desired_capacity or 0) - len(group.active_instances())
            if missing > 0:
                group.replace_autoscaling_group_instances(missing, group.get_propagated_tags())
                backend.update_attached_elbs(group.name)
                backend.update_attached_target_groups(group.name)
