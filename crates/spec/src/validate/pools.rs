use super::context::{Context, error, warning};
use crate::{
    diagnostic::code::{CONTRADICTION, MACHINES, POOL_SIZE},
    model::{NodePool, Role, Size},
};

/// Pools have a size and machines that can work.
pub(super) fn check(context: &mut Context<'_>) {
    let cluster = context.cluster;
    for pool in &cluster.pools {
        let path = format!("pools[{}]", pool.name);
        size(context, pool, &path);
        machines(context, pool, &path);
        spot(context, pool, &path);
        volumes(context, pool, &path);
        hosts(context, pool, &path);
    }
}

fn size(context: &mut Context<'_>, pool: &NodePool, path: &str) {
    let name = &pool.name;
    if let Size::Bounds { min, max } = pool.size
        && min > max
    {
        let complaint = error(
            POOL_SIZE,
            format!("the pool `{name}` has at least {min} and at most {max} nodes"),
            format!("exchange them: the minimum is {max}, and the maximum {min}"),
        );
        context.at(&format!("{path}.size.bounds"), complaint);
    }
    if let Some(warm) = pool.warm_pool {
        if warm.max_size.is_some_and(|max| max < warm.min_size) {
            let complaint = error(
                POOL_SIZE,
                format!("the warm pool of `{name}` has a `minSize` of {} above its `maxSize`", warm.min_size),
                "write a `maxSize` that is at least the `minSize`",
            );
            context.at(&format!("{path}.warmPool"), complaint);
        }
        if pool.spot.is_some() {
            let complaint = error(
                CONTRADICTION,
                format!("the pool `{name}` keeps a warm pool of spot machines, which clouds do not stop"),
                "remove `warmPool`, or `spot`",
            );
            context.at_key(&format!("{path}.warmPool"), complaint);
        }
    }
}

fn machines(context: &mut Context<'_>, pool: &NodePool, path: &str) {
    let name = &pool.name;
    let made = pool.hosts.is_none() && !context.cluster.zones.is_empty();
    if made && pool.machine_type.is_none() && pool.mixed_instances.is_none() {
        let complaint = error(
            MACHINES,
            format!("the pool `{name}` says nothing about its machines"),
            "add `machineType`, or `hosts` when the machines exist already",
        );
        // The field may be there under a wrong name, which has been reported.
        if context.trusts(&format!("{path}.machineType")) {
            context.at(&format!("{path}.machineType"), complaint);
        }
    }
    if let Some(mixed) = &pool.mixed_instances {
        let place = format!("{path}.mixedInstances");
        if mixed.machine_types.is_empty() {
            let complaint = error(
                MACHINES,
                format!("the pool `{name}` mixes no kinds of machine"),
                "list at least one in `machineTypes`, or remove `mixedInstances`",
            );
            context.at_key(&format!("{place}.machineTypes"), complaint);
        }
        if mixed.on_demand_base > pool.size.max() {
            let complaint = warning(
                MACHINES,
                format!(
                    "the pool `{name}` has {} machines on demand before any spot one, and never more than {}",
                    mixed.on_demand_base,
                    pool.size.max()
                ),
                "write an `onDemandBase` below the size, or remove `mixedInstances`",
            );
            context.at(&format!("{place}.onDemandBase"), complaint);
        }
        if mixed.spot_pools.is_some() && mixed.on_demand_percentage_above_base == 100 && pool.spot.is_none() {
            let complaint = warning(
                MACHINES,
                format!("the pool `{name}` spreads spot machines, and all of its machines are on demand"),
                "write an `onDemandPercentageAboveBase` below 100, or remove `spotPools`",
            );
            context.at(&format!("{place}.spotPools"), complaint);
        }
    }
}

