//! What a cluster's life costs in calls, for the two shapes of which it is known what they cost elsewhere: kOps 1.37 makes
//! the one with 220 calls and looks at it with 128, the other with 461 and 259.

use anyhow::{Result, ensure};

use crate::world::{HIGHLY_AVAILABLE, MINIMAL, World};

/// The most calls that each part of a life may need.
struct Budget {
    create: usize,
    nothing: usize,
    delete: usize,
}

fn lives_within(spec: &str, budget: &Budget) -> Result<()> {
    let world = World::new()?;
    world.spec(spec)?;
    let within = |what: &str, most: usize| -> Result<()> {
        let (count, calls) = world.calls();
        let lines = calls.iter().map(|(count, call)| format!("  {count} {}:{}", call.service, call.action));
        let lines: Vec<String> = lines.collect();
        eprintln!("{what}: {count} calls");
        ensure!(count <= most, "{what} takes {count} calls, {most} at the most:\n{}", lines.join("\n"));
        Ok(())
    };
    world.disturbance.take();
    world.apply()?;
    within("create", budget.create)?;
    world.is_settled()?;
    within("a plan of nothing", budget.nothing)?;
    world.delete()?;
    within("delete", budget.delete)?;
    world.is_empty()
}

pub fn minimal() -> Result<()> {
    lives_within(MINIMAL, &Budget { create: 110, nothing: 35, delete: 140 })
}

pub fn highly_available() -> Result<()> {
    lives_within(HIGHLY_AVAILABLE, &Budget { create: 230, nothing: 50, delete: 300 })
}
