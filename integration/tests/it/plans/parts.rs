//! Plans of a part of a cluster: the resources that they include, and those that they leave out.

use anyhow::{Context as _, Result, ensure};
use slipway_resource::Value;

use super::shared::*;
use crate::{APPLY, PLAN};

const ROLL: &[&str] = &["roll", "-f", "spec.yaml", "--pool", "workers", "--yes"];

/// Two pools of workers; the second one of this type of machine.
fn two_pools(machine: &str) -> String {
    let other = WORKERS.replace("name: workers", "name: databases").replace("sim.medium", machine);
    spec() + &other
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
    // The changes that were left out are still pending.
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

const UPGRADE: &[&str] = &["upgrade", "-f", "spec.yaml", "--to", "1.36.0"];

fn version(place: &slipway_integration::place::Place, address: &str) -> Result<Option<Value>> {
    Ok(object(place, address)?.attributes.at(&"kubernetes_version".parse()?).cloned())
}

#[test]
fn an_upgrade_changes_the_version_and_names_what_it_leaves() -> Result<()> {
    let place = applied(&two_pools("sim.medium"))?;
    let pending = two_pools("sim.large").replace("team: platform", "team: network");
    let pending = pending.replace("zones: [sim-1a]", "zones: [sim-1a, sim-1b]");
    place.write("spec.yaml", &pending)?;
    let shown = place.expect(2, &[UPGRADE, &["--dry-run"]].concat())?.out;
    let (doing, leaving) = shown.split_once("Pending, left out").context(shown.clone())?;
    for pool in ["control-plane", "workers", "databases"] {
        ensure!(doing.contains(&format!("sim_machine_pool.{pool}")), "{pool}: {shown}");
    }
    ensure!(!doing.contains("sim.large") && !doing.contains("team"), "more than the version:\n{shown}");
    ensure!(
        leaving.contains("sim_machine_pool.databases") && leaving.contains("sim_network.main"),
        "{shown}"
    );

    place.expect(0, &[UPGRADE, &["--yes"]].concat())?;
    for pool in ["control-plane", "workers", "databases"] {
        let pool = format!("sim_machine_pool.{pool}");
        ensure!(version(&place, &pool)? == Some("1.36.0".into()), "{pool}");
    }
    let attribute = |address: &str, path: &str| -> Result<Option<Value>> {
        Ok(object(&place, address)?.attributes.at(&path.parse()?).cloned())
    };
    let kind = attribute("sim_machine_pool.databases", "machine_type")?;
    ensure!(kind == Some("sim.medium".into()), "another change was applied: {kind:?}");
    ensure!(attribute("sim_network.main", "tags.team")? == Some("platform".into()), "a label was applied");
    ensure!(place.inventory()?.at(&"sim_subnet.sim-1b".parse()?).is_empty(), "a subnet was made");
    // The version was written, and the rest is pending still.
    ensure!(std::fs::read_to_string(place.path().join("spec.yaml"))? == pending.replace("1.35.2", "1.36.0"));
    let plan = planned(&place, 2, &[])?;
    let changed: Vec<String> = actions(&plan).into_iter().map(|(address, _)| address).collect();
    ensure!(changed.iter().any(|address| address == "sim_machine_pool.databases"), "{changed:?}");
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    Ok(())
}

#[test]
fn an_upgrade_that_was_killed_goes_on_as_an_upgrade() -> Result<()> {
    let place = applied(&two_pools("sim.medium"))?;
    place.write("spec.yaml", &two_pools("sim.large"))?;
    let upgrade = [UPGRADE, &["--yes"]].concat();
    let mut killed = place.command(&upgrade);
    let ended = slipway_integration::place::Ended::of(killed.env("SLIPWAY_TEST_KILL", "6:after").output()?)?;
    ensure!(ended.code.is_none(), "it was not killed: {}{}", ended.out, ended.err);
    place.expect(0, &upgrade)?;
    for pool in ["control-plane", "workers", "databases"] {
        let pool = format!("sim_machine_pool.{pool}");
        ensure!(version(&place, &pool)? == Some("1.36.0".into()), "{pool}");
    }
    ensure!(
        place.inventory()?.machines.iter().all(|machine| machine.kubernetes_version == "1.36.0"),
        "machines were left"
    );
    let kind = object(&place, "sim_machine_pool.databases")?.attributes.at(&"machine_type".parse()?).cloned();
    ensure!(kind == Some("sim.medium".into()), "another change was applied: {kind:?}");
    Ok(())
}

#[test]
fn a_comment_on_a_roll_never_says_that_nothing_is_dangerous() -> Result<()> {
    let place = applied(&two_pools("sim.medium"))?;
    let roll: &[&str] = &["roll", "-f", "spec.yaml", "--pool", "workers", "--dry-run", "-o", "markdown"];
    let upgrade = [UPGRADE, &["--dry-run", "-o", "markdown"]].concat();
    let says = |arguments: &[&str], pool: &str| -> Result<()> {
        let comment = place.expect(2, arguments)?.out;
        let open = comment.split("<details>").next().context("a comment")?;
        ensure!(!comment.contains("No dangerous changes") && open.contains("dangerous change"), "{comment}");
        ensure!(open.contains(&format!("sim_machine_pool.{pool}")), "folded away: {comment}");
        Ok(())
    };
    says(roll, "workers")?;
    says(&upgrade, "control-plane")?;
    // By a field that replaces every machine, and by leaving a pool out.
    place.write("spec.yaml", &two_pools("sim.large"))?;
    let plan = [PLAN, &["-o", "markdown"]].concat();
    says(&plan, "databases")?;
    place.write("spec.yaml", &spec())?;
    says(&plan, "databases")
}

/// A machine that never becomes ready is waited for by every apply; the failed step names the roll that replaces it.
#[test]
fn a_machine_that_never_becomes_ready_is_replaced_by_a_roll() -> Result<()> {
    let place = applied(&spec())?;
    let faults =
        place.write(".slipway/sim/faults.json", r#"[{ "method": "launch", "kind": "never-ready" }]"#)?;
    place.write("spec.yaml", &spec().replace("sim-linux-1", "sim-linux-2"))?;
    let way_out = "slipway roll -f SPEC --pool workers";
    let failed = place.expect(1, APPLY)?;
    ensure!(failed.err.contains(way_out), "{}", failed.err);
    std::fs::remove_file(faults)?;
    let failed = place.expect(1, APPLY)?;
    ensure!(failed.err.contains("verify sim_node.") && failed.err.contains(way_out), "{}", failed.err);
    place.expect(0, ROLL)?;
    place.expect(0, PLAN)?;
    place.expect(0, &["drift", "small"])?;
    Ok(())
}
