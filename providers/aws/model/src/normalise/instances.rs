//! Launch templates.

use super::{Attributes, form};
use crate::plan::boot;
use crate::plan::etcd::{ETCD_DATA, EtcdData};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use slipway_resource::Value;

/// User data in base64. A text that is not base64 is taken as plain: the expansion leaves it so if it refers
/// to an object that is created later, such as a load balancer.
#[must_use]
pub fn user_data(given: &str) -> String {
    if STANDARD.decode(given).is_ok() { given.to_owned() } else { STANDARD.encode(given) }
}

pub(super) fn launch_template(attributes: &mut Attributes) {
    if let Some(Value::String(text)) = attributes.get_mut("user_data") {
        *text = user_data(text);
    }
    // So that a plan shows a change of the version, also where nothing is known but what exists.
    if let Some(version) = attributes.get("user_data").and_then(boot::version) {
        attributes.insert("kubernetes_version".to_owned(), version.into());
    }
    // Groups of control planes refer to it, so that a template that exists has it without user data too.
    let etcd_data = match attributes.get("user_data") {
        Some(user_data) if !user_data.is_null() => EtcdData::of_user_data(user_data),
        _ => attributes.contains_key("latest_version").then_some(EtcdData::Elsewhere),
    };
    if let Some(etcd_data) = etcd_data {
        attributes.insert(ETCD_DATA.to_owned(), etcd_data.as_str().into());
    }
    form::blocks_by(attributes, "block_device_mappings", "device_name");
    form::blocks_by(attributes, "network_interfaces", "device_index");
    form::blocks_by(attributes, "tag_specifications", "resource_type");
    // The first position is the usual one.
    form::each_block(attributes, "network_interfaces", |interface| {
        if interface.get("device_index").and_then(Value::as_integer) == Some(0) {
            interface.remove("device_index");
        }
    });
    form::each_block(attributes, "block_device_mappings", |mapping| {
        form::each_block(mapping, "ebs", |volume| form::small(volume, &["volume_type"]));
    });
}
