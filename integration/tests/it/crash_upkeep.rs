//! The program is killed inside `state gc` and `state rebuild`. The same command again ends as the undisturbed one did, and
//! the cloud is unchanged.

use anyhow::{Context as _, Result, bail, ensure};
use slipway_integration::place::{Ended, Place};

use crate::crash::shape;
use crate::state::{applied, larger};
use crate::{APPLY, PLAN, PROGRAM, SMALL};

/// How many kills of one command run without `SLIPWAY_CRASH=all`.
const SAMPLE: usize = 8;

const GC: &[&str] = &["state", "gc", "--keep", "0", "--yes"];
const REBUILD: &[&str] = &["state", "rebuild", "line", "-f", "spec.yaml", "--yes"];

/// A cluster with four generations and a stored plan of each.
fn with_a_past() -> Result<Place> {
    let place = applied()?;
    for spec in [larger(), SMALL.to_owned(), larger()] {
        place.write("spec.yaml", &spec)?;
        place.expect(2, &[PLAN, &["--out", "state:"]].concat())?;
        place.expect(0, APPLY)?;
    }
    Ok(place)
}

/// A copy of a place, after what happens before the killed command.
fn copy(start: &Place, prepare: fn(&Place) -> Result<()>) -> Result<Place> {
    let place = Place::new(PROGRAM)?;
    place.copy_from(start)?;
    place.write("spec.yaml", &larger())?;
    prepare(&place)?;
    Ok(place)
}

/// The names of a cluster's snapshots and plans in the state.
fn stored(place: &Place) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for folder in ["snapshots", "plans"] {
        let folder = place.state().join("line").join(folder);
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            names.push(entry?.path().strip_prefix(place.state())?.display().to_string());
        }
    }
    names.sort();
    Ok(names)
}

/// Kills a command at its writes, and calls `judge` with each place afterwards.
fn survive(
    arguments: &[&str],
    prepare: fn(&Place) -> Result<()>,
    judge: impl Fn(&Place, &Place) -> Result<()>,
) -> Result<()> {
    let start = with_a_past()?;
    let cloud = shape(&start)?;
    let undisturbed = copy(&start, prepare)?;
    let count = undisturbed.path().join("count");
    let ended = Ended::of(undisturbed.command(arguments).env("SLIPWAY_TEST_COUNT", &count).output()?)?;
    ensure!(ended.code == Some(0), "undisturbed: {ended:?}");
    let writes: usize = std::fs::read_to_string(&count)?.parse()?;
    ensure!(writes >= 5, "only {writes} writes can be interrupted");
    let all = std::env::var("SLIPWAY_CRASH").is_ok_and(|value| value == "all");
    // An odd number, so that both moments are met.
    let stride = if all { 1 } else { (writes * 2).div_ceil(SAMPLE) | 1 };
    let mut killed = 0;
    for kill in (0..writes * 2).step_by(stride) {
        let moment = if kill % 2 == 0 { "before" } else { "after" };
        let at = format!("{}:{moment}", kill / 2);
        let place = copy(&start, prepare)?;
        let ended = Ended::of(place.command(arguments).env("SLIPWAY_TEST_KILL", &at).output()?)?;
        // Several objects are removed at once, so the end of a single removal may not be met.
        ensure!(matches!(ended.code, None | Some(0)), "killed at {at}: {ended:?}");
        killed += usize::from(ended.code.is_none());
        judge(&place, &undisturbed).with_context(|| format!("killed at {at} of {writes} writes"))?;
        ensure!(shape(&place)? == cloud, "killed at {at}: the cloud is another one");
    }
    ensure!(killed >= 3, "only {killed} runs were killed");
    Ok(())
}

#[test]
fn a_killed_collection_of_garbage_loses_nothing_that_is_kept() -> Result<()> {
    survive(
        GC,
        |_| Ok(()),
        |place, undisturbed| {
            place.expect(0, &["state", "verify", "line"])?;
            place.expect(0, PLAN)?;
            place.expect(0, GC)?;
            ensure!(stored(place)? == stored(undisturbed)?, "{:?}", stored(place)?);
            place.expect(0, &["state", "verify", "line"])?;
            place.expect(0, PLAN)?;
            Ok(())
        },
    )
}

#[test]
fn a_killed_rebuild_is_done_again() -> Result<()> {
    let lose_head =
        |place: &Place| -> Result<()> { Ok(std::fs::remove_file(place.state().join("line/head"))?) };
    survive(REBUILD, lose_head, |place, _| {
        let again = place.run(REBUILD)?;
        match again.code {
            Some(0) => {}
            // The killed run had written the head, so the state is sound.
            Some(1) if again.err.contains("CLI0037") => {}
            _ => bail!("the rebuild does not go on: {again:?}"),
        }
        place.expect(0, APPLY)?;
        place.expect(0, PLAN)?;
        let verified = place.expect(0, &["state", "verify", "line"])?;
        ensure!(!verified.out.contains("state rebuild"), "{verified:?}");
        Ok(())
    })
}
