//! Nothing is deleted, rolled or put out of use that the plan does not show and that is not confirmed where it loses something.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use slipway_integration::place::Place;
use slipway_plan::{Plan, Step, StepAction, StepId};
use slipway_provider_sim::inspect::Tamper;
use slipway_resource::Identity;
use slipway_resource::provider::operation;

use super::confirmations::{VOLUME, with_volume};
use super::edited::with_totals;
use super::shared::*;
use crate::{APPLY, PLAN, PROGRAM};

/// A plan file with added steps and a matching digest.
#[test]
fn a_plan_file_with_steps_that_it_does_not_show_is_refused() -> Result<()> {
    let place = applied(&spec())?;
    let workers = object(&place, "sim_machine_pool.workers")?.id;
    place.write("spec.yaml", &spec().replace("team: platform", "team: network"))?;
    place.expect(2, &[PLAN, &["--out", "saved.plan"]].concat())?;
    let file = place.path().join("saved.plan");
    let mut plan = Plan::from_bytes(&std::fs::read(&file)?)?;
    plan.steps.push(Step {
        id: StepId(u32::try_from(plan.steps.len())?),
        address: "sim_machine_pool.workers".parse()?,
        action: StepAction::Delete { surplus: false },
        identity: Some(Identity::new(workers.clone())),
        roll: None,
        depends_on: Vec::new(),
        rate_class: "compute".to_owned(),
        estimate_ms: 1,
        timeout_ms: 900_000,
    });
    std::fs::write(&file, plan.to_bytes()?)?;
    for arguments in [&["show", "saved.plan"][..], &["apply", "saved.plan", "--yes"]] {
        let refused = place.expect(1, arguments)?;
        ensure!(refused.err.contains("PLAN0014"), "{}", refused.err);
        ensure!(refused.err.contains("delete sim_machine_pool.workers"), "{}", refused.err);
    }
    ensure!(object(&place, "sim_machine_pool.workers")?.id == workers, "it was deleted");
    Ok(())
}

/// The steps are those of the changes, and do not wait for each other: all machines would leave at once.
#[test]
fn a_plan_file_without_the_order_of_its_roll_is_refused() -> Result<()> {
    let place = applied(&spec())?;
    let before = identities(&place)?;
    place.write("spec.yaml", &spec().replace("sim.medium, image", "sim.large, image"))?;
    place.expect(2, &[PLAN, &["--out", "saved.plan"]].concat())?;
    let file = place.path().join("saved.plan");
    let whole = Plan::from_bytes(&std::fs::read(&file)?)?;
    let mut flat = whole.clone();
    flat.steps.iter_mut().for_each(|step| step.depends_on.clear());
    std::fs::write(&file, flat.to_bytes()?)?;
    let refused = place.expect(1, &["apply", "saved.plan", "--yes"])?;
    ensure!(refused.err.contains("PLAN0014") && refused.err.contains("does not wait for"), "{}", refused.err);
    ensure!(identities(&place)? == before, "something was done");
    Ok(())
}

/// One machine leaves before the new one is verified. How many may leave is not in the plan file.
#[test]
fn a_plan_file_whose_machines_leave_too_early_is_refused() -> Result<()> {
    for size in ["fixed: 1", "fixed: 2"] {
        let spec = spec().replace("fixed: 2", size);
        let place = applied(&spec)?;
        let before = identities(&place)?;
        place.write("spec.yaml", &spec.replace("sim.medium, image", "sim.large, image"))?;
        place.expect(2, &[PLAN, &["--out", "saved.plan"]].concat())?;
        let file = place.path().join("saved.plan");
        let whole = Plan::from_bytes(&std::fs::read(&file)?)?;
        let is_verified = |step: &&Step| step.action.verb() == operation::VERIFY;
        let verified: Vec<StepId> = whole.steps.iter().filter(is_verified).map(|step| step.id).collect();
        ensure!(!verified.is_empty(), "{size}: no machine is verified");
        for id in verified {
            let mut early = whole.clone();
            early.steps.iter_mut().for_each(|step| step.depends_on.retain(|needed| *needed != id));
            with_totals(&mut early);
            std::fs::write(&file, early.to_bytes()?)?;
            let refused = place.expect(1, &["apply", "saved.plan", "--yes"])?.err;
            ensure!(refused.contains("PLAN0014") && refused.contains("budget"), "{size}: {refused}");
        }
        ensure!(identities(&place)? == before, "something was done");
    }
    Ok(())
}

