//! The history has the runs that made no generation: actor, time and progress.

use std::io::Read as _;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;
use slipway_integration::place::{Ended, Place};
use slipway_testkit::fake_gcs::Uploads;
use slipway_testkit::{Azurite, FakeGcs};

use crate::crash::{APPLY, SMALL, command, on_s3};
use crate::{PLAN, PROGRAM};

fn history(place: &Place) -> Result<Json> {
    let answer = Ended::of(command(place, &["state", "history", "crash", "-o", "json"]).output()?)?;
    ensure!(answer.code == Some(0), "{}", answer.err);
    Ok(serde_json::from_str(&answer.out)?)
}

fn apply(place: &Place, environment: &[(&str, &str)]) -> Result<Ended> {
    Ended::of(command(place, APPLY).envs(environment.iter().copied()).output()?)
}

fn killed_failed_and_taken_up(place: &Place) -> Result<()> {
    place.write("spec.yaml", SMALL)?;
    ensure!(apply(place, &[])?.code == Some(0));
    place.write("spec.yaml", &SMALL.replace("zones: [sim-1a]", "zones: [sim-1a, sim-1b]"))?;

    let killed = apply(place, &[("SLIPWAY_ACTOR", "ada@example.com"), ("SLIPWAY_TEST_KILL", "8:after")])?;
    ensure!(killed.code.is_none(), "it was not killed: {}", killed.err);
    let before = history(place)?;
    ensure!(before["running"]["who"] == "ada@example.com", "before anybody took over: {before}");
    ensure!(before["runs"].as_array().is_some_and(Vec::is_empty), "{before}");

    // A run that continues it, and of which a step fails.
    place.write(
        ".slipway/sim/faults.json",
        r#"[{ "method": "update", "type": "sim_machine_pool", "kind": "fail-before", "class": "permanent" }]"#,
    )?;
    let failed = apply(place, &[("SLIPWAY_ACTOR", "bob@example.com")])?;
    ensure!(failed.code == Some(1), "{}{}", failed.out, failed.err);
    std::fs::remove_file(place.cloud().join("faults.json"))?;
    ensure!(apply(place, &[])?.code == Some(0));
    place.expect(0, PLAN)?;

    let after = history(place)?;
    ensure!(
        after["running"].is_null() && after["generations"].as_array().map(Vec::len) == Some(2),
        "{after}"
    );
    let told: Vec<String> = after["runs"]
        .as_array()
        .context("runs")?
        .iter()
        .map(|run| {
            format!("{} {} {} {}", run["who"], run["operation"], run["outcome"], run["after_generation"])
        })
        .collect();
    let wanted = [r#""bob@example.com" "apply" "failed" 1"#, r#""ada@example.com" "apply" "interrupted" 1"#];
    ensure!(told == wanted, "{told:?}");
    for run in after["runs"].as_array().into_iter().flatten() {
        ensure!(run["what"].as_str().is_some_and(|what| what.contains("done")), "what it did: {run}");
        ensure!(run["when"].is_string(), "{run}");
    }
    let text = Ended::of(command(place, &["state", "history", "crash"]).output()?)?.out;
    let lines: Vec<&str> = text.lines().collect();
    ensure!(lines.len() == 5 && lines[1].starts_with('2') && lines[4].starts_with('1'), "{text}");
    ensure!(lines[2].contains("failed") && lines[3].contains("interrupted"), "{text}");
    // The entry is kept for ever, and `state verify` does not report it.
    place.expect(0, &["state", "gc", "crash", "--keep", "0", "--yes"])?;
    place.expect(0, &["state", "verify", "crash"])?;
    ensure!(history(place)?["runs"] == after["runs"], "it was forgotten");
    Ok(())
}

#[test]
fn runs_that_made_no_generation_are_told_of() -> Result<()> {
    killed_failed_and_taken_up(&Place::new(PROGRAM)?)
}

#[test]
fn runs_that_made_no_generation_are_told_of_in_a_bucket() -> Result<()> {
    killed_failed_and_taken_up(&on_s3()?)
}

/// A place with its state in another store. The store is checked in advance, because the check takes longer than a short lease.
fn on(url: &str, mut environment: Vec<(String, String)>) -> Result<Place> {
    environment.push(("SLIPWAY_STATE".to_owned(), url.to_owned()));
    let place = Place::new(PROGRAM)?.with_environment(environment);
    place.expect(0, &["state", "init"])?;
    Ok(place.with_environment([("SLIPWAY_TEST_TERM".to_owned(), "2".to_owned())]))
}

#[test]
fn runs_that_made_no_generation_are_told_of_in_a_container_of_azure() -> Result<()> {
    let server = Azurite::start()?;
    server.create_container("state")?;
    killed_failed_and_taken_up(&on("az://state/runs", server.environment())?)
}

#[test]
fn runs_that_made_no_generation_are_told_of_in_a_bucket_of_google() -> Result<()> {
    let server = FakeGcs::start()?;
    server.create_bucket("state")?;
    let front = server.front(Uploads::Conditional)?;
    let emulator = vec![("STORAGE_EMULATOR_HOST".to_owned(), front.endpoint())];
    killed_failed_and_taken_up(&on("gs://state/runs", emulator)?)
}

/// As with `slipway apply … | head -1`: the reader goes after the plan, and before the result.
#[test]
fn a_run_that_nobody_reads_to_its_end_is_complete() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", crate::SMALL)?;
    let mut process = place.command(crate::APPLY).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut reader = process.stdout.take().context("its output")?;
    // The plan fits the pipe, so that all of it is written when its beginning can be read.
    ensure!(reader.read(&mut [0; 1])? == 1, "no plan");
    drop(reader);
    let ended = Ended::of(process.wait_with_output()?)?;
    ensure!(ended.code == Some(0), "{ended:?}");
    place.expect(0, &["plan", "-f", "spec.yaml"])?;
    let moved = ["state", "mv", "line", "sim_network.main", "sim_network.other", "--yes"];
    let mut process = place.command(&moved).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    drop(process.stdout.take());
    let ended = Ended::of(process.wait_with_output()?)?;
    ensure!(ended.code == Some(0), "{ended:?}");
    // A plan that nobody sees is not carried out.
    place.write("spec.yaml", &crate::state::larger())?;
    let mut process = place.command(crate::APPLY).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    drop(process.stdout.take());
    let ended = Ended::of(process.wait_with_output()?)?;
    ensure!(ended.code == Some(1), "{ended:?}");
    ensure!(place.expect(0, &["state", "history", "line"])?.out.lines().count() == 3, "it was carried out");
    Ok(())
}
