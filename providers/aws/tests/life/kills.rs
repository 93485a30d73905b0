//! The program is killed at writes to its state, right before and right after. The next run has the normal
//! result, and the cloud has no object twice, and none that the state does not know.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use slipway_integration::place::Ended as Process;

use crate::faults::difference;
use crate::several::each_from;
use crate::world::{APPLY, DELETE, HIGHLY_AVAILABLE, MINIMAL, World};

/// A kill at a write.
#[derive(Clone, Copy, Debug)]
struct Kill {
    write: usize,
    moment: &'static str,
}

impl Kill {
    /// The kill of a number: each write has two, right before and right after.
    fn number(number: usize) -> Self {
        Self { write: number / 2, moment: if number.is_multiple_of(2) { "before" } else { "after" } }
    }
}

/// How the run that was to be killed ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Killed,
    /// Many records share a write as they happen to come: this run needed fewer writes, and was through before.
    Early,
}

/// Which kills are tried of all there are.
#[derive(Clone, Copy, Debug)]
enum Choice {
    All,
    /// So many, as far from each other as they can be, before and after in turn.
    Some(usize),
}

impl Choice {
    fn of(self, writes: usize) -> Vec<Kill> {
        match self {
            Self::Some(count) if count < writes * 2 => (0..count)
                .map(|number| Kill::number((2 * number + 1) * writes / (2 * count) * 2 + number % 2))
                .collect(),
            _ => (0..writes * 2).map(Kill::number).collect(),
        }
    }
}

fn all_are_wanted() -> bool {
    std::env::var("SLIPWAY_CRASH").is_ok_and(|value| value == "all")
}

pub fn minimal_create() -> Result<()> {
    survive("minimal", MINIMAL, APPLY, if all_are_wanted() { Choice::All } else { Choice::Some(8) })
}

pub fn minimal_delete() -> Result<()> {
    survive("minimal", MINIMAL, DELETE, if all_are_wanted() { Choice::All } else { Choice::Some(8) })
}

pub fn highly_available() -> Result<()> {
    let choice = if all_are_wanted() { Choice::All } else { Choice::Some(4) };
    survive("highly available", HIGHLY_AVAILABLE, APPLY, choice)?;
    survive("highly available", HIGHLY_AVAILABLE, DELETE, choice)
}

fn survive(name: &str, spec: &str, arguments: &[&str], choice: Choice) -> Result<()> {
    let begun = Instant::now();
    let (writes, wanted) = undisturbed(spec, arguments)?;
    let kills = choice.of(writes);
    let what = format!("{} of the {name} cluster: {} kills at {writes} writes", arguments[0], kills.len());
    eprintln!("{what}");
    let begin = |world: &World| prepare(world, spec, arguments);
    let missed = AtomicUsize::new(0);
    each_from(begin, &kills, |world, kill| {
        let begun = Instant::now();
        let survived = one(world, arguments, *kill, &wanted)
            .with_context(|| format!("killed at {kill:?} of {writes}; moto: {}", world.cloud.moto().log()));
        eprintln!("{} {kill:?}: {survived:?}, {:.1} s", arguments[0], begun.elapsed().as_secs_f64());
        if let Ended::Early = survived? {
            missed.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    })?;
    let (missed, seconds) = (missed.into_inner(), begun.elapsed().as_secs_f64());
    ensure!(missed * 4 <= kills.len(), "{what}, and {missed} came too late");
    eprintln!("{what}, {missed} of them too late, nothing left behind, nothing twice, {seconds:.0} s");
    Ok(())
}

/// The number of writes, and the objects in the end.
fn undisturbed(spec: &str, arguments: &[&str]) -> Result<(usize, Vec<String>)> {
    let world = World::new()?;
    prepare(&world, spec, arguments)?;
    let count = world.place().path().join("count");
    let ended = Process::of(world.place().command(arguments).env("SLIPWAY_TEST_COUNT", &count).output()?)?;
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

fn one(world: &World, arguments: &[&str], kill: Kill, wanted: &[String]) -> Result<Ended> {
    let at = format!("{}:{}", kill.write, kill.moment);
    let killed = Process::of(world.place().command(arguments).env("SLIPWAY_TEST_KILL", at).output()?)?;
    let ended = match killed.code {
        None => Ended::Killed,
        Some(0) => Ended::Early,
        Some(_) => bail!("the killed run: {killed:?}"),
    };
    let again = world.place().run(arguments)?;
    ensure!(again.code == Some(0), "the next run: {again:?}");
    let found = world.shape()?;
    ensure!(found == wanted, "{}", difference(&found, wanted));
    if arguments == APPLY { world.is_settled() } else { world.is_empty() }?;
    Ok(ended)
}
