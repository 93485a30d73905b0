//! The actions between the commands of a page.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

/// A page's story.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Story {
    /// The page, from the repository's root.
    pub page: String,
    /// Whether its state is in a bucket; commands have its URL as `$BUCKET`.
    #[serde(default)]
    pub bucket: bool,
    /// Whether its plans are those of AWS, offline.
    #[serde(default)]
    pub offline: bool,
    /// Its command blocks, in order.
    #[serde(rename = "block", default)]
    pub blocks: Vec<Entry>,
}

/// A command block.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// Its first line.
    pub begins: String,
    /// The test that runs these commands instead, as `path/to/file.rs name_of_the_test`: they need machines, an account, or
    /// another program.
    #[serde(default)]
    pub run_by: Option<String>,
    /// A script that runs before the block.
    #[serde(default)]
    pub before: String,
    /// Whether the objects in the simulated cloud are those of another tool before the block.
    #[serde(default)]
    pub unowned: bool,
    /// Replacements in commands and shown output, as a reader replaces names.
    #[serde(default)]
    pub replace: Vec<(String, String)>,
    /// The exit codes of its commands, in order; 0 where there is none.
    #[serde(default)]
    pub exits: Vec<i32>,
    /// Whether the block is one script.
    #[serde(default)]
    pub whole: bool,
}

impl Entry {
    pub fn replaced(&self, text: &str) -> String {
        self.replace.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    }
}

pub(super) fn all(folder: &Path) -> Result<Vec<Story>> {
    let mut stories = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let text = std::fs::read_to_string(&path)?;
        stories.push(toml::from_str(&text).with_context(|| path.display().to_string())?);
    }
    Ok(stories)
}

/// Whether the test that an entry names is there.
pub(super) fn exists(repository: &Path, proof: &str) -> Result<()> {
    let (file, name) = proof.split_once(' ').context("`file test`")?;
    let text = std::fs::read_to_string(repository.join(file)).with_context(|| file.to_owned())?;
    ensure!(text.contains(&format!("fn {name}(")), "{file} has no test {name}");
    Ok(())
}
