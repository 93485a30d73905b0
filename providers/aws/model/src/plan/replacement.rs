//! Changes that need a new object although the attribute may change, and changes that are refused.

use slipway_resource::{Path, ProviderError, Value};

use super::invalid;

/// Attributes whose change needs a new object, beside those that are immutable.
pub(super) fn paths(kind: &str, observed: &Value, wanted: &Value) -> Vec<Path> {
    if kind != "aws_lb" {
        return Vec::new();
    }
    let mut paths = Vec::new();
    if leaves_subnet(observed, wanted) {
        paths.push(Path::key("subnet_mapping"));
    }
    let has_groups = |value: &Value| {
        value.get("security_groups").and_then(Value::as_list).is_some_and(|groups| !groups.is_empty())
    };
    let known = wanted.get("security_groups").is_none_or(|groups| groups.as_list().is_some());
    // A network load balancer has security groups from its beginning or never, and keeps at least one.
    if known && has_groups(observed) != has_groups(wanted) {
        paths.push(Path::key("security_groups"));
    }
    paths
}

/// Whether a load balancer would leave a subnet, or have another address in one: it can only add subnets.
fn leaves_subnet(observed: &Value, wanted: &Value) -> bool {
    let mappings = |value: &Value| -> Vec<Value> {
        value.get("subnet_mapping").and_then(Value::as_list).map(<[Value]>::to_vec).unwrap_or_default()
    };
    let after = mappings(wanted);
    mappings(observed).iter().any(|before| {
        let stays = after.iter().find(|after| after.get("subnet_id") == before.get("subnet_id"));
        stays.is_none_or(|after| {
            ["allocation_id", "private_ipv4_address"].iter().any(|name| after.get(name) != before.get(name))
        })
    })
}

/// Refuses changes that AWS does not support and that a replacement would not make either.
pub(super) fn refuse(kind: &str, observed: &Value, wanted: &Value) -> Result<(), ProviderError> {
    let size = |value: &Value| value.get("size").and_then(Value::as_integer);
    let zone = |value: &Value| value.get("availability_zone").cloned();
    if kind == "aws_ebs_volume"
        && let (Some(before), Some(after)) = (size(observed), size(wanted))
        && after < before
        && zone(observed) == zone(wanted)
    {
        return Err(invalid(format!("a volume of {before} GiB cannot shrink to {after} GiB"))
            .with_hint(format!("write {before} GiB as its size into the spec")));
    }
    Ok(())
}
