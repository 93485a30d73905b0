//! The number of calls in a cluster's life, for two shapes with known numbers of another tool. kOps 1.37
//! creates the first with 220 calls, reads it with 128 and deletes it with 92; the second needs 461, 259 and
//! 147.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use serde_json::Value as Json;

use crate::world::{HIGHLY_AVAILABLE, MINIMAL, World};

/// The most calls that each part of a life may need.
struct Budget {
    create: usize,
    nothing: usize,
    delete: usize,
}

fn lives_within(spec: &str, budget: &Budget) -> Result<()> {
    let world = World::new()?.without_hurry();
    world.spec(spec)?;
    let within = |what: &str, most: usize| -> Result<()> {
        let (count, calls) = world.calls();
        let lines = calls.iter().map(|(count, call)| format!("  {count} {}:{}", call.service, call.action));
        let lines = lines.collect::<Vec<_>>().join("\n");
        eprintln!("{what}: {count} calls\n{lines}");
        ensure!(count <= most, "{what} takes {count} calls, {most} at the most:\n{lines}");
        Ok(())
    };
    world.disturbance.take();
    world.apply()?;
    within("create", budget.create)?;
    world.is_settled()?;
    within("a plan of nothing", budget.nothing)?;
    goes_along(&world)?;
    world.disturbance.take();
    world.delete()?;
    within("delete", budget.delete)?;
    world.is_empty()
}

/// The plan of a deletion includes objects that need no call, and names the object with which each is
/// removed.
fn goes_along(world: &World) -> Result<()> {
    let arguments = ["delete", "-f", "spec.yaml", "--delete-backups", "--dry-run", "-o", "json"];
    let plan: Json = serde_json::from_str(&world.expect(2, &arguments)?.out)?;
    let list = |name: &str| plan[name].as_array().cloned().unwrap_or_default();
    let deleted = |address: &Json| {
        let changes = list("resource_changes");
        changes.iter().any(|change| {
            change["address"] == *address && change["change"]["actions"] == serde_json::json!(["delete"])
        })
    };
    let mut kinds = BTreeSet::new();
    for step in list("steps").iter().filter(|step| step["with"].is_string()) {
        ensure!(deleted(&step["address"]) && deleted(&step["with"]), "{step} is not shown as a deletion");
        kinds.extend(
            step["address"].as_str().and_then(|address| address.split('.').next()).map(str::to_owned),
        );
    }
    let along = [
        "aws_autoscaling_lifecycle_hook",
        "aws_route",
        "aws_security_group_rule",
        "aws_vpc_dhcp_options_association",
    ];
    ensure!(along.iter().all(|kind| kinds.contains(*kind)), "what goes along: {kinds:?}");
    Ok(())
}

pub fn minimal() -> Result<()> {
    lives_within(MINIMAL, &Budget { create: 106, nothing: 30, delete: 88 })
}

pub fn highly_available() -> Result<()> {
    lives_within(HIGHLY_AVAILABLE, &Budget { create: 220, nothing: 48, delete: 147 })
}
