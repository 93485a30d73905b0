//! Two operators at once, and what interrupting a run does.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use slipway_integration::place::{Ended, Place};

use crate::PROGRAM;

/// The rollout's cluster, slow enough to be met at work: a simulated second takes 40 ms.
fn slow(image: &str) -> String {
    include_str!("rollout.yaml")
        .replace("image-1", image)
        .replace("    name: sim\n", "    name: sim\n    config: { timeScale: 0.04 }\n")
}

#[test]
fn of_two_applies_one_runs_and_the_other_says_who_holds_the_cluster() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", &slow("image-1"))?;
    let first = place
        .command(&["apply", "-f", "spec.yaml", "--yes"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    wait_for(|| place.state().join("roll/head").exists()).context("the first apply begins")?;
    let second = place.run(&["apply", "-f", "spec.yaml", "--yes"])?;
    ensure!(second.code == Some(1), "{second:?}");
    for part in ["roll is held by tester@", "(process ", "who runs `apply` since 2", ", for ", "hint:"] {
        ensure!(second.err.contains(part), "no `{part}` in: {}", second.err);
    }
    // Preflight may meet objects that were made since they were listed.
    let plan = place.run(&["plan", "-f", "spec.yaml", "--no-preflight"])?;
    ensure!(plan.code == Some(2), "a plan needs no hold: {plan:?}");
    let waited = place.run(&["apply", "-f", "spec.yaml", "--yes", "--wait", "2m"])?;
    ensure!(waited.code == Some(0), "{waited:?}");
    let first = Ended::of(first.wait_with_output()?)?;
    ensure!(first.code == Some(0), "{first:?}");
    ensure!(!waited.err.contains("interrupted"), "{}", waited.err);
    let history = place.expect(0, &["state", "history", "roll"])?;
    ensure!(!history.out.contains("nothing changed"), "an empty generation: {}", history.out);
    place.expect(0, &["plan", "-f", "spec.yaml"])?;
    Ok(())
}

#[test]
fn of_five_applies_one_does_the_work_and_the_others_find_it_done() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", &slow("image-1").replace("timeScale: 0.04", "timeScale: 0.01"))?;
    let apply = ["apply", "-f", "spec.yaml", "--yes", "--wait", "2m"];
    let runs: Vec<Child> = ["ada", "bob", "carol", "dan", "eve"]
        .into_iter()
        .map(|who| {
            place.command(&apply).env("USER", who).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
        })
        .collect::<std::io::Result<_>>()?;
    let mut worked = 0;
    for run in runs {
        let ended = Ended::of(run.wait_with_output()?)?;
        ensure!(ended.code == Some(0), "{ended:?}");
        worked += usize::from(ended.out.contains("Done: "));
    }
    ensure!(worked == 1, "{worked} runs had steps to do");
    ensure!(place.inventory()?.doubled().is_empty(), "objects are doubled");
    let history = place.expect(0, &["state", "history", "roll"])?;
    ensure!(!history.out.contains("nothing changed"), "an empty generation: {}", history.out);
    place.expect(0, &["plan", "-f", "spec.yaml"])?;
    place.expect(0, &["state", "verify", "roll"])?;
    Ok(())
}

#[test]
fn the_first_interrupt_finishes_what_is_under_way_and_the_next_run_goes_on() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", &slow("image-1"))?;
    let apply = ["apply", "-f", "spec.yaml", "--yes"];
    let run = place.command(&apply).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    wait_for(|| place.inventory().is_ok_and(|inventory| inventory.objects.len() > 5))?;
    signal(&run, "INT")?;
    let ended = Ended::of(run.wait_with_output()?)?;
    ensure!(ended.code == Some(1), "{ended:?}");
    ensure!(ended.out.contains("Not complete"), "{}", ended.out);
    // Everything that the cloud has was recorded: a resumed run creates nothing twice.
    let before: Vec<String> = place.inventory()?.objects.iter().map(|object| object.id.clone()).collect();
    place.expect(0, &apply)?;
    let after: Vec<String> = place.inventory()?.objects.iter().map(|object| object.id.clone()).collect();
    ensure!(before.iter().all(|id| after.contains(id)), "something was made anew");
    ensure!(place.inventory()?.doubled().is_empty());
    place.expect(0, &["plan", "-f", "spec.yaml"])?;
    Ok(())
}

#[test]
fn the_second_interrupt_stops_at_once_and_the_next_run_finds_out() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", &slow("image-1"))?;
    let apply = ["apply", "-f", "spec.yaml", "--yes"];
    let run = place.command(&apply).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    wait_for(|| place.inventory().is_ok_and(|inventory| !inventory.machines.is_empty()))?;
    let begun = Instant::now();
    signal(&run, "INT")?;
    std::thread::sleep(Duration::from_millis(50));
    signal(&run, "INT")?;
    let ended = Ended::of(run.wait_with_output()?)?;
    ensure!(ended.code == Some(1), "{ended:?}");
    ensure!(begun.elapsed() < Duration::from_secs(5), "took {:?}", begun.elapsed());
    let again = place.expect(0, &apply)?;
    ensure!(again.err.contains("An earlier run was interrupted"), "{}", again.err);
    ensure!(place.inventory()?.doubled().is_empty());
    place.expect(0, &["plan", "-f", "spec.yaml"])?;
    Ok(())
}

fn wait_for(condition: impl Fn() -> bool) -> Result<()> {
    let begun = Instant::now();
    while !condition() {
        ensure!(begun.elapsed() < Duration::from_secs(30), "it did not happen in 30 s");
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn signal(process: &Child, name: &str) -> Result<()> {
    let status =
        std::process::Command::new("kill").args([&format!("-{name}"), &process.id().to_string()]).status()?;
    ensure!(status.success(), "kill -{name} failed");
    Ok(())
}
