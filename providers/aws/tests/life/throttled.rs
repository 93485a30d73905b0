//! The engine alone sends again what AWS refuses for its pace, and shows each time that it does.

use anyhow::{Context as _, Result, ensure};

use crate::disturbance::Rules;
use crate::world::{PLAN, World};

const REFUSALS: usize = 3;

/// Calls of the parts of a plan: of the catalog, of the discovery, and of the checks before the first change.
const NEW: &[(&str, &str)] = &[
    ("DescribeAvailabilityZones", "could not read its catalog"),
    ("DescribeTags", "could not list what the cluster owns"),
    ("SimulatePrincipalPolicy", "could not check what would stop the plan"),
];
const THERE: &[(&str, &str)] = &[
    ("DescribeAutoScalingGroups", "could not list what the cluster owns"),
    ("DescribeLaunchTemplates", "could not list what the cluster owns"),
];

pub fn the_engine_alone_repeats() -> Result<()> {
    let world = World::new()?;
    world.public(&[])?;
    repeats(&world, 2, NEW)?;
    world.apply()?;
    repeats(&world, 0, THERE)
}

/// A plan with one call refused so often has as many calls of that name more, and shows as many repeats.
fn repeats(world: &World, code: i32, calls: &[(&'static str, &str)]) -> Result<()> {
    for (action, shown) in calls {
        let undisturbed = plan(world, code, action)?;
        ensure!(undisturbed.0 == 1, "{action} is called {} times", undisturbed.0);
        ensure!(!undisturbed.1.contains("trying again"), "{}", undisturbed.1);
        world.disturbance.take_disturbed();
        world.disturbance.set(Rules { slow: Some((action, REFUSALS)), ..Rules::default() });
        let (count, said) = plan(world, code, action).with_context(|| (*action).to_owned())?;
        world.disturbance.set(Rules::default());
        ensure!(count == 1 + REFUSALS, "{action} was sent {count} times:\n{said}");
        let repeats = said.lines().filter(|line| line.contains(shown) && line.contains("trying again"));
        let repeats = repeats.count();
        ensure!(repeats == REFUSALS, "{repeats} repeats of {action} are shown:\n{said}");
    }
    Ok(())
}

/// How often a plan makes a call, and what it says beside the plan.
fn plan(world: &World, code: i32, action: &str) -> Result<(usize, String)> {
    world.disturbance.take();
    let ended = world.expect(code, PLAN)?;
    let calls = world.disturbance.take();
    let count = calls.iter().filter(|(call, _)| call.action == action).map(|(_, count)| count).sum();
    Ok((count, ended.err))
}
