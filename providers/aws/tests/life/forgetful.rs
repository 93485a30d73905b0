//! A cloud that does not show everything as it was set.

use std::sync::Arc;

use anyhow::{Result, ensure};

use crate::cloud::Cloud;
use crate::world::{MINIMAL, World};

/// What it takes and does not show is told once, and is no reason to change it again and again.
pub fn what_is_not_shown_is_left() -> Result<()> {
    let world = World::on(Arc::new(Cloud::forgetful()?))?;
    world.spec(MINIMAL)?;
    let ended = world.expect(0, &["apply", "-f", "spec.yaml", "--yes"])?;
    let told = "does not show private_dns_hostname_type_on_launch as set: left as found";
    ensure!(ended.err.contains(told) || ended.out.contains(told), "not told: {}{}", ended.out, ended.err);
    let left = world.plan()?;
    ensure!(left.is_empty(), "planned again: {left:?}");
    world.delete().map(drop)
}
