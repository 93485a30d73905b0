//! Load balancers, listeners, target groups.

use slipway_resource::Value;

use super::{Attributes, form};

/// A switch that is off is the same as none: so it is for access logs and for stickiness.
fn drop_disabled(attributes: &mut Attributes, name: &str) {
    if let Some(Value::List(items)) = attributes.get_mut(name) {
        items.retain(|item| item.get("enabled").and_then(Value::as_bool) != Some(false));
    }
}

pub(super) fn load_balancer(attributes: &mut Attributes) {
    form::small(attributes, &["load_balancer_type", "ip_address_type"]);
    form::each_block(attributes, "access_logs", |logs| {
        logs.entry("enabled".to_owned()).or_insert(Value::Bool(false));
    });
    drop_disabled(attributes, "access_logs");
}

pub(super) fn listener(attributes: &mut Attributes) {
    form::capital(attributes, &["protocol"]);
}

pub(super) fn target_group(attributes: &mut Attributes) {
    form::capital(attributes, &["protocol"]);
    form::small(attributes, &["target_type", "ip_address_type", "preserve_client_ip"]);
    form::each_block(attributes, "health_check", |check| form::capital(check, &["protocol"]));
    drop_disabled(attributes, "stickiness");
}
