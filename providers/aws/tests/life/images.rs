//! Images by the path of a parameter, as pools have them that name none.

use anyhow::{Result, ensure};

use crate::world::{APPLY, World};

/// The image that Canonical publishes under the path of the default image, in the tests' moto.
const PUBLISHED: &str = "ami-785db401";

/// Pools without an image get the published one; a missing parameter is reported before the first change.
pub fn by_parameter() -> Result<()> {
    let world = World::new()?;
    let named = ("image: ami-1e749f67, ", "");
    let missing = ("\n  image: ami-1e749f67", "\n  image: ssm:/nobody/has/published/this");
    world.public(&[named, missing])?;
    let ended = world.expect(1, APPLY)?;
    let told = format!("{}{}", ended.out, ended.err);
    ensure!(told.contains("ssm:/nobody/has/published/this"), "the image is not named: {told}");
    ensure!(world.cloud.objects()? == world.before, "something was made");

    world.public(&[named, ("\n  image: ami-1e749f67", "")])?;
    world.apply()?;
    world.is_settled()?;
    let objects = world.cloud.objects()?;
    let machines: Vec<&str> = objects
        .iter()
        .filter(|object| object.kind == "instance")
        .map(|object| object.name.as_str())
        .collect();
    ensure!(machines.len() == 3 && machines.iter().all(|name| name.ends_with(PUBLISHED)), "{machines:?}");
    world.delete()?;
    world.is_empty()
}
