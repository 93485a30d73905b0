//! The arguments of a program with targets, and what it does with them.

#![allow(clippy::print_stdout, reason = "a developer's tool")]

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Parser;

use crate::target::{Reached, Target};
use crate::worker::{self, Work};
use crate::{campaign, corpus};

/// Runs mutated input through everything that reads what others wrote.
#[derive(Parser)]
struct Arguments {
    /// Only these targets; all of them unless given.
    targets: Vec<String>,
    /// How many inputs of each.
    #[arg(long, default_value_t = 100_000)]
    executions: u64,
    /// Decides which inputs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where inputs that are too much are kept; target/fuzz unless given.
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Run one file through the target once, and tell what becomes of it.
    #[arg(long, value_name = "FILE", conflicts_with = "worker")]
    input: Option<PathBuf>,
    /// Be the worker that writes each input to this file first.
    #[arg(long, hide = true)]
    worker: Option<PathBuf>,
}

/// Runs a program with these targets; `hidden` are those that run only when they are named.
///
/// # Errors
/// When there is no such target, or a campaign cannot be run.
pub fn run(all: &'static [Target], hidden: &'static [Target]) -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let chosen: Vec<_> = match arguments.targets.as_slice() {
        [] => all.iter().collect(),
        names => names
            .iter()
            .map(|name| {
                let mut known = all.iter().chain(hidden);
                known.find(|target| target.name == name).with_context(|| format!("there is no target {name}"))
            })
            .collect::<Result<_>>()?,
    };
    let work = Work { executions: arguments.executions, seed: arguments.seed };
    if let (Some(last), [target]) = (&arguments.worker, chosen.as_slice()) {
        println!("{}", serde_json::to_string(&worker::run(target, &work, last)?)?);
        return Ok(ExitCode::SUCCESS);
    }
    if let (Some(input), [target]) = (&arguments.input, chosen.as_slice()) {
        let verdict = (target.run)(&std::fs::read(input)?);
        println!("{:?}: {}", verdict.reached, verdict.words);
        return Ok(ExitCode::from(u8::from(verdict.reached == Reached::Unlawful)));
    }
    let keep = arguments.keep.unwrap_or_else(|| corpus::workspace().join("target/fuzz"));
    let program = std::env::current_exe()?;
    let mut found = false;
    for target in chosen {
        let report = campaign::run(&program, target, &work, &keep)?;
        println!("{report}");
        found |= report.outcome.finding.is_some();
    }
    Ok(ExitCode::from(u8::from(found)))
}
