//! A whole life: created, changed in many ways, rolled, adopted, deleted.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::changes::{CHANGES, Change};
use crate::cloud::machines;
use crate::cluster_api::BROKEN;
use crate::world::{APPLY, PUBLIC, World};

const ROLL: &[&str] = &["roll", "-f", "spec.yaml", "--infrastructure-only"];

pub fn a_whole_life() -> Result<()> {
    let world = World::new()?;
    let mut text = PUBLIC.to_owned();
    write(&world, &text)?;
    is_refused_without_the_flag(&world)?;
    world.apply()?;
    world.is_settled()?;
    ensure!(machines(&world.cloud.objects()?).into_values().sum::<usize>() == 3, "not three machines");

    let mut told = String::new();
    for change in CHANGES {
        let shown = one_change(&world, &mut text, change).with_context(|| format!("change: {}", change.0))?;
        told.push_str(&shown);
    }
    rolls(&world)?;
    is_taken_over(&world)?;
    world.delete()?;
    world.is_empty()?;
    insta::with_settings!({ snapshot_path => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/life"), prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("changes", told);
    });
    Ok(())
}

fn write(world: &World, text: &str) -> Result<()> {
    world.spec(&text.replace("CLUSTER_API", &world.api.endpoint()))
}

/// The machines of this spec lack programs, so they would not become nodes. Without the flag, neither the spec nor a saved plan
/// is applied.
fn is_refused_without_the_flag(world: &World) -> Result<()> {
    const WITHOUT_FLAG: &str = "without-flag.plan";
    let before = world.cloud.objects()?;
    let shown = world.expect(2, &["plan", "-f", "spec.yaml", "--out", WITHOUT_FLAG])?.out;
    // The text of a plan is wrapped.
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for pool in ["control-plane", "workers"] {
        let wanted = format!("the machines of pool {pool} will not become nodes of the cluster");
        ensure!(shown.contains(&wanted), "the plan does not say that {wanted}: {shown}");
    }
    let unused = "do not carry out yet: etcd[events]";
    ensure!(shown.contains(unused), "the plan does not say {unused:?}: {shown}");
    let refused: [&[&str]; 3] = [
        &["apply", "-f", "spec.yaml", "--yes"],
        &["apply", "-f", "spec.yaml", "--yes", "--no-preflight"],
        &["apply", WITHOUT_FLAG, "--yes"],
    ];
    for arguments in refused {
        let told = world.expect(1, arguments)?.err;
        ensure!(told.contains("error[PLAN0030]"), "{arguments:?}: {told}");
        ensure!(world.cloud.objects()? == before, "{arguments:?} changed the cloud");
    }
    Ok(())
}

/// A part of a new cluster is applied without the flag. The plan was made with the providers of the keys and of the objects behind
/// the API, although the part has neither.
pub fn a_part_of_a_new_cluster() -> Result<()> {
    const PART: &[&str] = &["-f", "spec.yaml", "--target", "aws_vpc.*"];
    let world = World::new()?;
    let setting = ", config: { clusterApi: { endpoint: CLUSTER_API } }";
    ensure!(PUBLIC.contains(setting), "the spec has no {setting}");
    world.spec(&PUBLIC.replace(setting, ""))?;
    let [plan, apply] = [&["plan"][..], &["apply", "--yes"]].map(|verb| [verb, PART].concat());
    world.expect(2, &plan)?;
    world.expect(0, &apply)?;
    world.expect(0, &plan)?;
    world.delete()?;
    world.is_empty()
}

/// Makes one change, and sees that it is all that is planned, and that nothing is left of it.
fn one_change(world: &World, text: &mut String, (name, edits): &Change) -> Result<String> {
    for (from, to) in *edits {
        ensure!(text.contains(from), "the spec has no {from}");
        *text = text.replacen(from, to, 1);
    }
    write(world, text)?;
    let changes = world.plan()?;
    ensure!(!changes.is_empty(), "nothing is planned");
    let mut shown = format!("{name}\n");
    for (address, what) in &changes {
        writeln!(shown, "  {address}: {what}")?;
    }
    // Some replace the control plane, whose etcd has its data on a volume.
    world.expect(0, &["apply", "saved.plan", "--yes", "--infrastructure-only"])?;
    world.disturbance.only_what_was_asked_for()?;
    world.is_settled()?;
    world.shape()?;
    Ok(shown)
}

fn instances(world: &World) -> Result<BTreeSet<String>> {
    let objects = world.cloud.objects()?;
    Ok(objects.into_iter().filter(|object| object.kind == "instance").map(|object| object.id).collect())
}

/// Every machine is replaced; the plan after it is empty. Nothing has to be confirmed by name: the data of etcd is on a volume.
fn rolls(world: &World) -> Result<()> {
    let (before, sizes) = (instances(world)?, machines(&world.cloud.objects()?));
    world.expect(2, &[ROLL, &["--dry-run"]].concat())?;
    ensure!(instances(world)? == before, "a dry run has rolled");
    world.expect(0, &[ROLL, &["--yes"]].concat())?;
    world.disturbance.only_what_was_asked_for()?;
    let after = instances(world)?;
    ensure!(after.is_disjoint(&before), "some stayed: {before:?} {after:?}");
    ensure!(machines(&world.cloud.objects()?) == sizes, "not as many as before");
    world.is_settled()
}

/// The cluster is adopted as if another tool had made it.
fn is_taken_over(world: &World) -> Result<()> {
    world.cloud.forget_owners()?;
    std::fs::remove_dir_all(world.place().state())?;
    let before = world.cloud.objects()?;
    world.expect(2, &["adopt", "-f", "spec.yaml", "--dry-run"])?;
    ensure!(!world.place().state().exists(), "a dry run has written a state");
    world.expect(0, &["adopt", "-f", "spec.yaml", "--yes"])?;
    ensure!(world.cloud.objects()? == before, "taking over has changed the cloud");
    world.is_settled()
}

/// A machine that never joins stops the roll, and the plan's owner hears which one.
pub fn one_never_joins() -> Result<()> {
    let world = World::new()?;
    world.public(&[])?;
    world.apply()?;
    let before = instances(&world)?;
    world.public(&[
        ("readyTimeout: 20s", "readyTimeout: 3s"),
        ("\n  image: ami-1e749f67", &format!("\n  image: {BROKEN}")),
    ])?;
    let ended = world.expect(1, APPLY)?;
    let new: Vec<String> = instances(&world)?.difference(&before).cloned().collect();
    ensure!(new.len() == 1, "{new:?} came");
    ensure!(ended.err.contains(&new[0]), "{} is not named: {}", new[0], ended.err);
    ensure!(instances(&world)?.is_superset(&before), "a machine has gone that nothing stands in for");
    world.delete()?;
    world.is_empty()
}
