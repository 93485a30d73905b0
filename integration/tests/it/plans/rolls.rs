//! Rolls that were asked for and did not end.

use anyhow::{Result, ensure};
use slipway_integration::place::Place;

use super::shared::*;
use crate::{APPLY, PLAN};

const ROLL: &[&str] = &["roll", "-f", "spec.yaml", "--pool", "workers", "--yes"];

/// A cluster with three workers, and a roll of them that is killed after a write to the state.
struct Interrupted {
    place: Place,
    /// The workers before the roll.
    before: Vec<String>,
    /// Those of them that the roll has not removed.
    left: Vec<String>,
    /// The machines that it has started.
    started: Vec<String>,
}

impl Interrupted {
    /// `None` if there are no so many writes.
    fn at(write: u32) -> Result<Option<Self>> {
        let place = applied(&spec().replace("fixed: 2", "fixed: 3"))?;
        let before = machines("workers", &place)?;
        let ended = place.command(ROLL).env("SLIPWAY_TEST_KILL", format!("{write}:after")).output()?;
        if ended.status.code().is_some() {
            return Ok(None);
        }
        let (left, started) =
            machines("workers", &place)?.into_iter().partition(|machine| before.contains(machine));
        Ok(Some(Self { place, before, left, started }))
    }
}

#[test]
fn a_killed_roll_is_continued_and_keeps_the_machines_that_it_has_started() -> Result<()> {
    let mut seen = 0;
    for (write, command) in [(5, ROLL), (11, APPLY), (17, ROLL), (23, APPLY), (29, ROLL)] {
        let Some(Interrupted { place, before, left, started }) = Interrupted::at(write)? else { continue };
        if left.is_empty() {
            continue;
        }
        seen += 1;
        let planned = place.expect(2, PLAN)?.out;
        ensure!(planned.contains("sim_machine_pool.workers"), "{write}: {planned}");
        ensure!(!planned.contains("Changed outside Slipway"), "{write}: {planned}");
        place.expect(0, command)?;
        let now = machines("workers", &place)?;
        ensure!(
            now.len() == 3 && !now.iter().any(|one| before.contains(one)),
            "{write}: {before:?} → {now:?}"
        );
        ensure!(started.iter().all(|one| now.contains(one)), "{write}: {started:?} → {now:?}");
        place.expect(0, PLAN)?;
        place.expect(0, &["drift", "small"])?;
    }
    ensure!(seen >= 2, "{seen} rolls were interrupted");
    Ok(())
}

#[test]
fn a_roll_that_is_complete_is_begun_again_by_the_same_command() -> Result<()> {
    let place = applied(&spec())?;
    let first = machines("workers", &place)?;
    place.expect(0, ROLL)?;
    let second = machines("workers", &place)?;
    place.expect(0, ROLL)?;
    let third = machines("workers", &place)?;
    for (before, after) in [(&first, &second), (&second, &third)] {
        ensure!(after.len() == 2 && !after.iter().any(|one| before.contains(one)), "{before:?} → {after:?}");
    }
    Ok(())
}

#[test]
fn an_unfinished_roll_is_abandoned_or_begun_again() -> Result<()> {
    let Some(Interrupted { place, left, .. }) = Interrupted::at(5)? else {
        anyhow::bail!("the roll was not interrupted")
    };
    place.expect(0, &[ROLL, &["--abandon"]].concat())?;
    let now = machines("workers", &place)?;
    ensure!(now.len() == 3 && now.iter().any(|one| left.contains(one)), "{left:?} → {now:?}");
    place.expect(0, PLAN)?;
    let refused = place.expect(1, &[ROLL, &["--abandon"]].concat())?;
    ensure!(refused.err.contains("error[CLI0077]"), "{}", refused.err);

    let Some(Interrupted { place, started, .. }) = Interrupted::at(17)? else {
        anyhow::bail!("the roll was not interrupted")
    };
    place.expect(0, &[ROLL, &["--restart"]].concat())?;
    let now = machines("workers", &place)?;
    ensure!(now.len() == 3 && !now.iter().any(|one| started.contains(one)), "{started:?} → {now:?}");
    place.expect(0, PLAN)?;
    Ok(())
}

