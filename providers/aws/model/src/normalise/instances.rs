//! Launch templates.

use super::{Attributes, form};

pub(super) fn launch_template(attributes: &mut Attributes) {
    form::blocks_by(attributes, "block_device_mappings", "device_name");
    form::blocks_by(attributes, "network_interfaces", "device_index");
    form::blocks_by(attributes, "tag_specifications", "resource_type");
    form::each_block(attributes, "block_device_mappings", |mapping| {
        form::each_block(mapping, "ebs", |volume| form::small(volume, &["volume_type"]));
    });
}
