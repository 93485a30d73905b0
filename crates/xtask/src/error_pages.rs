//! Compares the error codes in the sources with the pages in `docs/errors/`.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::bail;

use crate::workspace;

const FOLDER: &str = "docs/errors";

/// Checks that every error code has its page, and every page its code.
#[derive(clap::Args)]
pub struct ErrorPages;

impl ErrorPages {
    /// Runs the task.
    ///
    /// # Errors
    /// When a file cannot be read, a page or a code is missing, or a page begins with another code than its own.
    pub fn run(&self) -> anyhow::Result<()> {
        let mut codes = BTreeSet::new();
        for path in workspace::files("rs")? {
            if !is_test(&path) {
                codes.extend(codes_in(&workspace::read(&path)?));
            }
        }
        let mut wrong = Vec::new();
        let mut pages = BTreeSet::new();
        for path in workspace::files("md")? {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if path.parent() != Some(Path::new(FOLDER)) || name == "README" {
                continue;
            }
            if !workspace::read(&path)?.starts_with(&format!("# {name}: ")) {
                wrong.push(format!("{} does not begin with `# {name}: `", path.display()));
            }
            pages.insert(name);
        }
        wrong.extend(codes.difference(&pages).map(|code| format!("{code} has no page {FOLDER}/{code}.md")));
        wrong.extend(
            pages.difference(&codes).map(|page| format!("{FOLDER}/{page}.md is the page of no code")),
        );
        if !wrong.is_empty() {
            bail!("{}", wrong.join("\n"));
        }
        Ok(())
    }
}

fn is_test(path: &Path) -> bool {
    path.iter().any(|part| part == "tests" || part == "tests.rs" || part == "integration")
}

/// The string literals that have the form of a code: capital letters, then four digits.
fn codes_in(text: &str) -> impl Iterator<Item = String> {
    text.split('"').filter(|part| is_code(part)).map(str::to_owned)
}

fn is_code(text: &str) -> bool {
    let Some((area, number)) = text.split_at_checked(text.len().saturating_sub(4)) else { return false };
    area.len() > 2
        && area.bytes().all(|byte| byte.is_ascii_uppercase())
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_in_literals_only() {
        let text = r#"Self::Held => "STATE0011", // see STATE0012
            let other = "STATE001"; let third = "state0001"; f("RUN0001")"#;
        assert_eq!(codes_in(text).collect::<Vec<_>>(), ["STATE0011", "RUN0001"]);
    }
}