/// A plan without some steps: what waited for one of them waits for what that one waited for.
pub(super) fn without(plan: &Plan, is_dropped: impl Fn(&Step) -> bool) -> Result<Plan> {
    let mut left = plan.clone();
    let mut instead: Vec<BTreeSet<StepId>> = Vec::new();
    for mut step in std::mem::take(&mut left.steps) {
        let waits: BTreeSet<StepId> =
            step.depends_on.iter().flat_map(|id| instead[id.index()].clone()).collect();
        if is_dropped(&step) {
            instead.push(waits);
            continue;
        }
        step.id = StepId(u32::try_from(left.steps.len())?);
        step.depends_on = waits.into_iter().collect();
        instead.push(BTreeSet::from([step.id]));
        left.steps.push(step);
    }
    Ok(left)
}

/// The file names no nodes, so that the machines look like ones that never joined the cluster.
#[test]
fn a_plan_file_that_drains_no_node_is_refused() -> Result<()> {
    let place = applied(&spec())?;
    let before = identities(&place)?;
    for spec in [spec().replace("sim.medium, image", "sim.large, image"), [CLUSTER, CONTROL_PLANE].concat()] {
        place.write("spec.yaml", &spec)?;
        place.expect(2, &[PLAN, &["--out", "saved.plan"]].concat())?;
        let file = place.path().join("saved.plan");
        let whole = Plan::from_bytes(&std::fs::read(&file)?)?;
        let empties = |step: &Step| matches!(step.action.verb(), operation::CORDON | operation::DRAIN);
        let mut hasty = without(&whole, empties)?;
        ensure!(hasty.steps.len() + 4 == whole.steps.len(), "two machines are cordoned and drained");
        hasty
            .changes
            .iter_mut()
            .flat_map(|change| &mut change.machines)
            .for_each(|machine| machine.node = None);
        with_totals(&mut hasty);
        std::fs::write(&file, hasty.to_bytes()?)?;
        let refused = place.expect(1, &["apply", "saved.plan", "--yes"])?.err;
        ensure!(refused.contains("PLAN0014") && refused.contains("no step drains its node"), "{refused}");
    }
    ensure!(identities(&place)? == before, "something was done");
    Ok(())
}

#[test]
fn a_plan_file_without_its_confirmations_is_refused() -> Result<()> {
    let place = applied(&with_volume("sim-1a"))?;
    let before = identities(&place)?;
    place.expect(2, &["delete", "small", "--dry-run", "--out", "saved.plan"])?;
    let file = place.path().join("saved.plan");
    let mut plan = Plan::from_bytes(&std::fs::read(&file)?)?;
    for change in &mut plan.changes {
        change.confirmation = None;
    }
    std::fs::write(&file, plan.to_bytes()?)?;
    let refused = place.expect(1, &["apply", "saved.plan", "--yes", "--confirm", "small"])?;
    ensure!(refused.err.contains("PLAN0014") && refused.err.contains(VOLUME), "{}", refused.err);
    ensure!(identities(&place)? == before, "something was deleted");
    Ok(())
}

