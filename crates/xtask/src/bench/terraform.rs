//! The peer: terraform with as many `terraform_data` resources, local state, nothing to download.

use std::path::{Path, PathBuf};

use anyhow::Result;
use tempfile::TempDir;

use super::{Life, measure, row};

/// Terraform on the PATH.
pub(super) fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("terraform")).find(|file| file.is_file())
}

/// Measures apply and no-op plan.
pub(super) fn measure(terraform: &Path, count: usize, runs: usize) -> Result<Life> {
    let mut applies = Vec::new();
    let mut plans = Vec::new();
    for _ in 0..runs {
        let folder = TempDir::new()?;
        std::fs::write(folder.path().join("main.tf"), configuration(count))?;
        measure::run(terraform, &["init", "-input=false", "-no-color"], folder.path())?;
        applies.push(measure::run(terraform, &["apply", "-auto-approve", "-no-color"], folder.path())?);
        plans.push(measure::run(terraform, &["plan", "-detailed-exitcode", "-no-color"], folder.path())?);
    }
    let life = Life { apply: measure::middle(applies)?, plan: measure::middle(plans)? };
    row(&format!("terraform: apply of {count} resources"), &life.apply);
    row(&format!("terraform: no-op plan of {count} resources"), &life.plan);
    Ok(life)
}

/// As many resources, each with a payload of a hundred bytes and a reference to one that comes first.
pub(super) fn configuration(count: usize) -> String {
    let payload = "0123456789".repeat(10);
    format!(
        "resource \"terraform_data\" \"base\" {{\n  input = \"base\"\n}}\n\nresource \"terraform_data\" \"object\" {{\n  \
         count = {count}\n  input = \"${{terraform_data.base.id}} {payload} ${{count.index}}\"\n}}\n"
    )
}
