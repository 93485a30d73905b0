//! Adopting the objects of another tool, and exporting a cluster for another tool.

use anyhow::{Context as _, Result, ensure};
use slipway_integration::place::Place;
use slipway_provider_sim::inspect::Tamper;
use slipway_resource::Value;

use crate::{PLAN, PROGRAM, SMALL};

const WORKERS: &str = "\
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: workers }
spec: { role: worker, machineType: sim.medium, size: { fixed: 2 }, image: image-new }
";

fn spec() -> String {
    format!("{SMALL}{WORKERS}")
}

const ADOPT: &[&str] = &["adopt", "-f", "spec.yaml", "--yes"];

/// A place with a cluster without tags and without a state.
fn of_another_tool() -> Result<Place> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", &spec())?;
    place.expect(0, &["apply", "-f", "spec.yaml", "--yes"])?;
    let tamper = Tamper::open(place.cloud());
    for object in place.inventory()?.objects {
        tamper.set_owner(&object.id, None)?;
    }
    std::fs::remove_dir_all(place.state())?;
    Ok(place)
}

fn pool(place: &Place) -> Result<String> {
    let inventory = place.inventory()?;
    let pool = inventory
        .of_type("sim_machine_pool")
        .find(|pool| pool.attributes.get("name").and_then(Value::as_str) == Some("workers"));
    Ok(pool.context("the pool")?.id.clone())
}

#[test]
fn what_another_tool_made_is_taken_over_and_nothing_else_happens() -> Result<()> {
    let place = of_another_tool()?;
    let before = place.inventory()?;
    let shown = place.expect(2, &["adopt", "-f", "spec.yaml", "--dry-run"])?;
    ensure!(shown.out.contains("sim_machine_pool.workers"), "{}", shown.out);
    ensure!(!place.state().exists(), "a dry run has written a state");
    place.expect(0, ADOPT)?;
    ensure!(place.inventory()?.objects == before.objects, "the cloud was changed");
    place.expect(0, PLAN)?;
    let again = place.expect(1, ADOPT)?;
    ensure!(again.err.contains("CLI0050"), "{}", again.err);
    place.expect(0, &["delete", "line", "--yes", "--confirm", "line", "--delete-backups"])?;
    ensure!(place.inventory()?.objects.is_empty(), "what was taken over is not deleted");
    Ok(())
}

/// The addresses that a plan changes.
fn changed(place: &Place) -> Result<Vec<String>> {
    let plan = place.expect(2, &[PLAN, &["-o", "json"]].concat())?;
    let plan: serde_json::Value = serde_json::from_str(&plan.out)?;
    let changes = plan["resource_changes"].as_array().context("changes")?.iter();
    let changes = changes.filter(|change| change["change"]["actions"] != serde_json::json!(["no-op"]));
    Ok(changes.filter_map(|change| change["address"].as_str()).map(str::to_owned).collect())
}

/// Tags of another tool on the network: they are kept until the spec names tags.
#[test]
fn what_no_field_asks_for_stays_as_found_until_one_does() -> Result<()> {
    let place = of_another_tool()?;
    let tamper = Tamper::open(place.cloud());
    let network = place.inventory()?.of_type("sim_network").next().context("the network")?.id.clone();
    tamper.set(&network, &"tags.team".parse()?, "red".into())?;
    let shown = place.expect(0, ADOPT)?;
    ensure!(shown.out.contains("tags.team, which stays as found"), "{}", shown.out);
    place.expect(0, PLAN)?;
    let before = place.inventory()?.objects;
    place.expect(0, &["apply", "-f", "spec.yaml", "--yes"])?;
    ensure!(place.inventory()?.objects == before, "something was changed");
    place.write("spec.yaml", &spec().replacen("spec:", "spec:\n  cloudLabels: { team: blue }", 1))?;
    ensure!(changed(&place)?.iter().any(|address| address.starts_with("sim_network.")));
    place.expect(0, &["apply", "-f", "spec.yaml", "--yes"])?;
    place.expect(0, PLAN)?;
    Ok(())
}

#[test]
fn what_differs_from_a_written_field_is_shown_and_images_stay_as_found() -> Result<()> {
    let place = of_another_tool()?;
    let tamper = Tamper::open(place.cloud());
    let pool = pool(&place)?;
    tamper.set(&pool, &"image".parse()?, "image-old".into())?;
    place.write("spec.yaml", &spec().replace("fixed: 2", "fixed: 3"))?;
    place.expect(0, ADOPT)?;
    let differing = changed(&place)?;
    ensure!(differing == ["sim_machine_pool.workers"], "{differing:?}");
    place.expect(0, &["apply", "-f", "spec.yaml", "--yes"])?;
    place.expect(0, PLAN)?;
    place.write("spec.yaml", &spec().replace("image-new", "image-newer"))?;
    let plan = place.expect(2, PLAN)?;
    ensure!(plan.out.contains("image-old") && plan.out.contains("image-newer"), "{}", plan.out);
    place.expect(0, &["apply", "-f", "spec.yaml", "--yes"])?;
    place.expect(0, PLAN)?;
    Ok(())
}

#[test]
fn twins_are_named_and_nothing_is_guessed() -> Result<()> {
    let place = of_another_tool()?;
    let pool = pool(&place)?;
    let twin = Tamper::open(place.cloud()).duplicate(&pool)?;
    let ended = place.expect(1, ADOPT)?;
    ensure!(ended.err.contains("CLI0051") && ended.err.contains(&twin), "{}", ended.err);
    ensure!(!place.state().exists(), "something was written");
    Ok(())
}

#[test]
fn a_cluster_that_nobody_made_is_not_taken_over() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", &spec())?;
    let ended = place.expect(1, ADOPT)?;
    ensure!(ended.err.contains("RUN0022"), "{}", ended.err);
    Ok(())
}

#[test]
fn a_configuration_of_terraform_imports_what_exists() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", &spec())?;
    let export = |arguments: &[&str]| {
        let export = ["export", "terraform", "-f", "spec.yaml", "--source", "example/sim"];
        place.expect(0, &[&export[..], arguments].concat())
    };
    let refused = place.expect(1, &["export", "terraform", "-f", "spec.yaml", "--out", "main.tf"])?.err;
    ensure!(refused.contains("CLI0097") && refused.contains("--source"), "{refused}");
    ensure!(!place.path().join("main.tf").exists(), "something was written");
    let before = export(&["--offline"])?.out;
    ensure!(before.contains("resource \"sim_machine_pool\" \"workers\""), "{before}");
    ensure!(!before.contains("import {"), "{before}");
    place.expect(0, &["apply", "-f", "spec.yaml", "--yes"])?;
    let after = export(&[])?.out;
    crate::terraform_cases::is_formatted(&before)?;
    crate::terraform_cases::is_formatted(&after)?;
    let made = place.inventory()?.objects.len();
    ensure!(after.matches("import {").count() == made, "{after}");
    for object in place.inventory()?.objects {
        ensure!(after.contains(&format!("\"{}\"", object.id)), "{} is not imported", object.id);
    }
    export(&["--out", "main.tf"])?;
    ensure!(std::fs::read_to_string(place.path().join("main.tf"))? == after, "the file differs");
    Ok(())
}
