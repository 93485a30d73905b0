//! The published JSON schema of plans, held against what the program writes.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;
use slipway_integration::json_schema::{lost_of, misfits};
use slipway_integration::place::Place;
use slipway_provider_sim::inspect::Tamper;

use super::shared::*;
use crate::{APPLY, PROGRAM};

const SCHEMA: &str = include_str!("../../../../crates/plan/schema/plan.v1.schema.json");

/// The schema as programs of others may know it. Copy the published schema here when a release has new fields.
const FROZEN: &str = include_str!("../../../../fixtures/schemas/plan.v1.schema.json");

/// Checks the JSON of a command, and returns it.
fn checked(place: &Place, code: i32, command: &[&str]) -> Result<serde_json::Value> {
    let plan = json(&place.expect(code, &[command, &["-o", "json"]].concat())?.out)?;
    let found = misfits(&json(SCHEMA)?, &plan);
    ensure!(found.is_empty(), "{command:?}:\n{}", found.join("\n"));
    Ok(plan)
}

#[test]
fn the_schema_only_grows() -> Result<()> {
    let (frozen, current) = (json(FROZEN)?, json(SCHEMA)?);
    let lost = lost_of(&frozen, &current);
    ensure!(lost.is_empty(), "{}", lost.join("\n"));
    // A field that is renamed, a field that is not always written any more, and another type are found.
    let digest = &frozen["properties"]["digest"];
    ensure!(digest.is_object(), "a plan has no digest");
    for (pointer, value) in [
        ("/properties/digest", Json::Null),
        ("/properties/digest/type", "integer".into()),
        ("/required", serde_json::json!([])),
        ("/$defs/change/properties/actions/items", Json::Null),
    ] {
        let mut changed = frozen.clone();
        *changed.pointer_mut(pointer).with_context(|| pointer.to_owned())? = value;
        ensure!(!lost_of(&frozen, &changed).is_empty(), "{pointer} may change");
    }
    Ok(())
}

#[test]
fn plans_of_every_kind_are_as_the_schema_says() -> Result<()> {
    let place = fresh(&spec())?;
    let plan = ["plan", "-f", "spec.yaml"];
    checked(&place, 2, &plan)?;
    checked(&place, 2, &[&plan[..], &["--offline"]].concat())?;
    place.expect(0, APPLY)?;
    checked(&place, 0, &plan)?;
    for (from, to) in [
        ("team: platform", "team: network"),
        ("scheme: internal", "scheme: public"),
        ("sim-linux-1", "sim-linux-2"),
        (WORKERS, ""),
    ] {
        place.write("spec.yaml", &spec().replace(from, to))?;
        checked(&place, 2, &plan)?;
    }
    place.write("spec.yaml", &spec())?;
    let roll = checked(&place, 2, &["roll", "-f", "spec.yaml", "--pool", "workers", "--dry-run"])?;
    ensure!(roll["disruption"][0]["machines"].as_array().is_some_and(|all| !all.is_empty()), "{roll}");
    checked(&place, 2, &["upgrade", "-f", "spec.yaml", "--to", "1.36.1", "--dry-run"])?;
    checked(&place, 2, &["delete", "small", "--dry-run"])?;
    place.write("spec.yaml", &spec().replace("team: platform", "team: network"))?;
    let part = checked(&place, 2, &[&plan[..], &["--target", "sim_network.*"]].concat())?;
    ensure!(part["left_out"].as_array().is_some_and(|all| !all.is_empty()), "{part}");
    let tamper = Tamper::open(place.cloud());
    tamper.set(&object(&place, "sim_target_group.api")?.id, &"tags.team".parse()?, "others".into())?;
    let drift = checked(&place, 2, &["drift", "small"])?;
    ensure!(drift["resource_drift"].as_array().is_some_and(|all| !all.is_empty()), "{drift}");
    place.write(".slipway/sim/faults.json", r#"[{ "type": "sim_listener", "kind": "unreadable" }]"#)?;
    let deferred = checked(&place, 1, &plan)?;
    ensure!(deferred["deferred"].as_array().is_some_and(|all| !all.is_empty()), "{deferred}");
    std::fs::remove_file(place.cloud().join("faults.json"))?;
    std::fs::remove_dir_all(place.state())?;
    place.expect(0, &["state", "rebuild", "small", "-f", "spec.yaml", "--yes"])?;
    let recorded = checked(&place, 2, &plan)?;
    ensure!(recorded["counts"]["record"].as_u64() > Some(0), "{}", recorded["counts"]);
    Ok(())
}

#[test]
fn plans_of_hosts_are_as_the_schema_says() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../specs/hosts-ha");
    for entry in std::fs::read_dir(example).context("the example")? {
        let path = entry?.path();
        if let (true, Some(name)) = (path.is_file(), path.file_name()) {
            std::fs::copy(&path, place.path().join(name))?;
        }
    }
    let plan = checked(&place, 2, &["plan", "-f", ".", "--offline"])?;
    ensure!(plan["steps"].as_array().is_some_and(|steps| steps.len() > 50), "few steps");
    Ok(())
}