/// A plan that names another disk than the state has at the address, with the digest that fits.
#[test]
fn a_plan_file_that_names_another_object_is_refused() -> Result<()> {
    let place = applied(&with_volume("sim-1a"))?;
    let disk = object(&place, VOLUME)?.id;
    place.write("other.yaml", &with_volume("sim-1a").replace("name: small", "name: other"))?;
    place.expect(0, &["apply", "-f", "other.yaml", "--yes"])?;
    let inventory = place.inventory()?;
    let other = inventory.of_type("sim_volume").map(|found| found.id.clone()).find(|id| *id != disk);
    let other = other.context("the disk of another cluster")?;
    let before = identities(&place)?;
    place.expect(2, &["delete", "small", "--dry-run", "--out", "saved.plan"])?;
    let file = place.path().join("saved.plan");
    let text = std::fs::read_to_string(&file)?;
    let mut plan = Plan::from_bytes(text.as_bytes())?;
    for change in plan.changes.iter_mut().filter(|change| change.address.to_string() == VOLUME) {
        change.identity = Some(Identity::new(other.clone()));
    }
    for step in plan.steps.iter_mut().filter(|step| step.address.to_string() == VOLUME) {
        step.identity = Some(Identity::new(other.clone()));
    }
    std::fs::write(&file, plan.to_bytes()?)?;
    let refused = place.expect(1, &["apply", "saved.plan", "--yes", "--confirm", "small"])?;
    let fault = format!("{VOLUME} is {disk} in the state, and the plan names {other}");
    ensure!(refused.err.contains("PLAN0014") && refused.err.contains(&fault), "{}", refused.err);
    ensure!(identities(&place)? == before, "something was deleted");
    Ok(())
}

/// A plan that deletes a second object of an address, edited to name a disk of another cluster.
#[test]
fn a_plan_file_that_deletes_what_another_cluster_owns_is_refused() -> Result<()> {
    let place = applied(&with_volume("sim-1a"))?;
    place.write("other.yaml", &with_volume("sim-1a").replace("name: small", "name: other"))?;
    let disk = object(&place, VOLUME)?.id;
    place.expect(0, &["apply", "-f", "other.yaml", "--yes"])?;
    let inventory = place.inventory()?;
    let foreign = inventory.of_type("sim_volume").map(|found| found.id.clone()).find(|id| *id != disk);
    let foreign = Identity::new(foreign.context("the disk of the other cluster")?);
    let second = Tamper::open(place.cloud()).duplicate(&disk)?;
    place.expect(2, &[PLAN, &["--out", "saved.plan"]].concat())?;
    let file = place.path().join("saved.plan");
    let mut plan = Plan::from_bytes(&std::fs::read(&file)?)?;
    for change in plan.changes.iter_mut().filter(|change| !change.surplus.is_empty()) {
        change.surplus = vec![foreign.clone()];
    }
    for step in plan.steps.iter_mut().filter(|step| step.identity == Some(Identity::new(second.as_str()))) {
        step.identity = Some(foreign.clone());
    }
    std::fs::write(&file, plan.to_bytes()?)?;
    let before = identities(&place)?;
    let refused = place.expect(1, &["apply", "saved.plan", "--yes", "--confirm", VOLUME])?.err;
    ensure!(refused.contains("PLAN0014") && refused.contains("does not have the ownership"), "{refused}");
    ensure!(identities(&place)? == before, "something was deleted");
    Ok(())
}

#[test]
fn what_is_ignored_rolls_and_replaces_nothing() -> Result<()> {
    let place = applied(&spec())?;
    let before = identities(&place)?;
    let larger = spec().replace("machineType: sim.medium", "machineType: sim.large");
    ensure!(larger != spec(), "the spec has another type of machine");
    place.write("spec.yaml", &larger)?;
    ensure!(place.expect(2, PLAN)?.out.contains("to roll"), "the change alone rolls");
    for (resource, attribute) in [("*", "machine_type"), ("sim_machine_pool.*", "*"), ("*", "*")] {
        let ignored = format!(
            "  ignoreChanges: [{{ resource: \"{resource}\", attribute: \"{attribute}\" }}]\n  zones:"
        );
        place.write("spec.yaml", &larger.replace("  zones:", &ignored))?;
        let shown = place.expect(0, PLAN)?.out;
        ensure!(shown.contains("No changes"), "{resource} {attribute}: {shown}");
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in ["that ignoreChanges leaves alone", "sim_machine_pool.workers: ", "ignoreChanges[0]: "] {
            ensure!(shown.contains(part), "{resource} {attribute}: no {part} in {shown}");
        }
        ensure!(!shown.contains("is as its spec says"), "{resource} {attribute}: {shown}");
        place.expect(0, APPLY)?;
    }
    ensure!(identities(&place)? == before, "something came or went");
    // An attribute that is not ignored any more is a change again.
    place.write("spec.yaml", &larger)?;
    ensure!(place.expect(2, PLAN)?.out.contains("to roll"), "it is forgotten");
    Ok(())
}

