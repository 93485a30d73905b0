//! Looks for links between pages that lead nowhere, for broken tables, and for crates that ARCHITECTURE.md does not describe.

use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::workspace;

/// Checks that every relative link in a page leads to a file or folder of the workspace, that the rows of a table have one
/// indent, and that ARCHITECTURE.md has a paragraph about each crate.
#[derive(clap::Args)]
pub struct Links;

impl Links {
    /// Runs the task.
    ///
    /// # Errors
    /// When a page cannot be read, has a link that leads nowhere or a broken table, or when a crate has no paragraph.
    pub fn run(&self) -> anyhow::Result<()> {
        let mut broken = Vec::new();
        for page in workspace::files("md")? {
            let text = workspace::read(&page)?;
            for target in targets(&text) {
                if !workspace::root().join(resolve(&page, target)).exists() {
                    broken.push(format!("{}: {target} leads nowhere", page.display()));
                }
            }
            for line in broken_rows(&text) {
                broken.push(format!("{}:{line}: the row is not part of the table above it", page.display()));
            }
        }
        let manifest = workspace::read(Path::new("Cargo.toml"))?;
        let architecture = workspace::read(Path::new("ARCHITECTURE.md"))?;
        for member in members(&manifest).filter(|member| !is_described(member, &architecture)) {
            broken.push(format!("ARCHITECTURE.md: no paragraph begins with **`{member}`"));
        }
        if !broken.is_empty() {
            bail!("{}", broken.join("\n"));
        }
        Ok(())
    }
}

fn resolve(page: &Path, target: &str) -> PathBuf {
    page.parent().unwrap_or(Path::new("")).join(target)
}

/// The targets of links, those to other hosts and within the page left out, each without its fragment.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| {
        let target = rest.split_once(')')?.0;
        let file = target.split('#').next().unwrap_or_default();
        let is_local = !file.is_empty() && !target.contains("://") && !target.contains(char::is_whitespace);
        is_local.then_some(file)
    })
}

/// The numbers of lines with a row whose indent is not that of the row above it. Blocks of code are left out.
fn broken_rows(text: &str) -> Vec<usize> {
    let mut broken = Vec::new();
    let mut above = None;
    let mut is_code = false;
    for (number, line) in text.lines().enumerate() {
        let content = line.trim_start();
        if content.starts_with("```") {
            is_code = !is_code;
        }
        let indent = (!is_code && content.starts_with('|')).then(|| line.len() - content.len());
        if above.is_some() && indent.is_some() && above != indent {
            broken.push(number + 1);
        }
        above = indent;
    }
    broken
}

/// The members of the workspace in its manifest.
fn members(manifest: &str) -> impl Iterator<Item = &str> {
    let lines = manifest.lines().skip_while(|line| !line.starts_with("members = ["));
    lines.skip(1).take_while(|line| !line.starts_with(']')).map(|line| line.trim().trim_matches(['"', ',']))
}

/// Whether a paragraph of a page begins with the name of a crate in bold, alone or with others.
fn is_described(member: &str, page: &str) -> bool {
    let mut heads = page.lines().filter_map(|line| line.strip_prefix("**")?.split_once("**"));
    heads.any(|(head, _)| head.contains(&format!("`{member}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_targets_are_found_without_their_fragments() {
        let text = "[a](b/c.md#d) [e](https://example.com) [f](#g) [`h`](../i.rs), not [j] (k)";
        assert_eq!(targets(text).collect::<Vec<_>>(), ["b/c.md", "../i.rs"]);
    }

    #[test]
    fn rows_outside_of_their_table_and_crates_without_a_paragraph_are_found() {
        let table = "  | a |\n  | - |\n| b |\n\n| c |\n```\n| d\n  | e\n```\n";
        assert_eq!(broken_rows(table), [3]);
        let manifest = "[workspace]\nmembers = [\n    \"crates/a\",\n    \"b\",\n]\nresolver = \"3\"\n";
        assert_eq!(members(manifest).collect::<Vec<_>>(), ["crates/a", "b"]);
        let page = "# A page\n\n**`crates/a` and `c`.** It has an invariant.\n\nText about `b`.\n";
        assert!(is_described("crates/a", page) && is_described("c", page) && !is_described("b", page));
    }
}
