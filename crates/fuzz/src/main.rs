//! `slipway-fuzz`: campaigns of mutated input. `cargo xtask fuzz` runs it.

use std::process::ExitCode;

use anyhow::Result;
use slipway_fuzz::{program, target};

fn main() -> Result<ExitCode> {
    program::run(target::ALL, target::FAULTY)
}
