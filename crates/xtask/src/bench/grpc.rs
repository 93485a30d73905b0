//! The same life with the simulated cloud as a process of its own.

use std::path::Path;

use anyhow::{Context as _, Result};

use super::place::{APPLY, PLAN, Place};
use super::{Life, measure, row};

/// Measures apply and no-op plan over gRPC, both processes counted.
pub(super) fn measure(program: &Path, count: usize, runs: usize) -> Result<Life> {
    let folder = program.parent().context("the program's folder")?;
    // Beside its executable, as an installed provider is.
    let manifest: String =
        std::fs::read_to_string(crate::workspace::root().join("providers/sim/provider.toml"))?
            .lines()
            .filter(|line| !line.starts_with("executable"))
            .map(|line| format!("{line}\n"))
            .collect();
    let mut applies = Vec::new();
    let mut plans = Vec::new();
    for _ in 0..runs {
        let place = Place::with_objects(count)?;
        let provider = place.path().join("providers/sim");
        std::fs::create_dir_all(&provider)?;
        std::fs::write(provider.join("provider.toml"), &manifest)?;
        std::fs::copy(folder.join("slipway-provider-sim"), provider.join("slipway-provider-sim"))?;
        let with_path = |arguments: &[&str]| -> Vec<String> {
            let path = ["--provider-path", "providers"];
            arguments.iter().chain(&path).map(|argument| (*argument).to_owned()).collect()
        };
        measure::run(program, &with_path(&["provider", "lock", "sim"]), place.path())?;
        applies.push(measure::run(program, &with_path(&APPLY), place.path())?);
        plans.push(measure::run(program, &with_path(&PLAN), place.path())?);
    }
    let life = Life { apply: measure::middle(applies)?, plan: measure::middle(plans)? };
    row(&format!("slipway over gRPC: apply of {count} resources"), &life.apply);
    row(&format!("slipway over gRPC: no-op plan of {count}"), &life.plan);
    Ok(life)
}