/// The record of the pool gets another address, and the plan gives it the old one again, which the spec has.
#[test]
fn an_unfinished_roll_follows_the_record_of_its_pool() -> Result<()> {
    let Some(Interrupted { place, before, .. }) = Interrupted::at(11)? else {
        anyhow::bail!("the roll was not interrupted")
    };
    // A commit that leaves the pool out: the journal is empty, and the state has the roll.
    place.expect(0, &["apply", "-f", "spec.yaml", "--target", "sim_network.main", "--yes"])?;
    let (pool, other) = ("sim_machine_pool.workers", "sim_machine_pool.others");
    let moved = place.expect(0, &["state", "mv", "small", pool, other, "--yes", "--confirm", pool])?;
    ensure!(moved.err.contains(&format!("It continues at {other}")), "{moved:?}");
    let planned = place.expect(2, PLAN)?.out;
    ensure!(planned.contains("that roll did not end"), "{planned}");
    place.expect(0, APPLY)?;
    let now = machines("workers", &place)?;
    ensure!(now.len() == 3 && !now.iter().any(|one| before.contains(one)), "{before:?} → {now:?}");
    place.expect(0, PLAN)?;
    Ok(())
}

/// The second machine that the roll starts never becomes ready.
#[test]
fn a_saved_plan_takes_up_a_roll_that_failed() -> Result<()> {
    let place = applied(&spec())?;
    let save = |pool: &str, more: &[&str], file: &str| {
        let roll = ["roll", "-f", "spec.yaml", "--pool", pool, "--dry-run", "--out", file];
        place.expect(2, &[&roll[..], more].concat())
    };
    save("control-plane", &[], "before.plan")?;
    let faults = r#"[{ "method": "launch", "nth": 2, "kind": "never-ready" }]"#;
    place.write(".slipway/sim/faults.json", faults)?;
    let failed = place.expect(1, ROLL)?;
    let said = [failed.out, failed.err].concat();
    ensure!(said.contains("--restart` begins it again") && !said.contains("--abandon` ends it"), "{said}");
    std::fs::remove_file(place.cloud().join("faults.json"))?;
    let before = machines("workers", &place)?;
    save("workers", &["--restart"], "restart.plan")?;
    let refused = place.expect(1, &["apply", "before.plan", "--yes"])?.err;
    ensure!(
        refused.contains("error[RUN0005]") && refused.contains("`slipway plan --out` again"),
        "{refused}"
    );
    place.expect(0, &["apply", "restart.plan", "--yes"])?;
    let now = machines("workers", &place)?;
    ensure!(now.len() == 2 && !now.iter().any(|one| before.contains(one)), "{before:?} → {now:?}");
    place.expect(0, PLAN)?;
    Ok(())
}

/// A plan that is made while the result of a step is not known may be refused. The one after it is not.
#[test]
fn saved_plans_take_up_a_roll_that_was_killed() -> Result<()> {
    let mut seen = 0;
    for write in [5, 12, 19] {
        let Some(Interrupted { place, before, .. }) = Interrupted::at(write)? else { continue };
        seen += 1;
        let save = [PLAN, &["--out", "next.plan"]].concat();
        let said = place.expect(2, &save)?.err;
        let ended = place.run(&["apply", "next.plan", "--yes"])?;
        if ended.code != Some(0) {
            ensure!(said.contains("refuses this saved plan with RUN0005"), "{write}: {said}");
            ensure!(ended.err.contains("error[RUN0005]"), "{write}: {ended:?}");
            place.expect(2, &save)?;
            place.expect(0, &["apply", "next.plan", "--yes"])?;
        }
        let now = machines("workers", &place)?;
        ensure!(
            now.len() == 3 && !now.iter().any(|one| before.contains(one)),
            "{write}: {before:?} → {now:?}"
        );
        place.expect(0, PLAN)?;
    }
    ensure!(seen >= 2, "{seen} rolls were interrupted");
    Ok(())
}
