//! `cargo xtask fuzz`: mutated input for everything that reads what others wrote.

use anyhow::Result;
use clap::Args;

use crate::workspace;

/// Run mutated input through everything that reads what others wrote: no panic, at most 256 MiB, no run over a second, and what
/// is taken is read back unchanged after it is written.
///
/// An input for which that does not hold is kept in target/fuzz; `--input FILE` of the program shows what becomes of it. It belongs
/// into fixtures/fuzz/TARGET when the cause is repaired, and every run begins with it from then on.
#[derive(Args)]
pub(crate) struct Fuzz {
    /// Only these targets, as `spec` or `journal`; all of them unless given.
    targets: Vec<String>,
    /// How many inputs of each.
    #[arg(long, default_value_t = 100_000)]
    executions: u64,
    /// Decides which inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Built without optimisation, as tests are: it is there sooner, and runs a tenth as many inputs.
    #[arg(long)]
    debug: bool,
}

impl Fuzz {
    /// Runs the campaigns, one after the other.
    pub(crate) fn run(&self) -> Result<()> {
        let mut fuzz = workspace::cargo(["run", "--quiet", "--package", "slipway-fuzz"]);
        if !self.debug {
            fuzz.arg("--release");
        }
        fuzz.arg("--").args(&self.targets);
        fuzz.args(["--executions", &self.executions.to_string(), "--seed", &self.seed.to_string()]);
        workspace::run(&mut fuzz)
    }
}
