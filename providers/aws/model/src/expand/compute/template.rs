//! A pool's launch template.

use slipway_cluster_input::NodePool;
use slipway_resource::{Address, ProviderError, Value};

use super::tags::pool_tags;
use super::{devices, has_public_address, market};
use crate::expand::build::Builder;
use crate::expand::links::pool_security_groups;
use crate::expand::topology::has_ipv6_range;
use crate::expand::{iam, key_pair, node_settings, refuse, user_data};
use crate::names;
use crate::tags::NODE_TEMPLATE_LABEL;

/// The objects that get the tags, beside the template itself.
const TAGGED: [&str; 3] = ["instance", "volume", "network-interface"];

/// The launch template of a pool.
pub(super) fn launch_template(builder: &mut Builder<'_>, pool: &NodePool) -> Result<Address, ProviderError> {
    let name = names::group(pool, &builder.cluster.name);
    let field = |name: &str| format!("pools[{}].{name}", pool.name);
    let own = |name: &str| format!("pools[{}].providerConfig.{name}", pool.name);
    let settings = builder.pool_settings(pool);
    let mut tags = pool_tags(builder, pool);
    if node_settings::is_in_place(builder, pool) {
        // A version of the template replaces machines. The group has these tags, too, from which autoscalers read them.
        tags.retain(|name, _| !name.starts_with(NODE_TEMPLATE_LABEL));
    }
    let specifications = TAGGED
        .map(|kind| Value::map([("resource_type", Value::from(kind)), ("tags", Value::from(tags.clone()))]));
    let profile = block([("name", iam::pool_profile(builder, pool))]);
    let user_data = user_data::of_pool(builder, pool)?;
    let draft = builder
        .draft("aws_launch_template", &name, field("name"))
        .fix("name", name.as_str())
        .set("image_id", image(builder, pool), field("image"))
        .set("instance_type", machine_type(pool)?, field("machineType"))
        .set("key_name", key_pair::key_name(builder)?, "ssh.keys")
        .set("iam_instance_profile", profile, own("iam.profile"))
        .set(
            "monitoring",
            block([("enabled", Value::from(settings.detailed_instance_monitoring))]),
            own("detailedInstanceMonitoring"),
        )
        .set("metadata_options", metadata(builder, pool), own("instanceMetadata"))
        .set("network_interfaces", interfaces(builder, pool), field("subnets"))
        .set("block_device_mappings", devices::mappings(builder, pool)?, field("rootVolume"))
        .set("ebs_optimized", settings.root_volume_optimization, own("rootVolumeOptimization"))
        .set(
            "credit_specification",
            settings.cpu_credits.map(|credits| block([("cpu_credits", Value::from(credits))])),
            own("cpuCredits"),
        )
        .set(
            "placement",
            settings.tenancy.map(|tenancy| block([("tenancy", Value::from(tenancy))])),
            own("tenancy"),
        )
        .set("instance_market_options", market::market_options(builder, pool), field("spot"))
        .set("user_data", user_data, field("userData"))
        .set("tag_specifications", Value::list(specifications), field("cloudLabels"))
        .tags(tags);
    Ok(builder.add(draft))
}

fn block<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::List(vec![Value::map(fields)])
}

/// The image's id: the given one, the one that the account knows, or unknown until the account is read.
fn image(builder: &Builder<'_>, pool: &NodePool) -> Value {
    match (pool.image.as_deref(), builder.catalog.image(pool)) {
        (Some(id), _) if id.starts_with("ami-") => id.into(),
        (_, Some(image)) if !image.id.is_empty() => image.id.as_str().into(),
        _ => Value::Unknown,
    }
}

/// The type of machines; the first one, where the spec lists several.
fn machine_type(pool: &NodePool) -> Result<Value, ProviderError> {
    let given = pool.machine_type.as_deref().and_then(|machine| machine.split(',').next());
    let mixed = pool.mixed_instances.as_ref().and_then(|mix| mix.machine_types.first().map(String::as_str));
    match given.or(mixed) {
        Some(machine) => Ok(machine.trim().into()),
        None => Err(refuse(
            &format!("pools[{}].machineType", pool.name),
            "a pool of AWS needs a type of machines",
            "name one, as in m7i.large",
        )),
    }
}

/// Tokens are required, and answers do not leave the machine, unless the spec says otherwise.
fn metadata(builder: &Builder<'_>, pool: &NodePool) -> Value {
    let given = builder.pool_settings(pool).instance_metadata;
    let ipv6 = if has_ipv6_address(builder, pool) { "enabled" } else { "disabled" };
    block([
        ("http_endpoint", "enabled".into()),
        ("http_tokens", given.http_tokens.as_deref().unwrap_or("required").into()),
        ("http_put_response_hop_limit", given.http_put_response_hop_limit.unwrap_or(1).into()),
        ("http_protocol_ipv6", ipv6.into()),
    ])
}

fn interfaces(builder: &Builder<'_>, pool: &NodePool) -> Value {
    block([
        ("associate_public_ip_address", has_public_address(builder, pool).into()),
        ("delete_on_termination", true.into()),
        ("ipv6_address_count", i64::from(has_ipv6_address(builder, pool)).into()),
        ("security_groups", Value::List(pool_security_groups(builder, pool))),
    ])
}

fn has_ipv6_address(builder: &Builder<'_>, pool: &NodePool) -> bool {
    pool.subnets
        .iter()
        .filter_map(|name| builder.cluster.subnet(name))
        .any(|subnet| has_ipv6_range(builder, subnet))
}
