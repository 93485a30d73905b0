//! A zone without capacity, as in an outage: its instances are gone, and groups launch none there.

use anyhow::{Result, ensure};

use crate::changes::SECOND_ZONE;
use crate::cloud::machines;
use crate::world::{APPLY, PLAN, World};

const ZONE: &str = "us-east-1b";
const GROUP: &str = "workers.minimal.example.com";
const ADDRESS: &str = "aws_autoscaling_group.workers-minimal-example-com";
/// The edits of the spec that make the zone a zone of the cluster.
const ZONES: (&str, &str) = ("zones: [us-east-1a]", "zones: [us-east-1a, us-east-1b]");
const SUBNETS: (&str, &str) = ("kind: public, cidr: 172.20.32.0/19 }", SECOND_ZONE);

/// The plan says that a group lacks its instances, and has no step: the cloud launches them when the zone is back. If the spec moves the
/// group to another zone, it has them before that.
pub fn a_zone_without_capacity_is_named_and_left() -> Result<()> {
    let world = World::new()?;
    let workers_in = |subnet: &str| {
        let workers = format!("subnets: [{subnet}]");
        world.public(&[ZONES, SUBNETS, ("subnets: [a] # workers", workers.as_str())])
    };
    workers_in("b")?;
    world.apply()?;
    world.is_settled()?;
    is_gone(&world)?;
    lacks_its_instances(&world)?;
    world.expect(0, APPLY)?;
    lacks_its_instances(&world)?;
    world.cloud.is_without(None)?;
    has_its_instances(&world)?;

    is_gone(&world)?;
    lacks_its_instances(&world)?;
    workers_in("a")?;
    let changes = world.plan()?;
    let found: Vec<(&str, &str)> = changes.iter().map(|(a, what)| (a.as_str(), what.as_str())).collect();
    ensure!(found == [(ADDRESS, "update vpc_zone_identifier")], "{found:?}");
    world.apply()?;
    has_its_instances(&world)?;

    // A group over several zones launches its instances in the others.
    workers_in("a, b")?;
    world.apply()?;
    is_gone(&world)?;
    has_its_instances(&world)?;
    world.delete()?;
    world.is_empty()
}

/// Ends the workers while their zone has no capacity.
fn is_gone(world: &World) -> Result<()> {
    world.cloud.is_without(Some(ZONE))?;
    let objects = world.cloud.objects()?;
    let workers = objects.iter().filter(|object| object.kind == "instance" && object.name.starts_with(GROUP));
    let ids: Vec<String> =
        workers.zip(1..).map(|(object, number)| format!("&InstanceId.{number}={}", object.id)).collect();
    let form = format!("Version=2016-11-15&Action=TerminateInstances{}", ids.concat());
    world.cloud.ask("ec2", &form).map(drop)
}

/// Sees that the group has no instance, that the plan says so, and that it has no step.
fn lacks_its_instances(world: &World) -> Result<()> {
    ensure!(!machines(&world.cloud.objects()?).contains_key(GROUP), "the group has instances");
    // The text of a plan is wrapped.
    let shown = world.expect(0, PLAN)?.out.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(shown.contains("none of its 2 machines exists"), "{shown}");
    Ok(())
}

/// Sees that the group has its instances, and that the plan is empty and says nothing about them.
fn has_its_instances(world: &World) -> Result<()> {
    let machines = machines(&world.cloud.objects()?);
    ensure!(machines.get(GROUP) == Some(&2), "{machines:?}");
    let shown = world.expect(0, PLAN)?.out;
    ensure!(!shown.contains("none of its 2 machines exists"), "{shown}");
    Ok(())
}
