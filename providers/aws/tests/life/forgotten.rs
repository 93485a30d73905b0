//! Objects that the cloud has and the state does not know.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};

use crate::world::{APPLY, HIGHLY_AVAILABLE, World, changes_of};

/// Objects of types that AWS does not list by their tags alone.
const BY_IDENTITY: &[&str] =
    &["aws_lb.*", "aws_lb_target_group.*", "aws_iam_role.*", "aws_iam_instance_profile.*"];

/// Types without tags: records of a zone.
const UNTAGGED: &[&str] = &["aws_route53_record."];
/// The prefix of keys in the state.
const KEYS: &str = "keypair.";

/// A rebuilt state has every object that can be tagged, and a record that was removed comes back: nothing is created a second time.
pub fn nothing_is_created_twice() -> Result<()> {
    let mut world = World::new()?;
    world.spec(HIGHLY_AVAILABLE)?;
    world.apply()?;
    let known = list(&world)?;
    let objects = world.cloud.objects()?.len();

    ensure!(known.iter().any(|address| address.starts_with(KEYS)), "the cluster has no keys");

    world.keep()?;
    // The store still has the keys.
    for name in ["head", "snapshots", "journal"] {
        let lost = world.place().state().join("ha.example.com").join(name);
        if lost.is_dir() { std::fs::remove_dir_all(lost)? } else { std::fs::remove_file(lost)? }
    }
    rebuild(&world)?;
    knows(&world, &known)?;
    creates_nothing(&world)?;
    a_lost_key_is_named(&world)?;
    world.restore()?;

    // The keys are lost too: no plan makes others, and each says so.
    std::fs::remove_dir_all(world.place().state())?;
    rebuild(&world)?;
    let tagged = known.iter().filter(|address| !address.starts_with(KEYS)).cloned().collect();
    knows(&world, &tagged)?;
    let shown = creates_nothing(&world)?;
    ensure!(shown.contains("does not have the keys that the control planes run with"), "{shown}");
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

fn rebuild(world: &World) -> Result<()> {
    world.expect(0, &["state", "rebuild", "ha.example.com", "-f", "spec.yaml", "--yes"]).map(drop)
}

/// A key that was only in the state and is lost is generated again only after a confirmation by its name.
fn a_lost_key_is_named(world: &World) -> Result<()> {
    let key = "keypair.etcd-ca";
    std::fs::remove_dir_all(world.place().state().join("ha.example.com/secrets").join(key))?;
    world.expect(0, &["state", "rm", "ha.example.com", key, "--yes"])?;
    let shown = world.expect(2, &["plan", "-f", "spec.yaml", "--infrastructure-only"])?.out;
    ensure!(shown.contains(&format!("--confirm {key}")), "{shown}");
    let refused = world.expect(1, APPLY)?;
    ensure!(refused.err.contains(key), "{}", refused.err);
    Ok(())
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

fn creates_nothing(world: &World) -> Result<String> {
    let planned = world.expect(2, &["plan", "-f", "spec.yaml", "-o", "json", "--infrastructure-only"])?;
    let changes = changes_of(&serde_json::from_str(&planned.out)?)?;
    let made = |(address, what): &(&String, &String)| what.contains("create") && !is_untagged(address);
    let made: Vec<_> = changes.iter().filter(made).collect();
    ensure!(made.is_empty(), "created a second time: {made:#?}");
    Ok(planned.out)
}

fn is_untagged(address: &str) -> bool {
    UNTAGGED.iter().any(|kind| address.starts_with(kind))
}
