//! What the state does not know, and the cloud has.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};

use crate::world::{APPLY, HIGHLY_AVAILABLE, World, changes_of};

/// Objects of types that AWS does not list by their tags alone.
const BY_IDENTITY: &[&str] =
    &["aws_lb.*", "aws_lb_target_group.*", "aws_iam_role.*", "aws_iam_instance_profile.*"];

/// What no tag can tell: records of a zone have none, and keys are in the state alone.
const UNTAGGED: &[&str] = &["aws_route53_record.", "keypair."];

/// A rebuilt state has every object that can be tagged, and a record that was removed comes back: nothing is created a second time.
pub fn nothing_is_created_twice() -> Result<()> {
    let mut world = World::new()?;
    world.spec(HIGHLY_AVAILABLE)?;
    world.apply()?;
    let known = list(&world)?;
    let objects = world.cloud.objects()?.len();

    world.keep()?;
    std::fs::remove_dir_all(world.place().state())?;
    world.expect(0, &["state", "rebuild", "ha.example.com", "-f", "spec.yaml", "--yes"])?;
    knows(&world, &known)?;
    creates_nothing(&world)?;
    world.restore()?;

    for pattern in BY_IDENTITY {
        world.expect(0, &["state", "rm", "ha.example.com", pattern, "--yes"])?;
    }
    creates_nothing(&world)?;
    // Its preflight asks for what steps need, and this run has none.
    world.expect(0, APPLY)?;
    knows(&world, &known)?;
    ensure!(world.cloud.objects()?.len() == objects, "objects were created or deleted");
    world.delete()?;
    world.is_empty()
}

/// The addresses in the state.
fn list(world: &World) -> Result<BTreeSet<String>> {
    let listed = world.expect(0, &["state", "list", "ha.example.com"])?;
    let addresses = listed.out.lines().filter_map(|line| line.split_whitespace().next());
    let addresses = addresses.filter(|address| !is_untagged(address));
    Ok(addresses.map(str::to_owned).collect())
}

fn knows(world: &World, known: &BTreeSet<String>) -> Result<()> {
    let listed = list(world)?;
    let (lost, more): (Vec<_>, Vec<_>) =
        (known.difference(&listed).collect(), listed.difference(known).collect());
    ensure!(lost.is_empty() && more.is_empty(), "the state lost {lost:#?} and has {more:#?}");
    Ok(())
}

fn creates_nothing(world: &World) -> Result<()> {
    let planned = world.expect(2, &["plan", "-f", "spec.yaml", "-o", "json", "--infrastructure-only"])?;
    let changes = changes_of(&serde_json::from_str(&planned.out)?)?;
    let made = |(address, what): &(&String, &String)| what.contains("create") && !is_untagged(address);
    let made: Vec<_> = changes.iter().filter(made).collect();
    ensure!(made.is_empty(), "created a second time: {made:#?}");
    Ok(())
}

fn is_untagged(address: &str) -> bool {
    UNTAGGED.iter().any(|kind| address.starts_with(kind))
}
