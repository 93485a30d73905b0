//! A run is interrupted, and what became of its steps is hard to find out.

use anyhow::{Context as _, Result, ensure};
use slipway_integration::place::Place;

use crate::{APPLY, PLAN, PROGRAM, SMALL};

/// A place where a run was killed in the middle of some steps.
fn interrupted() -> Result<Place> {
    // How records are grouped into writes depends on timing: one of these moments has open steps.
    for write in 3..12 {
        let place = Place::new(PROGRAM)?;
        place.write("spec.yaml", SMALL)?;
        let at = format!("{write}:after");
        let code = place.command(APPLY).env("SLIPWAY_TEST_KILL", at).output()?.status.code();
        ensure!(matches!(code, None | Some(0)), "the killed run ended with {code:?}");
        let copy = Place::new(PROGRAM)?;
        copy.copy_from(&place)?;
        copy.write("spec.yaml", SMALL)?;
        let told = copy.run(APPLY)?;
        if told.err.contains("An earlier run was interrupted at sim_") {
            return Ok(place);
        }
    }
    anyhow::bail!("no kill left a step open")
}

fn faults(place: &Place, class: &str) -> Result<()> {
    let rule = format!(r#"[{{"method": "resume", "kind": "fail-before", "class": "{class}"}}]"#);
    place.write(".slipway/sim/faults.json", &rule).map(drop)
}

fn is_sound(place: &Place) -> Result<()> {
    place.expect(0, PLAN)?;
    ensure!(place.inventory()?.doubled().is_empty(), "something was made twice");
    Ok(())
}

#[test]
fn a_step_that_fails_when_it_is_taken_up_again_stops_no_plan() -> Result<()> {
    let place = interrupted()?;
    faults(&place, "permanent")?;
    let said = place.expect(0, APPLY)?;
    let text = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(text.contains("It was taken up again and failed: "), "{said:?}");
    ensure!(text.contains("The plan goes on from what exists."), "{said:?}");
    is_sound(&place)
}

#[test]
fn a_provider_that_cannot_be_asked_keeps_its_steps_open_and_is_named() -> Result<()> {
    let place = interrupted()?;
    faults(&place, "unauthenticated")?;
    let first = place.expect(1, APPLY)?;
    ensure!(first.err.contains("error[RUN0040]: what became of interrupted steps of line"), "{first:?}");
    let named = first.err.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(named.contains("(provider sim: "), "{first:?}");
    let step =
        named.split_once("is not known: ").and_then(|(_, rest)| rest.split(' ').next()).context("a step")?;
    ensure!(step.starts_with("sim_"), "{step}");
    // Nothing was begun, and nothing is forgotten: it is the same the next time, and a look changes nothing.
    let objects = place.inventory()?.objects.len();
    let second = place.expect(1, APPLY)?;
    ensure!(second.err.contains(step), "{second:?}");
    place.expect(2, PLAN)?;
    ensure!(place.inventory()?.objects.len() == objects);
    std::fs::remove_file(place.cloud().join("faults.json"))?;
    let third = place.expect(0, APPLY)?;
    ensure!(third.err.contains(&format!("An earlier run was interrupted at {step}")), "{third:?}");
    is_sound(&place)
}
