//! Writes the JSON schemas of the spec documents and of the message that providers receive.

use std::fs;

use anyhow::{Context, bail};

use crate::workspace;

/// Folders of schemas, with what their files describe.
const FOLDERS: [&str; 2] = ["specs/schema", "crates/cluster-input/schema"];

/// Writes the JSON schemas of the spec documents, for editors, and of the message that providers receive.
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
    /// When a schema cannot be written, and with `--check` when one differs or a file is not a generated schema.
    pub fn run(&self) -> anyhow::Result<()> {
        let contract = (slipway_cluster_input::file_name().to_owned(), slipway_cluster_input::json_schema()?);
        let [documents, messages] = FOLDERS;
        let mut wrong = self.folder(documents, &slipway_spec::schemas()?)?;
        wrong.extend(self.folder(messages, &[contract])?);
        if !wrong.is_empty() {
            bail!("{}; `cargo xtask schemas` writes them again", wrong.join("; "));
        }
        Ok(())
    }

    /// Writes or compares the schemas of one folder. Returns what is wrong.
    fn folder(&self, name: &str, schemas: &[(String, String)]) -> anyhow::Result<Vec<String>> {
        let folder = workspace::root().join(name);
        if !self.check {
            fs::create_dir_all(&folder)?;
            for (file, text) in schemas {
                fs::write(folder.join(file), text).with_context(|| format!("cannot write {name}/{file}"))?;
            }
        }
        let mut wrong = Vec::new();
        for (file, text) in schemas {
            if fs::read_to_string(folder.join(file)).unwrap_or_default() != *text {
                wrong.push(format!("{name}/{file} is not what the types say"));
            }
        }
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {name}"))? {
            let file = entry?.file_name();
            if !schemas.iter().any(|(known, _)| file == known.as_str()) {
                wrong.push(format!("{name}/{} belongs to no type", file.to_string_lossy()));
            }
        }
        Ok(wrong)
    }
}
