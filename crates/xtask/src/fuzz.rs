//! `cargo xtask fuzz`: mutated input for everything that reads what others wrote.

use anyhow::Result;
use clap::Args;

use crate::workspace;

/// The target that needs the AWS SDK, which takes minutes to compile.
const REPLIES: &str = "aws-replies";

/// Run mutated input through everything that reads what others wrote: no panic, at most 256 MiB, no run over a second, and what
/// is taken is read back unchanged after it is written.
///
/// An input for which that does not hold is kept in target/fuzz; `--input FILE` of the program shows what becomes of it. It belongs
/// into fixtures/fuzz/TARGET when the cause is repaired, and every run begins with it from then on.
#[derive(Args)]
pub(crate) struct Fuzz {
    /// Only these targets, as `spec` or `journal`; unless given, all of them but `aws-replies`, which builds the AWS SDK.
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
        let (replies, others): (Vec<&String>, Vec<&String>) =
            self.targets.iter().partition(|target| *target == REPLIES);
        if !others.is_empty() || replies.is_empty() {
            self.campaigns("slipway-fuzz", &others)?;
        }
        if !replies.is_empty() {
            self.campaigns("slipway-provider-aws-fuzz", &replies)?;
        }
        Ok(())
    }

    /// Runs the campaigns of a package.
    fn campaigns(&self, package: &str, targets: &[&String]) -> Result<()> {
        let mut fuzz = workspace::cargo(["run", "--quiet", "--package", package]);
        if !self.debug {
            fuzz.arg("--release");
        }
        fuzz.arg("--").args(targets);
        fuzz.args(["--executions", &self.executions.to_string(), "--seed", &self.seed.to_string()]);
        workspace::run(&mut fuzz)
    }
}
