# The laboratory: the emulator's instances are machines of the test. Follows the modules that mend moto.
#
# Instances: what a launch template says about identity and metadata counts, reboots are counted, and the console is
# that of the machine.

import os
import re
import time

from moto.core.responses import ActionResult
from moto.core.types import Base64EncodedString
from moto.core.utils import utcnow
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import ec2_backends, instances
from moto.ec2.responses import general
from moto.ec2.utils import convert_tag_spec
from moto.iam.models import iam_backends
from moto.sts.models import sts_backends

# A folder for each instance, named after it, with its `console.log`.
FOLDER = os.environ["LABORATORY_FOLDER"]


def check_metadata_tags(tags):
    """What is a part of a path in the metadata has no slash."""
    for key in tags:
        if not re.fullmatch(r"[0-9a-zA-Z\-_+=,.@:]{1,255}", key):
            raise EC2ClientError("InvalidParameterValue", f"'{key}' is not a valid tag key for instance metadata")


@wrap(instances.InstanceBackend, "run_instances")
def run_from_template(original, self, *arguments, **named):
    template = named.get("launch_template")
    data = self._get_template_from_args(template).data if template else {}
    if not named.get("metadata_options"):
        named["metadata_options"] = data.get("MetadataOptions") or {}
    tags = dict(named.get("tags", {}).get("instance", {}))
    tags.update(convert_tag_spec(data.get("TagSpecifications") or []).get("instance", {}))
    if named["metadata_options"].get("InstanceMetadataTags") == "enabled":
        check_metadata_tags(tags)
    reservation = original(self, *arguments, **named)
    for instance in reservation.instances:
        instance.launched_with = {device.volume_id for device in instance.block_device_mapping.values()}
    profile = data.get("IamInstanceProfile")
    if profile and not named.get("iam_instance_profile_name") and not named.get("iam_instance_profile_arn"):
        for instance in reservation.instances:
            self.associate_iam_instance_profile(instance.id, profile.get("Name"), profile.get("Arn"))
    return reservation


@wrap(instances.Instance, "reboot")
def reboot(original, self):
    self.reboots = getattr(self, "reboots", 0) + 1
    return original(self)


def shut_down(instance_id):
    """A machine that turned itself off is stopped, or terminated where its instance says so."""
    for _, _, backend in backends_of(ec2_backends):
        instance = backend.get_instance_by_id(instance_id)
        if instance and instance.is_running():
            if instance.instance_initiated_shutdown_behavior == "terminate":
                backend.terminate_instances([instance_id])
            else:
                backend.stop_instances([instance_id])
    return {}


def get_console_output(self):
    instance = self.ec2_backend.get_instance(self._get_param("InstanceId"))
    try:
        with open(f"{FOLDER}/{instance.id}/console.log", "rb") as console:
            text = console.read()[-65536:].decode(errors="replace")
    except FileNotFoundError:
        text = ""
    output = Base64EncodedString.from_raw_string(text)
    return ActionResult({"InstanceId": instance.id, "Timestamp": utcnow(), "Output": output})


general.General.get_console_output = get_console_output


def backends_of(service):
    """Account, region and backend of every region that is used."""
    for account, regions in list(service.items()):
        for region, backend in list(regions.items()):
            yield account, region, backend


def instance_profile(account, instance):
    """The instance profile, and the name of its role."""
    profile = instance.iam_instance_profile
    if not profile:
        return None, None
    for known in iam_backends[account]["aws"].instance_profiles.values():
        if known.arn == profile["Arn"]:
            return {"arn": known.arn, "id": known.id}, known.roles[0].name if known.roles else None
    return None, None


def credentials(instance_id):
    """Credentials of the role of an instance, which the emulator's STS knows."""
    for account, _, backend in backends_of(ec2_backends):
        instance = backend.get_instance_by_id(instance_id)
        role = instance and instance_profile(account, instance)[1]
        if role:
            arn = iam_backends[account]["aws"].get_role(role).arn
            service = sts_backends[account]["aws"]
            now = time.time()
            kept = getattr(instance, "credentials", None)
            if kept is None or kept[0] != arn or kept[1] < now + 3600:
                session = service.assume_role(backend.region_name, instance_id, arn, None, 6 * 3600, None)
                instance.credentials = kept = (arn, now + 6 * 3600, session)
            moment = lambda seconds: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
            return {
                "Code": "Success",
                "LastUpdated": moment(kept[1] - 6 * 3600),
                "Type": "AWS-HMAC",
                "AccessKeyId": kept[2].access_key_id,
                "SecretAccessKey": kept[2].secret_access_key,
                "Token": kept[2].session_token,
                "Expiration": moment(kept[1]),
            }
    return None


def interface_view(interface):
    vpc = interface.ec2_backend.get_vpc(interface.subnet.vpc_id)
    return {
        "id": interface.id,
        "index": interface.device_index or 0,
        "mac": interface.mac_address,
        "address": interface.private_ip_address,
        "addresses": [entry["PrivateIpAddress"] for entry in interface.private_ip_addresses],
        "public_address": interface.public_ip,
        "subnet": interface.subnet.id,
        "subnet_block": interface.subnet.cidr_block,
        "vpc": interface.subnet.vpc_id,
        "vpc_blocks": [entry["cidr_block"] for entry in vpc.get_cidr_block_association_set()],
        "groups": [{"id": group.id, "name": group.name} for group in interface.group_set],
    }


def instance_view(account, region, backend, instance):
    profile, role = instance_profile(account, instance)
    options = instance.metadata_options
    return {
        "id": instance.id,
        "state": instance.state,
        "reboots": getattr(instance, "reboots", 0),
        "account": account,
        "region": region,
        "zone": instance._placement.zone,
        "image": instance.image_id,
        "instance_type": instance.instance_type,
        "architecture": instance.architecture,
        "host_name": instance.private_dns_name,
        "launch_index": instance.ami_launch_index,
        "launched": instance.launch_time.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "lifecycle": instance.lifecycle or "on-demand",
        "user_data": str(instance.user_data) if instance.user_data else None,
        "tags": {tag["key"]: tag["value"] for tag in instance.get_tags()},
        "profile": profile,
        "role": role,
        "metadata": {
            "enabled": options.http_endpoint != "disabled",
            "tokens_required": options.http_tokens == "required",
            "hops": int(options.http_put_response_hop_limit or 1),
            "tags": options.instance_metadata_tags == "enabled",
        },
        "interfaces": [interface_view(interface) for interface in instance.nics.values()],
    }


def all_instances():
    return [
        instance_view(account, region, backend, instance)
        for account, region, backend in backends_of(ec2_backends)
        for instance in backend.all_instances()
        if instance.state != "terminated"
    ]
