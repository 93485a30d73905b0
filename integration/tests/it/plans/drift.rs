//! A cloud that others changed, and one that cannot be read.

use anyhow::{Result, ensure};
use slipway_provider_sim::inspect::Tamper;
use slipway_resource::Path;

use super::shared::*;
use crate::{APPLY, PLAN};

#[test]
fn a_cloud_that_others_changed_is_shown_and_mended() -> Result<()> {
    let place = applied(&spec())?;
    let tamper = Tamper::open(place.cloud());
    let changed = object(&place, "sim_target_group.api")?;
    let gone = object(&place, "sim_listener.api")?;
    let doubled = object(&place, "sim_identity.worker")?;
    tamper.set(&changed.id, &"tags.team".parse()?, "others".into())?;
    tamper.delete(&gone.id)?;
    let second = tamper.duplicate(&doubled.id)?;

    let drift = place.expect(2, &["drift", "small"])?.out;
    for address in ["sim_target_group.api", "sim_listener.api"] {
        ensure!(drift.contains(address), "no {address} in the drift:\n{drift}");
    }
    let plan = planned(&place, 2, &[])?;
    let found = actions(&plan);
    let wanted = [
        ("sim_identity.worker", "no-op"),
        // The double.
        ("sim_identity.worker", "delete"),
        ("sim_listener.api", "create"),
        ("sim_target_group.api", "update"),
    ];
    let wanted: Vec<(String, String)> =
        wanted.iter().map(|(address, word)| ((*address).to_owned(), (*word).to_owned())).collect();
    ensure!(found == wanted, "{found:?}");
    let text = place.expect(2, PLAN)?.out;
    ensure!(text.contains(&second) || text.contains(&doubled.id), "the double is not named:\n{text}");
    // Without the changes of the spec.
    place.write("spec.yaml", &spec().replace("team: platform", "team: network"))?;
    let only = place.expect(2, &[PLAN, &["--refresh-only"]].concat())?.out;
    ensure!(only == drift, "{only}\nis not\n{drift}");
    let refused = place.expect(1, &[PLAN, &["--refresh-only", "--out", "a.plan"]].concat())?.err;
    ensure!(refused.contains("--refresh-only") && refused.contains("--out"), "{refused}");
    place.write("spec.yaml", &spec())?;
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    place.expect(0, &[PLAN, &["--refresh-only"]].concat())?;
    place.expect(0, &["drift", "small"])?;
    let inventory = place.inventory()?;
    ensure!(inventory.doubled().is_empty(), "{:?}", inventory.doubled());
    ensure!(object(&place, "sim_identity.worker")?.id == doubled.id, "the wrong one of the two stayed");
    Ok(())
}

/// A change by hand that the spec asks for by now is recorded, and nothing is called for it: a report of drift would show it for
/// ever.
#[test]
fn what_others_changed_as_the_spec_asks_is_recorded() -> Result<()> {
    let place = applied(&spec())?;
    let group = object(&place, "sim_target_group.api")?;
    let changed = spec().replace("team: platform", "team: network");
    let tamper = Tamper::open(place.cloud());
    for object in place.inventory()?.objects.iter().filter(|object| object.attributes.get("tags").is_some()) {
        tamper.set(&object.id, &"tags.team".parse()?, "network".into())?;
    }
    place.expect(2, &["drift", "small"])?;
    place.write("spec.yaml", &changed)?;
    let plan = planned(&place, 2, &[])?;
    ensure!(actions(&plan).iter().all(|(_, word)| word == "no-op"), "{:?}", actions(&plan));
    ensure!(plan["counts"]["record"].as_u64() > Some(0), "{}", plan["counts"]);
    ensure!(plan["counts"]["update"] == 0, "{}", plan["counts"]);
    let text = place.expect(2, PLAN)?.out;
    ensure!(text.contains("tags.team was changed outside Slipway, to what the spec asks for"), "{text}");
    place.expect(0, APPLY)?;
    place.expect(0, &["drift", "small"])?;
    place.expect(0, PLAN)?;
    ensure!(object(&place, "sim_target_group.api")?.id == group.id, "it was replaced");
    // A later change is drift again, and not a change of the spec.
    tamper.set(&group.id, &"tags.team".parse()?, "others".into())?;
    let drift = place.expect(2, &["drift", "small"])?.out;
    ensure!(drift.contains("sim_target_group.api"), "{drift}");
    Ok(())
}

#[test]
fn a_lost_state_is_found_again_in_the_cloud() -> Result<()> {
    let place = applied(&spec())?;
    let before = identities(&place)?;
    std::fs::remove_dir_all(place.state())?;
    let refused = place.expect(1, PLAN)?;
    ensure!(
        refused.err.contains("STATE0051") && refused.err.contains("state rebuild small"),
        "{}",
        refused.err
    );
    place.expect(0, &["state", "rebuild", "small", "-f", "spec.yaml", "--yes"])?;
    let plan = planned(&place, 2, &[])?;
    ensure!(actions(&plan).iter().all(|(_, word)| word == "no-op"), "{:?}", actions(&plan));
    ensure!(
        plan["counts"]["record"].as_u64().is_some_and(|count| count as usize == before.len()),
        "{}",
        plan["counts"]
    );
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    ensure!(identities(&place)? == before, "objects came or went");
    place.expect(0, &["delete", "small", "--yes", "--confirm", "small"])?;
    ensure!(identities(&place)?.is_empty(), "something is left");
    Ok(())
}