#[test]
fn machines_of_a_replaced_pool_are_named_and_confirmed() -> Result<()> {
    const POOL: &str = "sim_machine_pool.workers";
    let place = applied(&spec())?;
    let pool = object(&place, POOL)?.id;
    let replace = [PLAN, &["--replace", POOL]].concat();
    let shown = place.expect(2, &replace)?.out;
    ensure!(shown.contains("all at once, without a drain") && shown.contains("workers-1"), "{shown}");
    ensure!(shown.contains(&format!("--confirm {POOL}")), "{shown}");
    let plan = json(&place.expect(2, &[&replace[..], &["-o", "json"]].concat())?.out)?;
    ensure!(plan["confirmations"][0]["name"] == POOL, "{}", plan["confirmations"]);
    let apply = [APPLY, &["--replace", POOL]].concat();
    let refused = place.expect(1, &apply)?;
    ensure!(refused.err.contains("RUN0008"), "{}", refused.err);
    ensure!(object(&place, POOL)?.id == pool, "it was replaced");
    place.expect(0, &[&apply[..], &["--confirm", POOL]].concat())?;
    ensure!(object(&place, POOL)?.id != pool, "it was not replaced");
    Ok(())
}

/// The state has the disk at an address that the spec does not have, and the tags of the disk name that of the spec.
#[test]
fn a_disk_whose_record_was_moved_gets_its_address_back() -> Result<()> {
    let place = applied(&with_volume("sim-1a"))?;
    let volume = object(&place, VOLUME)?.id;
    place.expect(0, &["state", "mv", "small", VOLUME, "sim_volume.spare", "--yes", "--confirm", VOLUME])?;
    let network = ["state", "mv", "small", "sim_network.main", "sim_network.other", "--yes"];
    place.expect(0, &network)?;
    let plan = planned(&place, 2, &[])?;
    ensure!(actions(&plan).iter().all(|(_, word)| word == "no-op"), "{:?}", actions(&plan));
    place.expect(0, &[APPLY, &["--target", VOLUME]].concat())?;
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    let inventory = place.inventory()?;
    let volumes: Vec<&str> = inventory.of_type("sim_volume").map(|found| found.id.as_str()).collect();
    ensure!(volumes == [volume.as_str()], "{volumes:?}");
    Ok(())
}

/// `state rm` promises to leave the object alone, and its ownership has the address from before `state mv`.
#[test]
fn a_disk_that_was_moved_and_forgotten_outlives_the_cluster() -> Result<()> {
    let place = applied(&with_volume("sim-1a"))?;
    let volume = object(&place, VOLUME)?.id;
    let spare = "sim_volume.spare";
    place.expect(0, &["state", "mv", "small", VOLUME, spare, "--yes", "--confirm", VOLUME])?;
    place.expect(0, &["state", "rm", "small", spare, "--yes"])?;
    let plan = place.run(&["delete", "small", "--dry-run"])?;
    ensure!(plan.out.contains("was forgotten"), "{plan:?}");
    // What the disk uses may be undeletable, so the command may fail.
    place.run(&["delete", "small", "--yes", "--confirm", "small", "--delete-backups"])?;
    ensure!(identities(&place)?.contains(&volume), "the disk was deleted");
    Ok(())
}

#[test]
fn a_cluster_of_another_store_is_not_taken_over() -> Result<()> {
    let place = applied(&spec())?;
    let before = identities(&place)?;
    for arguments in [PLAN, APPLY] {
        let elsewhere = [&["--state", "elsewhere"], arguments].concat();
        let refused = place.expect(1, &elsewhere)?;
        ensure!(refused.err.contains("STATE0051"), "{}", refused.err);
        ensure!(
            refused.err.contains("--state URL") && refused.err.contains("state rebuild small"),
            "{}",
            refused.err
        );
    }
    ensure!(!place.path().join("elsewhere/small/head").exists(), "a state was begun");
    ensure!(identities(&place)? == before, "something was changed");
    place.expect(0, PLAN).map(|_| ()).context("the store that has it")
}

