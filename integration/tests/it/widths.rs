//! What a terminal shows of an apply, at several widths.

use anyhow::{Context as _, Result, ensure};
use slipway_integration::place::Place;
use slipway_integration::terminal::{rows, typing_at};

use crate::{APPLY, PROGRAM, SMALL};

/// Whether a row is a line of progress or of the result, and not the rest of a line that was too wide.
fn begins_a_line(row: &str) -> bool {
    row.starts_with("✓ ") || row.starts_with("  ") || row.starts_with("00:0") || row.starts_with("Done: ")
}

#[test]
fn progress_fits_into_the_terminal() -> Result<()> {
    let slow = SMALL.replace("{ name: sim }", "{ name: sim, config: { timeScale: 0.005 } }");
    for columns in [60, 80, 100] {
        let place = Place::new(PROGRAM)?;
        place.write("spec.yaml", &slow)?;
        let mut command = place.command(APPLY);
        command.env("TERM", "xterm").env_remove("COLUMNS");
        let applied = typing_at(&command, "", "", columns)?;
        ensure!(applied.code == Some(0), "{}", applied.out);
        let (plan, run) = applied.out.split_once("Digest: ").context("no digest")?;
        // The end of the plan is folded.
        let (_, closing) = plan.rsplit_once("\nPlan: ").context("no counts")?;
        ensure!(closing.contains("Estimated"), "{closing}");
        let widest = format!("Plan: {closing}").lines().map(|line| line.trim_end().chars().count()).max();
        ensure!(widest.is_some_and(|widest| widest <= columns), "{columns}: {closing}");
        // The digest is never folded, so that it can be copied.
        let (_, run) = run.split_once('\n').context("nothing after the digest")?;
        let shown = rows(run, columns);
        let strays: Vec<&String> = shown.iter().filter(|row| !begins_a_line(row)).collect();
        ensure!(strays.is_empty(), "{columns}: {strays:?}\n{shown:#?}");
        // Each step leaves one line, and the run says how long it takes.
        let finished = shown.iter().filter(|row| row.starts_with("✓ ")).count();
        let done = shown.last().context("nothing")?;
        ensure!(done.starts_with(&format!("Done: {finished} steps in ")), "{finished} lines: {done}");
        ensure!(shown.iter().any(|row| row.contains(" left")), "no estimate: {shown:#?}");
    }
    Ok(())
}

/// Ctrl-C is answered at once, and the numbers at the end are right.
#[test]
fn a_stopped_run_tells_what_it_did() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place
        .write("spec.yaml", &SMALL.replace("{ name: sim }", "{ name: sim, config: { timeScale: 0.02 } }"))?;
    let mut command = place.command(APPLY);
    command.env("TERM", "xterm").env_remove("COLUMNS");
    let stopped = typing_at(&command, "\u{3}", "✓ ", 80)?;
    ensure!(stopped.code.is_some_and(|code| code != 0), "{:?}: {}", stopped.code, stopped.out);
    ensure!(stopped.out.contains("Stopping: what is under way is finished"), "{}", stopped.out);
    let (plan, run) = stopped.out.split_once("Digest: ").context("no digest")?;
    let (_, counts) = plan.rsplit_once("Plan: ").context("no counts")?;
    let steps: usize = counts.split(' ').next().context("no count")?.parse()?;
    let shown = rows(run, 80);
    let finished = shown.iter().filter(|row| row.starts_with("✓ ")).count();
    let rest = steps.checked_sub(finished).context("more lines than steps")?;
    let wanted = format!("Not complete: {finished} steps done, 0 failed, {rest} not started");
    ensure!(rest > 0 && stopped.out.contains(&wanted), "no {wanted}: {shown:#?}");
    Ok(())
}
