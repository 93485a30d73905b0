//! A run is interrupted, and the results of its steps are hard to find out.

use anyhow::{Context as _, Result, ensure};
use slipway_integration::place::Place;
use slipway_state_store::ClusterName;

use crate::{APPLY, PLAN, PROGRAM, SMALL};

/// A place where a run was killed in the middle of some steps.
fn interrupted(new: impl Fn() -> Result<Place>) -> Result<Place> {
    interrupted_patiently(new, "0s")
}

/// The same, where commands wait up to `wait` for the killed run.
fn interrupted_patiently(new: impl Fn() -> Result<Place>, wait: &str) -> Result<Place> {
    // How records are grouped into writes depends on timing: one of these moments has open steps.
    for write in 3..12 {
        let place = new()?;
        place.write("spec.yaml", SMALL)?;
        let at = format!("{write}:after");
        let code = place.command(APPLY).env("SLIPWAY_TEST_KILL", at).output()?.status.code();
        ensure!(matches!(code, None | Some(0)), "the killed run ended with {code:?}");
        let copy = new()?;
        copy.copy_from(&place)?;
        copy.write("spec.yaml", SMALL)?;
        let told = copy.run(&[APPLY, &["--wait", wait]].concat())?;
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
    let place = interrupted(|| Place::new(PROGRAM))?;
    faults(&place, "permanent")?;
    let said = place.expect(0, APPLY)?;
    let text = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(text.contains("It was taken up again and failed: "), "{said:?}");
    ensure!(text.contains("The plan goes on from what exists."), "{said:?}");
    is_sound(&place)
}

/// A resource with an unresolved step is deferred; all resources that do not depend on it are changed.
#[test]
fn a_step_that_nobody_can_be_asked_about_stops_no_other_work() -> Result<()> {
    let place = interrupted(|| Place::new(PROGRAM))?;
    faults(&place, "unauthenticated")?;
    let before = place.inventory()?.objects.len();
    let first = place.expect(1, APPLY)?;
    ensure!(first.err.contains("error[RUN0040]: what became of interrupted steps of line"), "{first:?}");
    let named = first.err.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(named.contains("(provider sim: "), "{first:?}");
    let step =
        named.split_once("is not known: ").and_then(|(_, rest)| rest.split(' ').next()).context("a step")?;
    ensure!(step.starts_with("sim_"), "{step}");
    let planned = first.out.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(planned.contains("an earlier run was interrupted while it changed this resource"), "{planned}");
    // The next one knows of the same steps, although the numbers of its plan's steps are others.
    let after = place.inventory()?.objects.len();
    ensure!(after >= before, "{after} of {before} objects");
    let second = place.expect(1, APPLY)?;
    ensure!(second.err.contains("RUN0040") && second.err.contains(step), "{second:?}");
    let changed = SMALL.replace("sim.medium", "sim.large");
    ensure!(changed != SMALL, "another spec");
    place.write("spec.yaml", &changed)?;
    let other = place.expect(1, APPLY)?;
    ensure!(other.err.contains("RUN0040") && other.err.contains(step), "{other:?}");
    // A look at the history and a plan change nothing.
    place.expect(2, PLAN)?;
    std::fs::remove_file(place.cloud().join("faults.json"))?;
    let last = place.expect(0, APPLY)?;
    ensure!(last.err.contains(&format!("An earlier run was interrupted at {step}")), "{last:?}");
    is_sound(&place)
}

/// An unresolved step in one part of a cluster: other parts are created meanwhile, and nothing is created
/// twice.
#[test]
fn parts_that_an_unresolved_step_has_nothing_to_do_with_are_made() -> Result<()> {
    let mut made = 0;
    for write in 3..12 {
        let place = Place::new(PROGRAM)?;
        place.write("spec.yaml", SMALL)?;
        place.command(APPLY).env("SLIPWAY_TEST_KILL", format!("{write}:after")).output()?;
        faults(&place, "unauthenticated")?;
        let before = place.inventory()?.objects.len();
        let said = place.run(APPLY)?;
        if said.code == Some(1) && said.err.contains("RUN0040") {
            made += place.inventory()?.objects.len().saturating_sub(before);
        }
        std::fs::remove_file(place.cloud().join("faults.json"))?;
        place.expect(0, APPLY)?;
        is_sound(&place)?;
    }
    ensure!(made > 0, "nothing was made beside unresolved steps");
    Ok(())
}

/// The holder of the cluster.
fn holder(place: &Place) -> Result<Option<String>> {
    let backend = place.backend()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let head = runtime.block_on(slipway_state_store::read_head(&*backend, &ClusterName::new("line")?))?;
    Ok(head.context("a head")?.0.holder.map(|holder| holder.who))
}

/// A run that leaves steps unresolved releases its lease at once.
#[test]
fn a_run_that_leaves_steps_unresolved_lets_the_cluster_go() -> Result<()> {
    let in_a_bucket = || {
        let term = ("SLIPWAY_TEST_TERM".to_owned(), "2".to_owned());
        Ok(Place::on_s3(PROGRAM)?.with_environment([term]))
    };
    for (new, wait) in
        [(&(|| Place::new(PROGRAM)) as &dyn Fn() -> Result<Place>, "0s"), (&in_a_bucket, "30s")]
    {
        // In a bucket, the killed run counts as the holder until its lease has ended.
        let place = interrupted_patiently(new, wait)?;
        ensure!(holder(&place)?.is_some(), "the killed run holds the cluster");
        faults(&place, "unauthenticated")?;
        let waiting = [APPLY, &["--wait", wait]].concat();
        let refused = place.expect(1, &waiting)?;
        ensure!(refused.err.contains("RUN0040"), "{}", refused.err);
        ensure!(holder(&place)?.is_none(), "the hold was not given back");
        let again = place.expect(1, APPLY)?;
        ensure!(again.err.contains("RUN0040"), "somebody has to wait: {}", again.err);
        std::fs::remove_file(place.cloud().join("faults.json"))?;
        place.expect(0, APPLY)?;
        is_sound(&place)?;
    }
    Ok(())
}