/// The store of a deleted cluster has no claim to the next cluster with the name.
#[test]
fn a_tombstone_does_not_claim_the_cluster_of_another_store() -> Result<()> {
    let place = applied(&spec())?;
    place.expect(0, &["delete", "small", "--yes", "--confirm", "small"])?;
    let elsewhere = |arguments: &[&'static str]| [&["--state", "elsewhere"], arguments].concat();
    place.expect(0, &elsewhere(APPLY))?;
    let before = identities(&place)?;
    for arguments in [PLAN, APPLY, &["delete", "-f", "spec.yaml", "--yes", "--confirm", "small"]] {
        let refused = place.expect(1, arguments)?;
        ensure!(refused.err.contains("STATE0051"), "{}", refused.err);
    }
    ensure!(identities(&place)? == before, "something was changed");
    place.expect(0, &elsewhere(PLAN)).map(|_| ())
}

/// The objects in etcd are encrypted with the generated key.
#[test]
fn a_given_key_does_not_replace_a_generated_one() -> Result<()> {
    let at_rest = "encryption: { atRest: { provider: secretbox, key: { file: key.txt } } }";
    let place = applied(crate::SMALL)?;
    place.write("key.txt", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")?;
    place.write("spec.yaml", &crate::SMALL.replace("  zones:", &format!("  {at_rest}\n  zones:")))?;
    for arguments in [PLAN, APPLY] {
        let refused = place.expect(1, arguments)?;
        ensure!(
            refused.err.contains("SPEC0064") && refused.err.contains("remove the field"),
            "{}",
            refused.err
        );
    }
    Ok(())
}

/// The backups that a deletion keeps belong to the name: the hint of the refusal leads to a cluster that has them.
#[test]
fn kept_backups_are_taken_over_in_another_store() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", crate::SMALL)?;
    place.expect(0, APPLY)?;
    place.expect(0, &["delete", "line", "--yes", "--confirm", "line"])?;
    let elsewhere = |arguments: &[&'static str]| [&["--state", "elsewhere"], arguments].concat();
    let refused = place.expect(1, &elsewhere(PLAN))?;
    let hint = "its backups were kept: `slipway state rebuild line -f";
    ensure!(refused.err.contains("STATE0051") && refused.err.contains(hint), "{}", refused.err);
    place.expect(0, &elsewhere(&["state", "rebuild", "line", "-f", "spec.yaml", "--yes"]))?;
    place.expect(0, &elsewhere(APPLY))?;
    place.expect(0, &elsewhere(PLAN)).map(|_| ())
}

/// Disks that lost their tags are not found by ownership: what the state does not know is not replaced by empty disks in silence.
#[test]
fn a_disk_that_is_not_found_gets_no_empty_successor_without_its_name() -> Result<()> {
    for is_rebuilt in [true, false] {
        let place = applied(&with_volume("sim-1a"))?;
        let disk = object(&place, VOLUME)?.id;
        Tamper::open(place.cloud()).set_owner(&disk, None)?;
        if is_rebuilt {
            place.expect(0, &["state", "rebuild", "small", "-f", "spec.yaml", "--force", "--yes"])?;
        } else {
            place.expect(0, &["state", "rm", "small", VOLUME, "--yes"])?;
        }
        let before = identities(&place)?;
        let refused = place.expect(1, APPLY)?.err;
        ensure!(refused.contains("RUN0008") && refused.contains(&format!("--confirm {VOLUME}")), "{refused}");
        ensure!(identities(&place)? == before, "something was made");
        place.expect(0, &[APPLY, &["--confirm", VOLUME]].concat())?;
        place.expect(0, PLAN)?;
    }
    Ok(())
}