#[test]
fn what_cannot_be_read_is_deferred() -> Result<()> {
    let place = applied(&spec())?;
    place.write(".slipway/sim/faults.json", r#"[{ "type": "sim_listener", "kind": "unreadable" }]"#)?;
    place.write("spec.yaml", &spec().replace("team: platform", "team: network"))?;
    let plan = planned(&place, 1, &[])?;
    ensure!(
        !actions(&plan).iter().any(|(address, _)| address.starts_with("sim_listener")),
        "{:?}",
        actions(&plan)
    );
    let deferred = plan["deferred"].to_string();
    ensure!(deferred.contains("sim_listener.api"), "{deferred}");
    ensure!(plan["complete"] == false);
    let before = object(&place, "sim_listener.api")?.id;
    let text = place.expect(1, PLAN)?.out;
    ensure!(text.contains("? sim_listener.api"), "{text}");
    place.expect(1, APPLY)?;
    std::fs::remove_file(place.cloud().join("faults.json"))?;
    ensure!(object(&place, "sim_listener.api")?.id == before, "it was made again or deleted");
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    ensure!(object(&place, "sim_listener.api")?.id == before);
    Ok(())
}

/// A machine that is gone, and one too many: the number of machines is no attribute, and is reported and mended.
#[test]
fn machines_that_are_missing_or_too_many_are_shown_and_mended() -> Result<()> {
    let place = applied(&spec())?;
    let tamper = Tamper::open(place.cloud());
    let pool = object(&place, "sim_machine_pool.workers")?;
    let machines = || -> Result<Vec<String>> {
        Ok(place.inventory()?.machines_of(&pool.id).map(|machine| machine.id.clone()).collect())
    };
    let size: Path = "size".parse()?;
    let with_machines = |count: u32| -> Result<()> {
        tamper.autoscale(&pool.id, count)?;
        tamper.set(&pool.id, &size, 2_i64.into())?;
        Ok(())
    };
    with_machines(1)?;
    let drift = place.expect(2, &["drift", "small"])?.out;
    let missing = "1 machine exists, and the size of the pool is 2";
    ensure!(drift.contains("sim_machine_pool.workers") && drift.contains(missing), "{drift}");
    let plan = planned(&place, 2, &[])?;
    ensure!(actions(&plan) == [("sim_machine_pool.workers".to_owned(), "update".to_owned())], "{plan}");
    let text = place.expect(2, PLAN)?.out;
    ensure!(text.contains("the missing ones are started") && !text.contains("is as its spec says"), "{text}");
    place.expect(0, APPLY)?;
    ensure!(machines()?.len() == 2, "{:?}", machines()?);
    place.expect(0, PLAN)?;
    place.expect(0, &["drift", "small"])?;

    with_machines(3)?;
    let drift = place.expect(2, &["drift", "small"])?.out;
    ensure!(drift.contains("3 machines exist, and the size of the pool is 2"), "{drift}");
    place.expect(2, PLAN)?;
    place.expect(0, APPLY)?;
    ensure!(machines()?.len() == 2, "{:?}", machines()?);
    place.expect(0, &["drift", "small"])?;

    // A place that the cloud keeps for the machine is filled by a roll.
    tamper.lose_machine(&machines()?[0], false)?;
    let drift = place.expect(2, &["drift", "small"])?.out;
    ensure!(drift.contains(missing), "{drift}");
    place.expect(0, APPLY)?;
    place.expect(0, &["drift", "small"])?;
    Ok(())
}

/// An object without ownership tags is not found again when the state is lost: the tags are missed and written again.
#[test]
fn lost_ownership_tags_are_shown_and_written_again() -> Result<()> {
    let place = applied(&spec())?;
    let tamper = Tamper::open(place.cloud());
    let group = object(&place, "sim_target_group.api")?;
    let owner = group.owner.clone();
    tamper.set_owner(&group.id, None)?;
    let drift = place.expect(2, &["drift", "small"])?.out;
    ensure!(
        drift.contains("sim_target_group.api") && drift.contains("ownership tags were removed"),
        "{drift}"
    );
    let text = place.expect(2, PLAN)?.out;
    ensure!(text.contains("which are written again") && text.contains("1 to record"), "{text}");
    place.expect(0, APPLY)?;
    let now = object(&place, "sim_target_group.api")?;
    ensure!(now.id == group.id && now.owner == owner, "{:?}", now.owner);
    place.expect(0, PLAN)?;
    place.expect(0, &["drift", "small"])?;

    // With another change of the object, too.
    tamper.set_owner(&group.id, None)?;
    tamper.set(&group.id, &"tags.team".parse()?, "others".into())?;
    let drift = place.expect(2, &["drift", "small"])?.out;
    ensure!(drift.contains("tags.team") && drift.contains("ownership tags were removed"), "{drift}");
    place.expect(0, APPLY)?;
    ensure!(object(&place, "sim_target_group.api")?.owner == owner, "the tags are not back");
    place.expect(0, &["drift", "small"])?;
    Ok(())
}

/// A doubled object is a change outside Slipway, whether or not a plan deletes it.
#[test]
fn a_doubled_object_is_drift() -> Result<()> {
    let place = applied(&spec())?;
    let doubled = object(&place, "sim_machine_pool.workers")?;
    let second = Tamper::open(place.cloud()).duplicate(&doubled.id)?;
    let drift = place.expect(2, &["drift", "small"])?.out;
    ensure!(drift.contains(&format!("{second} has its ownership tags too")), "{drift}");
    Ok(())
}
