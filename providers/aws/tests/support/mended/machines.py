# Machines: keys, images, launch templates, instances.

import base64
import copy
import hashlib

from moto.ec2.models import instances, key_pairs, launch_templates
from moto.ec2.responses import amis as image_responses
from moto.ec2.responses import key_pairs as key_pair_responses
from moto.ec2.responses import launch_templates as launch_template_responses
from moto.ec2.utils import parse_user_data


# Key pairs: the fingerprint of an ed25519 key, and deletion by id.


@wrap(key_pairs.KeyPairBackend, "import_key_pair")
def import_key_pair(original, self, key_name, public_key_material, tags):
    pair = original(self, key_name, public_key_material, tags)
    if pair.key_type == "ed25519":
        text = public_key_material if isinstance(public_key_material, str) else public_key_material.decode()
        fields = text.split()
        if len(fields) < 2:
            fields = base64.b64decode(text).decode().split()
        blob = base64.b64decode(fields[1])
        pair.key_fingerprint = base64.b64encode(hashlib.sha256(blob).digest()).decode()
    return pair


@wrap(key_pair_responses.KeyPairs, "delete_key_pair")
def delete_key_pair(original, self):
    wanted = self._get_param("KeyPairId")
    for pair in list(self.ec2_backend.key_pairs.values()):
        if wanted and pair.id == wanted:
            self.ec2_backend.delete_key_pair(pair.key_name)
    return original(self)


# Disks of an instance's own are no volumes.


@wrap(instances.InstanceBackend, "_get_template_from_args")
def template_from_arguments(original, self, arguments):
    version = original(self, arguments)
    mappings = version.data.get("BlockDeviceMappings") or []
    if all("Ebs" in mapping for mapping in mappings):
        return version
    version = copy.copy(version)
    version.data = dict(version.data, BlockDeviceMappings=[mapping for mapping in mappings if "Ebs" in mapping])
    return version


# Instances end once, and take their interfaces and disks with them.


@wrap(instances.Instance, "terminate")
def terminate(original, self):
    if self._state.name == "terminated":
        return self._state
    disks = [device.volume_id for device in self.block_device_mapping.values()]
    state = original(self)
    for interface in list(self.nics.values()):
        if interface.id in self.ec2_backend.enis:
            self.ec2_backend.enis.pop(interface.id)
    for disk in disks:
        self.ec2_backend.volumes.pop(disk, None)
    return state


# An image has the root device and the architecture that it is registered with.


@wrap(image_responses.AmisResponse, "register_image")
def register_image(original, self):
    answer = original(self)
    image = self.ec2_backend.amis[answer.result["ImageId"]]
    image.root_device_name = self._get_param("RootDeviceName") or image.root_device_name
    image.architecture = self._get_param("Architecture") or image.architecture
    return answer


# A new version of a launch template knows its user data as the first one does; the template's own tags are none of its
# machines', and can change.

launch_templates.LaunchTemplate.tags = property(lambda self: self.get_tags(), lambda self, tags: None)


@wrap(launch_template_responses.LaunchTemplates, "create_launch_template_version")
def create_launch_template_version(original, self):
    data = self._get_param("LaunchTemplateData", {})
    data["UserData"] = parse_user_data(self._get_param("LaunchTemplateData.UserData"))
    return original(self)


@wrap(launch_template_responses.LaunchTemplates, "_get_int_param")
def page_size(original, self, name, if_none=None):
    return original(self, name, 200 if name == "MaxResults" and if_none == 15 else if_none)


@wrap(launch_templates.LaunchTemplate, "create_version")
def create_version(original, self, data, description):
    specifications = [
        specification
        for specification in data.get("TagSpecifications", [])
        if specification.get("ResourceType") != "launch-template"
    ]
    if "TagSpecifications" in data:
        data["TagSpecifications"] = specifications
    return original(self, data, description)