fn spot(context: &mut Context<'_>, pool: &NodePool, path: &str) {
    let name = &pool.name;
    let mixed_spot =
        pool.mixed_instances.as_ref().is_some_and(|mixed| mixed.on_demand_percentage_above_base < 100);
    if pool.role == Role::ControlPlane && (pool.spot.is_some() || mixed_spot) {
        let place = if pool.spot.is_some() { "spot" } else { "mixedInstances.onDemandPercentageAboveBase" };
        let complaint = warning(
            MACHINES,
            format!(
                "the control-plane pool `{name}` runs on spot machines: the cloud may take etcd members at any time"
            ),
            "remove `spot`; use spot machines for workers",
        );
        context.at_key(&format!("{path}.{place}"), complaint);
    }
    let price = pool.spot.as_ref().and_then(|spot| spot.max_price.as_deref());
    if let Some(price) = price
        && !price.parse::<f64>().is_ok_and(|price| price.is_finite() && price > 0.0)
    {
        let digits: String =
            price.chars().filter(|letter| letter.is_ascii_digit() || *letter == '.').collect();
        let complaint = error(
            MACHINES,
            format!("the highest price `{price}` is not a price per hour"),
            format!(
                "write a decimal number without a currency, as in \"{}\"",
                if digits.is_empty() { "0.25" } else { &digits }
            ),
        );
        context.at(&format!("{path}.spot.maxPrice"), complaint);
    }
}

fn volumes(context: &mut Context<'_>, pool: &NodePool, path: &str) {
    for (index, volume) in pool.volumes.iter().enumerate() {
        let place = format!("{path}.volumes[{index}]");
        if volume.device.is_none() {
            let complaint = error(
                CONTRADICTION,
                format!("a further disk of the pool `{}` has no device name", pool.name),
                "add `device: /dev/xvdb`, or another name that the image knows",
            );
            context.at(&place, complaint);
        }
        if volume.mount_path.as_ref().is_some_and(|mount| !mount.starts_with('/')) {
            let complaint = error(
                CONTRADICTION,
                "a mount path is not absolute",
                "begin it with `/`, as in /var/lib/data",
            );
            context.at(&format!("{place}.mountPath"), complaint);
        }
    }
    let all =
        pool.volumes.iter().enumerate().map(|(index, volume)| (format!("{path}.volumes[{index}]"), volume));
    let all: Vec<_> = all.chain([(format!("{path}.rootVolume"), &pool.root_volume)]).collect();
    for (place, volume) in all {
        if !volume.encrypted && volume.key.is_some() {
            let complaint = error(
                CONTRADICTION,
                format!("a disk of the pool `{}` has a key, and is not encrypted", pool.name),
                "write `encrypted: true`, or remove `key`",
            );
            context.at(&format!("{place}.key"), complaint);
        }
    }
}

fn hosts(context: &mut Context<'_>, pool: &NodePool, path: &str) {
    let Some(hosts) = &pool.hosts else { return };
    let name = &pool.name;
    let place = format!("{path}.hosts");
    if hosts.inventory.is_none() && hosts.addresses.is_empty() {
        let complaint = error(
            MACHINES,
            format!("the pool `{name}` names no hosts"),
            "list them in `addresses`, or name an `inventory`",
        );
        context.at_key(&place, complaint);
    }
    if hosts.inventory.is_none() && !hosts.match_labels.is_empty() {
        let complaint = error(
            CONTRADICTION,
            format!("the pool `{name}` selects hosts by labels, and names no inventory to select from"),
            "add `inventory`, or list the hosts in `addresses`",
        );
        context.at_key(&format!("{place}.matchLabels"), complaint);
    }
    let listed = u32::try_from(hosts.addresses.len()).unwrap_or(u32::MAX);
    if hosts.inventory.is_none() && listed > 0 && pool.size.min() > listed {
        let complaint = error(
            POOL_SIZE,
            format!("the pool `{name}` has a size of {}, and lists {listed} hosts", pool.size.min()),
            "list more hosts, or leave `size` out to take all of them",
        )
        .related("the hosts", format!("{place}.addresses"));
        context.at(&format!("{path}.size.fixed"), complaint);
    }
    if pool.machine_type.is_some() {
        let complaint = error(
            CONTRADICTION,
            format!("the pool `{name}` consists of hosts that exist, and asks for a kind of machine"),
            "remove `machineType`, or `hosts`",
        );
        context.at_key(&format!("{path}.machineType"), complaint);
    }
}
