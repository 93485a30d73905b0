//! Workers as processes of their own, and what became of them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::last;
use crate::target::Target;
use crate::worker::{Outcome, Work};

/// How long a worker may make no headway before it is taken for hung.
const PATIENCE: Duration = Duration::from_secs(60);

/// The result of a target.
#[derive(Debug)]
pub struct Report {
    /// Its name.
    pub target: &'static str,
    /// The result of its runs.
    pub outcome: Outcome,
    /// How long it took.
    pub elapsed: Duration,
    /// Where the input is that was too much.
    pub input: Option<PathBuf>,
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { executions, formed, taken, outcomes, longest_microseconds, peak_kibibytes, finding } =
            &self.outcome;
        let rate = u128::from(*executions) * 1_000 / self.elapsed.as_millis().max(1);
        let share = |count: u64| count * 100 / executions.max(&1);
        write!(
            formatter,
            "{:<12} {executions:>10} executions in {} s, {rate:>6} a second, syntax right {:>2} %, taken {:>2} %, \
             {outcomes:>6} outcomes, longest {}.{:03} ms, peak {} MiB",
            self.target,
            self.elapsed.as_secs(),
            share(*formed),
            share(*taken),
            longest_microseconds / 1_000,
            longest_microseconds % 1_000,
            peak_kibibytes >> 10,
        )?;
        match (finding, &self.input) {
            (Some(finding), Some(input)) => write!(formatter, "\n  FOUND {finding}: {}", input.display()),
            _ => Ok(()),
        }
    }
}

/// Runs a target in a worker: this program with `--worker`. An input that is too much is kept in `folder`.
///
/// # Errors
/// When the worker cannot be started or its files cannot be used.
pub fn run(program: &Path, target: &Target, work: &Work, folder: &Path) -> Result<Report> {
    let own = last::folder()?;
    let (last, said) = (own.path().join("last"), own.path().join("said"));
    let begun = Instant::now();
    let mut worker = Command::new(program)
        .args([target.name, "--worker"])
        .arg(&last)
        .args(["--executions", &work.executions.to_string(), "--seed", &work.seed.to_string()])
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&said)?)
        .stderr(Stdio::piped())
        .spawn()
        .context("the worker")?;
    let status = loop {
        if let Some(status) = worker.try_wait()? {
            break Some(status);
        }
        let idle = last.metadata().and_then(|found| found.modified()).ok().and_then(|at| at.elapsed().ok());
        if idle.is_some_and(|idle| idle > PATIENCE) {
            worker.kill()?;
            worker.wait()?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let mut errors = String::new();
    if let Some(mut stream) = worker.stderr.take() {
        std::io::Read::read_to_string(&mut stream, &mut errors)?;
    }
    let mut outcome: Outcome = serde_json::from_slice(&std::fs::read(&said)?).unwrap_or_default();
    match status {
        None => outcome.finding = Some(format!("no end within {} s", PATIENCE.as_secs())),
        Some(status) if !status.success() => {
            outcome.finding = Some(format!("{status}: {}", errors.lines().next().unwrap_or_default()));
        }
        Some(_) => {}
    }
    let mut input = None;
    if outcome.finding.is_some() {
        let bytes = last::read(&last);
        std::fs::create_dir_all(folder)?;
        let path = folder.join(format!("{}-{}-{}", target.name, work.seed, outcome.executions));
        std::fs::write(&path, bytes)?;
        input = Some(path);
    }
    Ok(Report { target: target.name, outcome, elapsed: begun.elapsed(), input })
}
