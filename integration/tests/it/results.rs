//! The published JSON schema of results, held against what the program writes.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;
use slipway_integration::json_schema::{lost_of, misfits};
use slipway_integration::place::Place;

use crate::{APPLY, PROGRAM, SMALL};

const SCHEMA: &str = include_str!("../../../src/commands/schema/results.v1.schema.json");
/// The schema as programs of others may know it. Copy the published schema here when a release has new fields.
const FROZEN: &str = include_str!("../../../fixtures/schemas/results.v1.schema.json");

/// Checks the JSON of a command against a definition of the schema, and returns it.
fn checked(place: &Place, (code, definition): (i32, &str), command: &[&str]) -> Result<Json> {
    let out = place.expect(code, &[command, &["-o", "json"]].concat())?.out;
    let result: Json = serde_json::from_str(&out).with_context(|| out.clone())?;
    let mut schema: Json = serde_json::from_str(SCHEMA)?;
    schema["$ref"] = format!("#/$defs/{definition}").into();
    let found = misfits(&schema, &result);
    ensure!(found.is_empty(), "{command:?}:\n{}\n{out}", found.join("\n"));
    Ok(result)
}

#[test]
fn the_schema_only_grows() -> Result<()> {
    let lost = lost_of(&serde_json::from_str(FROZEN)?, &serde_json::from_str(SCHEMA)?);
    ensure!(lost.is_empty(), "{}", lost.join("\n"));
    Ok(())
}

#[test]
fn a_rebuilt_and_an_imported_state_are_results() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", SMALL)?;
    place.expect(0, APPLY)?;
    place.expect(0, &["state", "export", "line", "--out", "line.archive"])?;
    let rebuild = ["state", "rebuild", "line", "-f", "spec.yaml", "--force", "--yes"];
    let dry = checked(&place, (2, "found"), &[&rebuild[..], &["--dry-run"]].concat())?;
    ensure!(dry["found"].as_array().is_some_and(|found| found.len() > 1), "{dry}");
    ensure!(dry["missing"] == serde_json::json!([]), "{dry}");
    let rebuilt = checked(&place, (0, "applied"), &rebuild)?;
    ensure!(rebuilt["generation"] == 2 && rebuilt["outcome"] == "complete", "{rebuilt}");
    let import = ["state", "import", "line.archive", "--force", "2", "--yes"];
    ensure!(checked(&place, (0, "applied"), &import)?["generation"] == 3);
    Ok(())
}

#[test]
fn results_are_as_the_schema_says() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", SMALL)?;
    checked(&place, (0, "version"), &["version"])?;
    let created = checked(&place, (0, "store"), &["state", "init"])?;
    ensure!(created["made"] == true, "{created}");
    let providers = checked(&place, (0, "providers"), &["provider", "list"])?;
    ensure!(providers["providers"][0]["name"] == "sim", "{providers}");
    let problems = checked(&place, (0, "diagnostics"), &["spec", "check", "-f", "spec.yaml"])?;
    ensure!(problems["diagnostics"] == serde_json::json!([]), "{problems}");
    let applied = checked(&place, (0, "applied"), APPLY)?;
    ensure!(applied["outcome"] == "complete" && applied["generation"] == 1, "{applied}");
    ensure!(
        applied["steps"]["done"].as_u64() > Some(0) && applied["failures"] == serde_json::json!([]),
        "{applied}"
    );
    ensure!(checked(&place, (0, "applied"), APPLY)?["outcome"] == "nothing");
    place.expect(2, &["plan", "-f", "spec.yaml", "--replace", "sim_network.main", "--out", "state:"])?;
    place.expect(0, &["controller", "pause", "line", "--for", "1h", "--reason", "test"])?;
    let clusters = checked(&place, (0, "clusters"), &["get", "clusters"])?;
    ensure!(clusters["clusters"][0]["pause"]["reason"] == "test", "{clusters}");
    let pools = checked(&place, (0, "pools"), &["get", "pools"])?;
    ensure!(pools["pools"][0]["cluster"] == "line", "{pools}");
    let values = checked(&place, (0, "output"), &["output", "line"])?;
    ensure!(values["cluster"] == "line" && values["generation"] == 1, "{values}");
    let plans = checked(&place, (0, "plans"), &["get", "plans"])?;
    ensure!(plans["plans"][0]["fits"] == true, "{plans}");
    let plan = plans["plans"][0]["plan"].as_str().context("the digest of the plan")?;
    let stored = format!("state:{}", plan.trim_start_matches("sha256:"));
    let approved = checked(&place, (0, "approval"), &["approve", &stored, "--yes"])?;
    ensure!(approved["outcome"] == "approved" && approved["plan"] == plan, "{approved}");
    ensure!(approved["approvals"].as_array().is_some_and(|all| all.len() == 1), "{approved}");
    let revoked = checked(&place, (0, "approval"), &["approve", &stored, "--revoke"])?;
    ensure!(revoked["outcome"] == "revoked" && revoked["approvals"] == serde_json::json!([]), "{revoked}");
    let resources = checked(&place, (0, "resources"), &["state", "list", "line"])?;
    ensure!(resources["resources"].as_array().is_some_and(|all| !all.is_empty()), "{resources}");
    let history = checked(&place, (0, "history"), &["state", "history", "line"])?;
    ensure!(history["generations"][0]["generation"] == 1, "{history}");
    let verification = checked(&place, (0, "verification"), &["state", "verify"])?;
    ensure!(verification["sound"] == true, "{verification}");
    // Changes of the state without a run.
    let (from, to) = ("sim_network.main", "sim_network.other");
    for (number, (from, to)) in [(from, to), (to, from)].into_iter().enumerate() {
        let moved = checked(&place, (0, "applied"), &["state", "mv", "line", from, to, "--yes"])?;
        ensure!(moved["generation"] == 2 + number, "{moved}");
    }
    // A step that fails is a result; an error before the run is a diagnostic.
    place.write("spec.yaml", &SMALL.replace("sim.medium", "sim.large"))?;
    let fault = r#"[{"method": "update", "kind": "fail-before", "class": "permanent"}]"#;
    place.write(".slipway/sim/faults.json", fault)?;
    let failed = checked(&place, (1, "applied"), APPLY)?;
    ensure!(failed["outcome"] == "failed" && failed["generation"].is_null(), "{failed}");
    ensure!(failed["failures"][0]["class"] == "permanent", "{failed}");
    std::fs::remove_file(place.cloud().join("faults.json"))?;
    checked(&place, (1, "diagnostics"), &["delete", "line", "--yes"])?;
    let deleted = checked(&place, (0, "applied"), &["delete", "line", "--yes", "--confirm", "line"])?;
    ensure!(deleted["outcome"] == "complete", "{deleted}");
    // Errors of specs, and other errors.
    place.write("bad.yaml", &SMALL.replace("region:", "regoin:"))?;
    checked(&place, (1, "diagnostics"), &["spec", "check", "-f", "bad.yaml"])?;
    checked(&place, (1, "diagnostics"), &["plan", "-f", "bad.yaml"])?;
    checked(&place, (1, "diagnostics"), &["state", "list", "nope"])?;
    checked(&place, (1, "diagnostics"), &["state", "list"])?;
    Ok(())
}
