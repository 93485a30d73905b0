//! Plans of a part of a cluster: what they take along, and what they leave.

use anyhow::{Context as _, Result, ensure};
use slipway_resource::Value;

use super::shared::*;
use crate::PLAN;

const ROLL: &[&str] = &["roll", "-f", "spec.yaml", "--pool", "workers", "--yes"];

/// Two pools of workers; the second one of this type of machine.
fn two_pools(machine: &str) -> String {
    let other = WORKERS.replace("name: workers", "name: databases").replace("sim.medium", machine);
    spec() + &other
}

fn machines(pool: &str, place: &slipway_integration::place::Place) -> Result<Vec<String>> {
    let id = object(place, &format!("sim_machine_pool.{pool}"))?.id;
    let machines = place.inventory()?.machines.into_iter().filter(|machine| machine.pool == id);
    Ok(machines.map(|machine| machine.id).collect())
}

#[test]
fn a_roll_of_one_pool_leaves_the_others_as_they_are() -> Result<()> {
    let place = applied(&two_pools("sim.medium"))?;
    let pending = two_pools("sim.large")
        .replace("role: controlPlane, machineType: sim.medium", "role: controlPlane, machineType: sim.large");
    place.write("spec.yaml", &pending)?;
    let (workers, others) = (machines("workers", &place)?, machines("databases", &place)?);
    let controllers = machines("control-plane", &place)?;
    let shown = place.expect(2, &["roll", "-f", "spec.yaml", "--pool", "workers", "--dry-run"])?.out;
    let (doing, leaving) = shown.split_once("Pending, left out").context(shown.clone())?;
    for address in ["sim_machine_pool.databases", "sim_machine_pool.control-plane"] {
        ensure!(!doing.contains(address) && leaving.contains(address), "{address}:\n{shown}");
    }
    let rolled = place.expect(0, ROLL)?;
    ensure!(rolled.out.contains("sim_machine_pool.workers"), "{}", rolled.out);
    let now = machines("workers", &place)?;
    ensure!(workers.iter().all(|machine| !now.contains(machine)), "{workers:?} → {now:?}");
    ensure!(machines("databases", &place)? == others, "another pool was rolled");
    ensure!(machines("control-plane", &place)? == controllers, "the control plane was rolled");
    let kind: Option<Value> =
        object(&place, "sim_machine_pool.databases")?.attributes.at(&"machine_type".parse()?).cloned();
    ensure!(kind == Some("sim.medium".into()), "another pool's change was applied: {kind:?}");
    // What was left is pending still.
    let plan = planned(&place, 2, &[])?;
    ensure!(actions(&plan).iter().any(|(address, _)| address == "sim_machine_pool.databases"));
    Ok(())
}

#[test]
fn what_a_target_leaves_out_is_named() -> Result<()> {
    let place = applied(&two_pools("sim.medium"))?;
    let pending = two_pools("sim.large").replace("sim-linux-1", "sim-linux-2");
    place.write("spec.yaml", &pending)?;
    let text = place.expect(2, &[PLAN, &["--target", "sim_machine_pool.workers"]].concat())?.out;
    let (_, leaving) = text.split_once("Pending, left out").context(text.clone())?;
    ensure!(leaving.contains("» sim_machine_pool.databases"), "{text}");
    let plan = planned(&place, 2, &["--target", "sim_machine_pool.workers"])?;
    ensure!(plan["left_out"][0]["address"] == "sim_machine_pool.databases", "{}", plan["left_out"]);
    ensure!(plan["complete"] == false);
    Ok(())
}

#[test]
fn a_part_does_not_change_the_version() -> Result<()> {
    let place = applied(&spec())?;
    let before = identities(&place)?;
    place.write("spec.yaml", &spec().replace("1.35.2", "1.36.0"))?;
    for arguments in [ROLL, &["apply", "-f", "spec.yaml", "--yes", "--target", "sim_machine_pool.workers"]] {
        let refused = place.expect(1, arguments)?;
        ensure!(
            refused.err.contains("CLI0071") && refused.err.contains("slipway upgrade"),
            "{}",
            refused.err
        );
    }
    ensure!(identities(&place)? == before, "something was done");
    Ok(())
}

#[test]
fn rolls_and_upgrades_create_nothing() -> Result<()> {
    let place = fresh(&spec())?;
    let upgrade: &[&str] = &["upgrade", "-f", "spec.yaml", "--to", "1.36.0", "--yes"];
    for arguments in [ROLL, &["roll", "-f", "spec.yaml", "--dry-run"], upgrade] {
        let refused = place.expect(1, arguments)?;
        ensure!(refused.err.contains("CLI0070") && refused.err.contains("slipway apply"), "{}", refused.err);
    }
    ensure!(!place.cloud().join("objects").exists() && identities(&place).map_or(true, |ids| ids.is_empty()));
    Ok(())
}
