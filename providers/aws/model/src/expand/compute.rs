//! The pools' machines: launch templates and auto-scaling groups.

mod devices;
mod group;
mod instance_types;
mod market;
mod template;

use slipway_cluster_input::NodePool;
use slipway_resource::ProviderError;

use super::build::{Builder, address, id_of};
use super::refuse;
use super::topology::is_public;
use crate::names;

pub(super) mod tags;

pub(super) use instance_types::has_nvidia;

/// Launch template, auto-scaling group and warm pool of every pool.
pub(super) fn pools(builder: &mut Builder<'_>) -> Result<(), ProviderError> {
    for pool in &builder.cluster.pools {
        if pool.hosts.is_some() {
            let field = format!("pools[{}].hosts", pool.name);
            builder.note(field, "provider aws makes machines of its own in place of hosts that exist");
        }
        if !is_group(builder, pool) {
            continue;
        }
        if pool.subnets.iter().all(|name| builder.cluster.subnet(name).is_none()) {
            return Err(refuse(
                &format!("pools[{}].subnets", pool.name),
                "a pool lives in at least one subnet",
                "name one of the network's subnets",
            ));
        }
        let template = template::launch_template(builder, pool)?;
        group::auto_scaling_group(builder, pool, &template)?;
        warm_pool_hook(builder, pool);
    }
    Ok(())
}

/// Whether a pool is an auto-scaling group. Karpenter makes the machines of its pools itself.
pub(super) fn is_group(builder: &Builder<'_>, pool: &NodePool) -> bool {
    builder.pool_settings(pool).manager.as_deref() != Some("Karpenter")
}

/// The hook that holds a new machine until it is prepared to wait in the warm pool.
fn warm_pool_hook(builder: &mut Builder<'_>, pool: &NodePool) {
    if !pool.warm_pool.is_some_and(|warm_pool| warm_pool.lifecycle_hook) {
        return;
    }
    let name = "kops-warmpool";
    let field = format!("pools[{}].warmPool.lifecycleHook", pool.name);
    let seconds = builder.pool_settings(pool).warm_pool.lifecycle_hook_timeout.unwrap_or(600);
    let group = address("aws_autoscaling_group", &names::group(pool, &builder.cluster.name));
    let hook = builder
        .draft("aws_autoscaling_lifecycle_hook", &format!("{name}-{}", pool.name), field)
        .fix("name", name)
        .fix("autoscaling_group_name", id_of(&group))
        .fix("lifecycle_transition", "autoscaling:EC2_INSTANCE_LAUNCHING")
        .fix("default_result", "ABANDON")
        .set("heartbeat_timeout", seconds, format!("pools[{}].providerConfig.warmPool", pool.name));
    builder.add(hook);
}

/// Whether a pool's machines get public addresses: only where their first subnet has a way to them.
fn has_public_address(builder: &Builder<'_>, pool: &NodePool) -> bool {
    let first = pool.subnets.iter().find_map(|name| builder.cluster.subnet(name));
    pool.public_ip && first.is_some_and(is_public)
}

/// The seconds of a span written as `48h20m`; `None` for anything else.
fn seconds(text: &str) -> Option<i64> {
    if text == "0" {
        return Some(0);
    }
    let mut rest = text;
    let mut total = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, tail) = rest.split_at(end);
        let units = [("h", 3600.0), ("ms", 0.001), ("m", 60.0), ("s", 1.0), ("d", 86_400.0)];
        let (unit, size) = units.iter().find(|(unit, _)| tail.starts_with(unit))?;
        total += number.parse::<f64>().ok()? * size;
        rest = tail.strip_prefix(unit)?;
    }
    let whole = format!("{total:.0}");
    (!text.is_empty()).then(|| whole.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_spans() {
        for (text, expected) in
            [("48h20m", 174_000), ("72h0m0s", 259_200), ("1.5h", 5_400), ("10m", 600), ("90s", 90), ("0", 0)]
        {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in ["", "48", "h", "-1h", "one"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
