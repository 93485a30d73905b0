//! A cloud that does not show everything as it was set.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use crate::cloud::{Cloud, Object};
use crate::world::{APPLY, MINIMAL, World};

/// An attribute that is accepted and not shown is reported once, and is not changed again and again.
pub fn what_is_not_shown_is_left() -> Result<()> {
    let world = World::on(Arc::new(Cloud::forgetful()?))?;
    world.spec(MINIMAL)?;
    world.disturbance.take();
    let ended = world.expect(0, APPLY)?;
    let told = "does not show private_dns_hostname_type_on_launch as set: left as found";
    ensure!(ended.err.contains(told) || ended.out.contains(told), "not told: {}{}", ended.out, ended.err);
    // Attributes that are absent from the spec are not waited for: the hooks of each of the two groups are
    // read once.
    let (_, calls) = world.calls();
    let hooks = calls.iter().filter(|(_, call)| call.action == "DescribeLifecycleHooks");
    let looks: usize = hooks.map(|(count, _)| count).sum();
    ensure!(looks <= 4, "hooks were looked at {looks} times");
    let left = world.plan()?;
    ensure!(left.is_empty(), "planned again: {left:?}");
    world.delete().map(drop)
}

/// An instance that left its group in a roll that was stopped is deleted with the cluster, also on this cloud: it never
/// shows an instance of the new version, so that the roll waits for one.
pub fn what_left_its_group_is_deleted() -> Result<()> {
    let world = World::on(Arc::new(Cloud::forgetful()?))?;
    world.public(&[])?;
    world.expect(0, APPLY)?;
    world.public(&[("t3.medium\n  image: ami-1e749f67", "t3.medium\n  image: ami-760aaa0f")])?;
    let mut roll = world.place().command(APPLY).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let left = until(|| Ok(running(&world)?.iter().any(|object| object.name.starts_with(' '))));
    // The first signal lets the running steps end, and the one that waits for an instance does so for up to an hour.
    let signal = || Command::new("kill").args(["-INT", &roll.id().to_string()]).status();
    let stopped = signal();
    std::thread::sleep(Duration::from_millis(500));
    let at_once = signal();
    let ended = ends_soon(&mut roll);
    ensure!(left? && stopped?.success() && at_once?.success(), "no instance left its group");
    ensure!(!ended?.success(), "the roll was not stopped");
    world.delete()?;
    let left = running(&world)?;
    ensure!(left.is_empty(), "left: {left:?}");
    Ok(())
}

/// The end of a program that was told to stop at once.
fn ends_soon(program: &mut Child) -> Result<ExitStatus> {
    for _ in 0..200 {
        if let Some(ended) = program.try_wait()? {
            return Ok(ended);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    program.kill()?;
    program.wait()?;
    bail!("it went on after two signals")
}

/// The instances that run; one without a group has a name that begins with a space.
fn running(world: &World) -> Result<Vec<Object>> {
    let objects = world.cloud.objects()?.into_iter();
    Ok(objects.filter(|object| object.kind == "instance").collect())
}

/// Whether a condition becomes true within a minute.
fn until(comes: impl Fn() -> Result<bool>) -> Result<bool> {
    for _ in 0..600 {
        if comes()? {
            return Ok(true);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(false)
}
