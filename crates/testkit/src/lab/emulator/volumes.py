# Volumes: what a machine has as a device is attached; what it still holds is not detached yet.

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import elastic_block_store


def is_disk_of_launch(volume):
    return volume.id in getattr(volume.attachment.instance, "launched_with", {volume.id})


@wrap(elastic_block_store.EBSBackend, "attach_volume")
def attach_volume(original, self, volume_id, instance_id, device_path, delete_on_termination=False):
    volume = self.get_volume(volume_id)
    if volume.attachment:
        raise EC2ClientError("VolumeInUse", f"{volume_id} is already attached to an instance")
    instance = self.get_instance(instance_id)
    if hasattr(instance, "launched_with"):
        if instance.state not in ("pending", "running", "stopped"):
            raise EC2ClientError("IncorrectState", f"Instance '{instance_id}' is not 'running'.")
        if volume.zone.name != instance._placement.zone:
            message = f"The volume '{volume_id}' is not in the same availability zone as instance '{instance_id}'"
            raise EC2ClientError("InvalidVolume.ZoneMismatch", message)
        if device_path in instance.block_device_mapping:
            message = f"Invalid value '{device_path}' for unixDevice. Attachment point {device_path} is already in use"
            raise EC2ClientError("InvalidParameterValue", message)
    attachment = original(self, volume_id, instance_id, device_path, delete_on_termination)
    if hasattr(instance, "launched_with"):
        attachment.status = "attaching"
    return attachment


@wrap(elastic_block_store.EBSBackend, "detach_volume")
def detach_volume(original, self, volume_id, instance_id, device_path):
    attachment = self.get_volume(volume_id).attachment
    # A disk that an instance is launched with goes with it. Others are given back by the machine, also when it ends.
    if attachment and not is_disk_of_launch(attachment.volume) and attachment.instance.is_running():
        attachment.status = "detaching"
        return attachment
    return original(self, volume_id, instance_id, device_path)


@wrap(instances.Instance, "terminate")
def keep_volumes(original, self):
    # moto's module that mends termination removes all that the instance has.
    for device, block in list(self.block_device_mapping.items()):
        volume = self.ec2_backend.volumes.get(block.volume_id)
        if volume and not is_disk_of_launch(volume):
            del self.block_device_mapping[device]
            volume.attachment.status = "detaching"
    return original(self)


def attached_volumes():
    return [
        {
            "id": volume.id,
            "size": int(volume.size),
            "instance": volume.attachment.instance.id,
            "device": volume.attachment.device,
            "status": volume.attachment.status,
        }
        for _, _, backend in backends_of(ec2_backends)
        for volume in backend.volumes.values()
        if volume.attachment and not is_disk_of_launch(volume)
    ]


def settle_volume(volume_id):
    """The machine has the device, or has given it back."""
    for _, _, backend in backends_of(ec2_backends):
        volume = backend.volumes.get(volume_id)
        attachment = volume and volume.attachment
        if attachment and attachment.status == "attaching":
            attachment.status = "attached"
        elif attachment and attachment.status == "detaching":
            attachment.instance.block_device_mapping.pop(attachment.device, None)
            volume.attachment = None
    return {}
