//! Auto-scaling groups.

use slipway_resource::Value;

use super::{Attributes, form};

pub(super) fn group(attributes: &mut Attributes) {
    form::blocks_by(attributes, "tag", "key");
    // A policy that lets no instance back into the pool is none.
    form::each_block(attributes, "warm_pool", |pool| {
        let policy = pool.get("instance_reuse_policy").and_then(Value::as_list).and_then(<[Value]>::first);
        if policy.is_some_and(|policy| policy.get("reuse_on_scale_in").and_then(Value::as_bool) != Some(true))
        {
            pool.remove("instance_reuse_policy");
        }
    });
}
