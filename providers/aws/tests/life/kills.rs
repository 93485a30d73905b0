//! The program is killed at writes to its state, right before and right after: the next run comes to the same end, and the
//! cloud has nothing twice and nothing that nobody knows of.

use anyhow::{Context as _, Result, ensure};
use slipway_integration::place::Ended;

use crate::faults::difference;
use crate::several::each;
use crate::world::{HIGHLY_AVAILABLE, MINIMAL, World};

const APPLY: &[&str] = &["apply", "-f", "spec.yaml", "--yes"];
const DELETE: &[&str] = &["delete", "-f", "spec.yaml", "--yes", "--delete-backups"];

/// A kill at a write.
#[derive(Clone, Copy, Debug)]
struct Kill {
    write: usize,
    moment: &'static str,
}

/// Kills of some writes: all, or that many over the whole run, before and after in turn.
fn kills(writes: usize, sample: usize) -> Vec<Kill> {
    let all = std::env::var("SLIPWAY_CRASH").is_ok_and(|value| value == "all");
    let moments = |number: usize| Kill {
        write: number / 2,
        moment: if number.is_multiple_of(2) { "before" } else { "after" },
    };
    let stride = if all { 1 } else { (writes * 2).div_ceil(sample).max(1) | 1 };
    (0..writes * 2).step_by(stride).map(moments).collect()
}

pub fn minimal_create() -> Result<()> {
    survive(MINIMAL, APPLY, kills, 8)
}

pub fn minimal_delete() -> Result<()> {
    survive(MINIMAL, DELETE, kills, 8)
}

/// The choice is stratified also where all is asked for: each kill of a large cluster takes a while.
pub fn highly_available() -> Result<()> {
    let all = std::env::var("SLIPWAY_CRASH").is_ok_and(|value| value == "all");
    let sample = if all { 24 } else { 4 };
    let stratified = |writes: usize, sample: usize| {
        let moment = |number: usize| if number.is_multiple_of(2) { "before" } else { "after" };
        (0..sample)
            .map(|number| Kill { write: (2 * number + 1) * writes / (2 * sample), moment: moment(number) })
            .collect()
    };
    survive(HIGHLY_AVAILABLE, APPLY, stratified, sample)?;
    survive(HIGHLY_AVAILABLE, DELETE, stratified, sample)
}

fn survive(
    spec: &str,
    arguments: &[&str],
    choose: fn(usize, usize) -> Vec<Kill>,
    sample: usize,
) -> Result<()> {
    let (writes, wanted) = undisturbed(spec, arguments)?;
    let chosen = choose(writes, sample);
    eprintln!("{}: {} kills at {writes} writes", arguments[0], chosen.len());
    each(&chosen, |world, kill| {
        one(world, spec, arguments, *kill, &wanted).with_context(|| format!("killed at {kill:?} of {writes}"))
    })
}

/// How many writes there are, and what there is in the end.
fn undisturbed(spec: &str, arguments: &[&str]) -> Result<(usize, Vec<String>)> {
    let world = World::new()?;
    prepare(&world, spec, arguments)?;
    let count = world.place().path().join("count");
    let ended = Ended::of(world.place().command(arguments).env("SLIPWAY_TEST_COUNT", &count).output()?)?;
    ensure!(ended.code == Some(0), "undisturbed: {ended:?}");
    Ok((std::fs::read_to_string(&count)?.parse()?, world.shape()?))
}

fn prepare(world: &World, spec: &str, arguments: &[&str]) -> Result<()> {
    world.spec(spec)?;
    if arguments == DELETE {
        world.apply()?;
    }
    Ok(())
}

fn one(world: &World, spec: &str, arguments: &[&str], kill: Kill, wanted: &[String]) -> Result<()> {
    prepare(world, spec, arguments)?;
    let at = format!("{}:{}", kill.write, kill.moment);
    let killed = Ended::of(world.place().command(arguments).env("SLIPWAY_TEST_KILL", at).output()?)?;
    // Many records share a write as they happen to come: this run may have needed fewer.
    ensure!(matches!(killed.code, None | Some(0)), "the killed run: {killed:?}");
    let again = world.place().run(arguments)?;
    ensure!(again.code == Some(0), "the next run: {again:?}");
    let found = world.shape()?;
    ensure!(found == wanted, "{}", difference(&found, wanted));
    if arguments == APPLY { world.is_settled() } else { world.is_empty() }
}
