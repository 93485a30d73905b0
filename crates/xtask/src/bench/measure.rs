//! The costs of a process, by the kernel's own account of it and of the children that it waited for.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

/// Run one command and print what it cost; `bench` starts itself with this, so that each command has an
/// account of its own.
#[derive(Args)]
#[command(hide = true)]
pub(crate) struct Measure {
    /// The command and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

/// The costs of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// User and system time in seconds, of all its processes.
    pub cpu: f64,
    /// Peak memory of its largest process in megabytes.
    pub memory_mb: u64,
    /// Seconds from start to end.
    pub wall: f64,
}

impl Measure {
    /// Runs the command and prints its exit code and what it cost.
    pub(crate) fn run(&self) -> Result<()> {
        let (program, arguments) = self.command.split_first().context("a command")?;
        let begun = Instant::now();
        let status = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .with_context(|| program.clone())?;
        let wall = begun.elapsed().as_secs_f64();
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
        let cpu = (usage.user_time() + usage.system_time()).num_microseconds();
        let code = status.code().unwrap_or(-1);
        writeln!(std::io::stdout(), "{code} {cpu} {} {wall}", usage.max_rss())?;
        Ok(())
    }
}

/// Runs a command in a folder; exit code 2, changes pending, is as good as 0.
pub(crate) fn run(program: &Path, arguments: &[impl AsRef<str>], folder: &Path) -> Result<Usage> {
    run_with(program, arguments, folder, &[])
}

/// The same with more in its environment.
pub(crate) fn run_with(
    program: &Path,
    arguments: &[impl AsRef<str>],
    folder: &Path,
    environment: &[(String, String)],
) -> Result<Usage> {
    let mut command = Command::new(std::env::current_exe()?);
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command.arg("measure").arg("--").arg(program);
    command.args(arguments.iter().map(AsRef::as_ref)).current_dir(folder);
    let output = command.output()?;
    let text = String::from_utf8(output.stdout)?;
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [code, cpu, memory, wall] = fields.as_slice() else {
        bail!("{}: {text}{}", program.display(), String::from_utf8_lossy(&output.stderr));
    };
    if !matches!(*code, "0" | "2") {
        let arguments: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
        bail!("{} {} ended with {code} in {}", program.display(), arguments.join(" "), folder.display());
    }
    Ok(Usage {
        cpu: cpu.parse::<f64>()? / 1e6,
        memory_mb: memory.parse::<u64>()? / 1024,
        wall: wall.parse()?,
    })
}

/// The run of some that is in the middle by CPU time.
pub(crate) fn middle(mut usages: Vec<Usage>) -> Result<Usage> {
    usages.sort_by(|left, right| left.cpu.total_cmp(&right.cpu));
    usages.get(usages.len() / 2).copied().context("no runs")
}

/// Measures a command several times.
pub(crate) fn median(runs: usize, measure: impl Fn() -> Result<Usage>) -> Result<Usage> {
    middle((0..runs.max(1)).map(|_| measure()).collect::<Result<_>>()?)
}
