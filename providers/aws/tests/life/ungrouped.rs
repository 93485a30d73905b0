//! Instances that belong to no auto-scaling group: a roll took them out of their group, and did not end.

use anyhow::{Context as _, Result, ensure};

use crate::cloud::Object;
use crate::world::{APPLY, PLAN, World};

const DELETION: &[&str] = &["delete", "-f", "spec.yaml", "--delete-backups", "--dry-run"];
const GROUP: &str = "workers.minimal.example.com";
/// Workers with another image.
const ROLL: (&str, &str) = ("t3.medium\n  image: ami-1e749f67", "t3.medium\n  image: ami-760aaa0f");

/// The plan names such an instance, also where its group is gone. Both `apply` and `delete` end it.
pub fn an_instance_is_named_and_deleted() -> Result<()> {
    let mut world = World::new()?;
    world.public(&[])?;
    world.apply()?;
    world.public(&[ROLL])?;
    world.disturbance.forbid(&["TerminateInstances"]);
    world.expect(1, APPLY)?;
    world.disturbance.forbid(&[]);
    let id = ungrouped(&world)?.context("no instance has left its group")?.id;
    is_named(&world, &id, PLAN).context("with its group")?;

    let form = format!(
        "Version=2011-01-01&Action=DeleteAutoScalingGroup&ForceDelete=true&AutoScalingGroupName={GROUP}"
    );
    world.cloud.ask("autoscaling", &form)?;
    ensure!(ungrouped(&world)?.is_some(), "the instance has ended with its group");
    is_named(&world, &id, PLAN).context("without its group")?;
    is_named(&world, &id, DELETION)?;
    let changes = world.plan()?;
    ensure!(changes.get(&format!("aws_instance.{id}")).is_some_and(|what| what == "delete"), "{changes:#?}");

    world.keep()?;
    world.apply()?;
    ensure!(ungrouped(&world)?.is_none(), "it was not ended");
    world.is_settled()?;
    world.restore()?;
    world.delete()?;
    world.is_empty()
}

/// The instance that runs in no group; its name begins with a space.
fn ungrouped(world: &World) -> Result<Option<Object>> {
    let mut objects = world.cloud.objects()?.into_iter();
    Ok(objects.find(|object| object.kind == "instance" && object.name.starts_with(' ')))
}

/// Sees that a plan names an instance.
fn is_named(world: &World, id: &str, arguments: &[&str]) -> Result<()> {
    let shown = world.expect(2, arguments)?.out;
    ensure!(shown.contains(id), "{arguments:?} does not name {id}:\n{shown}");
    Ok(())
}
