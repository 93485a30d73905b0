//! `cargo xtask crash`: the program killed at every write to its state, and every request to a bucket failing.

use anyhow::Result;
use clap::Args;

use crate::workspace;

/// Kill the program at writes to its state, fail its requests, and hold what comes of it against an undisturbed run.
#[derive(Args)]
pub(crate) struct Crash {
    /// At every write, right before and right after, and at every request; without, at a sample, as the tests do.
    #[arg(long)]
    all: bool,
}

impl Crash {
    /// Runs the crash tests.
    pub(crate) fn run(&self) -> Result<()> {
        let mut tests = workspace::cargo([
            "test",
            "--package",
            "slipway-integration",
            "--test",
            "it",
            "--",
            "--nocapture",
            "crash::",
            "requests::",
        ]);
        if self.all {
            tests.env("SLIPWAY_CRASH", "all");
        }
        workspace::run(&mut tests)
    }
}
