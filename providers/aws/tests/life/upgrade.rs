//! An upgrade of a cluster whose spec has other changes too.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;

use crate::world::{World, changes_of};

const UPGRADE: &[&str] = &["upgrade", "-f", "spec.yaml", "--to", "1.35.0", "--infrastructure-only"];
/// Changes beside the version: one of a pool's machines, and one that does not concern machines.
const PENDING: &[(&str, &str)] =
    &[("machineType: t3.medium", "machineType: t3.large"), ("[203.0.113.0/24]", "[192.0.2.0/24]")];

/// The upgrade makes the changes of the version, names the other changes, and leaves them to the next plan.
pub fn only_the_version_changes() -> Result<()> {
    let world = World::new()?;
    world.public(&[])?;
    world.apply()?;
    world.public(PENDING)?;
    let pending = world.plan()?;
    ensure!(pending.len() == 4, "{pending:#?}");

    let preview = world.expect(2, &[UPGRADE, &["--dry-run", "-o", "json"]].concat())?;
    let plan: Json = serde_json::from_str(&preview.out)?;
    let changes = changes_of(&plan)?;
    let wanted = [
        ("aws_autoscaling_group.control-plane-masters-minimal-example-com", 1),
        ("aws_autoscaling_group.workers-minimal-example-com", 2),
    ]
    .map(|(group, machines)| (group, format!("update launch_template[0].version, {machines} machines go")));
    for (group, what) in &wanted {
        let template = group.replace("autoscaling_group", "launch_template");
        ensure!(changes.get(*group) == Some(what), "{group}: {changes:#?}");
        ensure!(
            changes.get(&template).is_some_and(|what| what == "update kubernetes_version user_data"),
            "{changes:#?}"
        );
    }
    ensure!(changes.len() == 4, "more than the version: {changes:#?}");
    let left_out = plan["left_out"].as_array().context("nothing is left out")?;
    let left_out: BTreeSet<&str> = left_out.iter().filter_map(|change| change["address"].as_str()).collect();
    // The group of the pool changes with both: it uses a new version of its template.
    let named = |address: &&String| left_out.contains(address.as_str()) || changes.contains_key(*address);
    let unnamed: Vec<&String> = pending.keys().filter(|address| !named(address)).collect();
    ensure!(unnamed.is_empty(), "not named: {unnamed:?} in {left_out:?}");
    ensure!(left_out.contains("aws_launch_template.workers-minimal-example-com"), "{left_out:?}");
    let foreign: Vec<&&str> = left_out.iter().filter(|address| !pending.contains_key(**address)).collect();
    ensure!(foreign.is_empty(), "named, and not pending: {foreign:?}");

    world.expect(0, &[UPGRADE, &["--yes"]].concat())?;
    world.disturbance.only_what_was_asked_for()?;
    let spec = std::fs::read_to_string(world.place().path().join("spec.yaml"))?;
    ensure!(spec.contains("kubernetesVersion: 1.35.0"), "the version was not written: {spec}");
    let left = world.plan()?;
    ensure!(left == pending, "{pending:#?} became {left:#?}");
    world.apply()?;
    world.is_settled()
}
