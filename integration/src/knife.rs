//! The `slipway` program with a knife in its back: it kills itself at a chosen write to the state store.
//!
//! `SLIPWAY_TEST_KILL=<n>:before` or `<n>:after` names the write, counted from 0; without it the program is as
//! it is. `SLIPWAY_TEST_COUNT=<file>` writes down how many writes there were, `SLIPWAY_TEST_CALLS=<file>` every call.
//! `SLIPWAY_TEST_TERM=<seconds>` is the term of its leases, `SLIPWAY_TEST_READ_AGE=<seconds>` how old the reads may be by which
//! steps check their objects. `SLIPWAY_TEST_SYSTEM_CONFIG=<file>` is the configuration of the system.

use std::ops::Range;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use slipway_state_store::faults::{Faulty, Moment};
use slipway_state_store::{Backend, Options};

use crate::logged::Logged;

/// Runs the program with the arguments and the environment of this process.
#[must_use]
pub fn main() -> ExitCode {
    let kill = std::env::var("SLIPWAY_TEST_KILL").ok().and_then(|text| parse(&text));
    let count = std::env::var_os("SLIPWAY_TEST_COUNT");
    let mut program = slipway::Program::default();
    let written = Arc::new(AtomicUsize::new(0));
    if kill.is_some() || count.is_some() {
        let written = written.clone();
        program = program.decorate_backend(Box::new(move |backend| decorate(backend, kill, &written)));
    }
    if let Some(path) = std::env::var_os("SLIPWAY_TEST_CALLS") {
        program = program.decorate_backend(Box::new(move |backend| Arc::new(Logged::new(backend, &path))));
    }
    if let Some(term) = std::env::var("SLIPWAY_TEST_TERM").ok().and_then(|text| text.parse().ok()) {
        let (term, margin) = (Duration::from_secs(term), Duration::from_secs(term) / 6);
        program = program.lease(Options { term, margin, ..Options::default() });
    }
    if let Some(age) = std::env::var("SLIPWAY_TEST_READ_AGE").ok().and_then(|text| text.parse().ok()) {
        program = program.read_age(Duration::from_secs(age));
    }
    if let Some(path) = std::env::var_os("SLIPWAY_TEST_SYSTEM_CONFIG") {
        program = program.system_configuration(path.into());
    }
    let code = program.run(std::env::args_os());
    if let Some(path) = count
        && std::fs::write(path, written.load(Ordering::SeqCst).to_string()).is_err()
    {
        return ExitCode::from(101);
    }
    code
}

/// Which kills a sweep tries: `SLIPWAY_CRASH` is `all`, or a range of their numbers as `20..40`. Each write has two, before
/// it and after it. Without the variable a test takes a few of its own choice.
///
/// # Errors
/// When the variable is neither.
pub fn chosen() -> Result<Option<Range<usize>>> {
    let text = match std::env::var("SLIPWAY_CRASH") {
        Err(_) => return Ok(None),
        Ok(text) if text == "all" => return Ok(Some(0..usize::MAX)),
        Ok(text) => text,
    };
    let (from, to) = text.split_once("..").context("SLIPWAY_CRASH is neither all nor a range")?;
    Ok(Some(from.parse()?..to.parse()?))
}

fn parse(text: &str) -> Option<(usize, Moment)> {
    let (number, moment) = text.split_once(':')?;
    let moment = if moment == "after" { Moment::After } else { Moment::Before };
    Some((number.parse().ok()?, moment))
}

fn decorate(
    backend: Arc<dyn Backend>,
    kill: Option<(usize, Moment)>,
    written: &Arc<AtomicUsize>,
) -> Arc<dyn Backend> {
    let written = written.clone();
    Arc::new(Faulty::new(backend).hook(move |moment, _| {
        let number = match moment {
            Moment::Before => written.fetch_add(1, Ordering::SeqCst),
            Moment::After => written.load(Ordering::SeqCst).saturating_sub(1),
        };
        if kill == Some((number, moment)) {
            die();
        }
        Box::pin(std::future::ready(()))
    }))
}

/// Ends the process as the kernel does when it is out of memory: no destructor runs, nothing is flushed.
fn die() {
    let pid = std::process::id().to_string();
    // The signal arrives before the shell's `kill` has ended; should it not, aborting ends the process too.
    let _ = std::process::Command::new("kill").args(["-KILL", &pid]).status();
    std::process::abort();
}
