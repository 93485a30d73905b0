//! A cloud that does not show everything as it was set.

use std::sync::Arc;

use anyhow::{Result, ensure};

use crate::cloud::Cloud;
use crate::world::{APPLY, MINIMAL, World};

/// What it takes and does not show is told once, and is no reason to change it again and again.
pub fn what_is_not_shown_is_left() -> Result<()> {
    let world = World::on(Arc::new(Cloud::forgetful()?))?;
    world.spec(MINIMAL)?;
    world.disturbance.take();
    let ended = world.expect(0, APPLY)?;
    let told = "does not show private_dns_hostname_type_on_launch as set: left as found";
    ensure!(ended.err.contains(told) || ended.out.contains(told), "not told: {}{}", ended.out, ended.err);
    // What was never asked for is not waited for: each of the two groups is asked once for its hooks.
    let (_, calls) = world.calls();
    let hooks = calls.iter().filter(|(_, call)| call.action == "DescribeLifecycleHooks");
    let looks: usize = hooks.map(|(count, _)| count).sum();
    ensure!(looks <= 4, "hooks were looked at {looks} times");
    let left = world.plan()?;
    ensure!(left.is_empty(), "planned again: {left:?}");
    world.delete().map(drop)
}
