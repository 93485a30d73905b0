//! Looks for links between pages that lead nowhere.

use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::workspace;

/// Checks that every relative link in a page leads to a file or folder of the workspace.
#[derive(clap::Args)]
pub struct Links;

impl Links {
    /// Runs the task.
    ///
    /// # Errors
    /// When a page cannot be read or has a link that leads nowhere.
    pub fn run(&self) -> anyhow::Result<()> {
        let mut broken = Vec::new();
        for page in workspace::files("md")? {
            let text = workspace::read(&page)?;
            for target in targets(&text) {
                if !workspace::root().join(resolve(&page, target)).exists() {
                    broken.push(format!("{}: {target} leads nowhere", page.display()));
                }
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_targets_are_found_without_their_fragments() {
        let text = "[a](b/c.md#d) [e](https://example.com) [f](#g) [`h`](../i.rs), not [j] (k)";
        assert_eq!(targets(text).collect::<Vec<_>>(), ["b/c.md", "../i.rs"]);
    }
}
