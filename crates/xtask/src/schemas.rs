//! Writes the JSON schemas of the spec documents for editors.

use std::fs;

use anyhow::{Context, bail};

use crate::workspace;

const FOLDER: &str = "specs/schema";

/// Writes the JSON schemas of the spec documents.
#[derive(clap::Args)]
pub struct Schemas {
    /// Compare with what is checked in, write nothing, fail on a difference.
    #[arg(long)]
    pub check: bool,
}

impl Schemas {
    /// Runs the task.
    ///
    /// # Errors
    /// When a schema cannot be written, and with `--check` when one differs or a file is not a schema of ours.
    pub fn run(&self) -> anyhow::Result<()> {
        let folder = workspace::root().join(FOLDER);
        let schemas = slipway_spec::schemas()?;
        if !self.check {
            fs::create_dir_all(&folder)?;
            for (name, text) in &schemas {
                fs::write(folder.join(name), text)
                    .with_context(|| format!("cannot write {FOLDER}/{name}"))?;
            }
        }
        let mut wrong = Vec::new();
        for (name, text) in &schemas {
            if fs::read_to_string(folder.join(name)).unwrap_or_default() != *text {
                wrong.push(format!("{FOLDER}/{name} is not what the types say"));
            }
        }
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {FOLDER}"))? {
            let name = entry?.file_name();
            if !schemas.iter().any(|(known, _)| name == known.as_str()) {
                wrong.push(format!("{FOLDER}/{} belongs to no document", name.to_string_lossy()));
            }
        }
        if !wrong.is_empty() {
            bail!("{}; `cargo xtask schemas` writes them again", wrong.join("; "));
        }
        Ok(())
    }
}
