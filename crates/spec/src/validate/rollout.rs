use super::context::{Context, error, warning};
use crate::{
    diagnostic::code::ROLLOUT,
    model::{Role, Size},
};

/// Every rollout can make progress, and does not take more than there is.
pub(super) fn check(context: &mut Context<'_>) {
    for pool in &context.cluster.pools {
        let (name, rollout) = (&pool.name, &pool.rollout);
        let own = format!("pools[{name}].rollout");
        if rollout.max_surge.is_zero() && rollout.max_unavailable.is_zero() {
            let complaint = error(
                ROLLOUT,
                format!(
                    "the pool `{name}` may neither add a node nor miss one, so none can ever be replaced"
                ),
                "write a `maxSurge` or a `maxUnavailable` of at least 1",
            );
            let place =
                if context.is_written(&own) { format!("{own}.maxUnavailable") } else { "rollout".to_owned() };
            context.at(&place, complaint);
        }
        if pool.hosts.is_some() && !rollout.max_surge.is_zero() {
            let complaint = error(
                ROLLOUT,
                format!(
                    "the pool `{name}` consists of hosts that exist, and cannot add {} for a rollout",
                    rollout.max_surge
                ),
                "write `maxSurge: 0` and a `maxUnavailable` of at least 1",
            );
            context.at(&format!("{own}.maxSurge"), complaint);
        }
        if let (Role::ControlPlane, Size::Fixed(nodes @ 3..)) = (pool.role, pool.size) {
            let missing = rollout.max_unavailable.of_rounded_down(nodes);
            if missing > (nodes - 1) / 2 {
                let complaint = error(
                    ROLLOUT,
                    format!(
                        "the rollout of `{name}` may take {missing} of {nodes} control-plane nodes at once, and etcd loses its majority"
                    ),
                    "write `maxUnavailable: 1`",
                );
                context.at(&format!("{own}.maxUnavailable"), complaint);
            }
        }
        if rollout.drain.enabled && rollout.drain.timeout.is_zero() {
            let complaint = error(
                ROLLOUT,
                format!("the pool `{name}` empties nodes in no time at all"),
                "write a `timeout` above zero, as in 15m, or `enabled: false`",
            );
            context.at(&format!("{own}.drain.timeout"), complaint);
        }
        if rollout.ready_timeout.is_zero() {
            let complaint = error(
                ROLLOUT,
                format!("new nodes of the pool `{name}` must be ready in no time at all"),
                "write a `readyTimeout` above zero, as in 15m",
            );
            context.at(&format!("{own}.readyTimeout"), complaint);
        }
        if !rollout.drain.enabled && context.is_written(&format!("{own}.drain.timeout")) {
            let complaint = warning(
                ROLLOUT,
                format!("the pool `{name}` does not empty nodes, so its drain timeout has no effect"),
                "remove `timeout`, or write `enabled: true`",
            );
            context.at_key(&format!("{own}.drain.timeout"), complaint);
        }
    }
}
