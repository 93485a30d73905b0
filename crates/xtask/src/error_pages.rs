//! Compares the error codes in the sources with the pages in `docs/errors/`, and with the list in their README.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::bail;

use crate::workspace;

const FOLDER: &str = "docs/errors";

/// Checks that every error code is declared once and has its page, every page its code, both the same title, and the README
/// every prefix.
#[derive(clap::Args)]
pub struct ErrorPages;

impl ErrorPages {
    /// Runs the task.
    ///
    /// # Errors
    /// When a file cannot be read, a page or a code is missing, a code is written twice, a page begins with another code than its
    /// own or has examples of other codes only, or the README does not list a prefix.
    pub fn run(&self) -> anyhow::Result<()> {
        let mut codes = BTreeSet::new();
        let mut titles = Vec::new();
        let mut places = BTreeMap::new();
        for path in workspace::files("rs")? {
            if !is_test(&path) {
                let text = workspace::read(&path)?;
                codes.extend(codes_in(&text));
                place(&mut places, &path.display().to_string(), &text);
                titles.extend(titles_in(&text));
            }
        }
        let mut wrong = Vec::new();
        let mut pages = BTreeSet::new();
        for path in workspace::files("md")? {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if path.parent() != Some(Path::new(FOLDER)) || name == "README" {
                continue;
            }
            let text = workspace::read(&path)?;
            if !text.starts_with(&format!("# {name}: ")) {
                wrong.push(format!("{} does not begin with `# {name}: `", path.display()));
            }
            let shown = shown_in(&text);
            if !shown.is_empty() && !shown.contains(name.as_str()) {
                wrong.push(format!("{} has examples of other codes only", path.display()));
            }
            pages.insert(name);
        }
        for (code, title) in titles.iter().filter(|(code, _)| pages.contains(code)) {
            let page = workspace::read(&Path::new(FOLDER).join(format!("{code}.md")))?;
            let first = page.lines().next().unwrap_or_default();
            if first != format!("# {code}: {title}") {
                wrong.push(format!(
                    "{FOLDER}/{code}.md begins with `{first}`, and the title in the code is `{title}`"
                ));
            }
        }
        wrong.extend(codes.difference(&pages).map(|code| format!("{code} has no page {FOLDER}/{code}.md")));
        wrong.extend(
            pages.difference(&codes).map(|page| format!("{FOLDER}/{page}.md is the page of no code")),
        );
        wrong.extend(repeated(&places));
        let list = workspace::read(&Path::new(FOLDER).join("README.md"))?;
        let prefixes: BTreeSet<&str> = pages.iter().map(|page| prefix(page)).collect();
        let missing = prefixes.into_iter().filter(|prefix| !list.contains(&format!("| `{prefix}…` |")));
        wrong.extend(missing.map(|prefix| format!("{FOLDER}/README.md does not list `{prefix}…`")));
        if !wrong.is_empty() {
            bail!("{}", wrong.join("\n"));
        }
        Ok(())
    }
}

fn is_test(path: &Path) -> bool {
    path.iter().any(|part| part == "tests" || part == "tests.rs" || part == "integration")
}

/// Adds the codes of a file outside its tests, with the file.
fn place(places: &mut BTreeMap<String, Vec<String>>, path: &str, text: &str) {
    let text = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
    for code in codes_in(text) {
        places.entry(code).or_default().push(path.to_owned());
    }
}

/// The codes that are written more than once. Each one is declared once, so that it has one meaning.
fn repeated(places: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let repeated = places.iter().filter(|(_, paths)| paths.len() > 1);
    let said = repeated.map(|(code, paths)| {
        format!("{code} is written {} times, in {}: declare a constant", paths.len(), paths.join(", "))
    });
    said.collect()
}

/// The string literals that have the form of a code: capital letters, then four digits.
fn codes_in(text: &str) -> impl Iterator<Item = String> {
    text.split('"').filter(|part| is_code(part)).map(str::to_owned)
}

/// The codes of the errors and warnings that a page shows, as in `error[SPEC0042]`.
fn shown_in(text: &str) -> BTreeSet<&str> {
    let begins = text.match_indices('[').filter(|(at, _)| {
        text.get(..*at).is_some_and(|before| before.ends_with("error") || before.ends_with("warning"))
    });
    let words = begins.filter_map(|(at, _)| text.get(at + 1..)?.split(']').next());
    words.filter(|word| is_code(word)).collect()
}

/// The codes that are declared with a title: `NAME = "CODE", "title";`.
fn titles_in(text: &str) -> Vec<(String, String)> {
    let literals: Vec<&str> = text.split('"').collect();
    let declared = literals.windows(4).filter(|window| {
        matches!(window, [before, code, between, _]
            if before.trim_end().ends_with('=') && is_code(code) && between.trim_start_matches(',').trim().is_empty())
    });
    declared.filter_map(|window| Some((window.get(1)?.to_string(), window.get(3)?.to_string()))).collect()
}

/// The letters of a code.
fn prefix(code: &str) -> &str {
    code.trim_end_matches(|character: char| character.is_ascii_digit())
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

    #[test]
    fn a_code_that_is_written_twice_is_found() {
        let mut places = BTreeMap::new();
        place(&mut places, "a.rs", r#"const A: &str = "RUN0001";"#);
        place(&mut places, "b.rs", "f(A);\n#[cfg(test)]\nmod tests { f(\"RUN0001\") }");
        assert!(repeated(&places).is_empty(), "{places:?}");
        place(&mut places, "b.rs", r#"f("RUN0001")"#);
        assert_eq!(repeated(&places), ["RUN0001 is written 2 times, in a.rs, b.rs: declare a constant"]);
    }

    #[test]
    fn codes_of_examples_are_those_of_errors_and_warnings() {
        let text = "# SPEC0001: a\n[SPEC0002](SPEC0002.md)\nerror[SPEC0003]: b\nwarning[SPEC0004]: c\nerror[E0425]: d\nerror[";
        assert_eq!(shown_in(text), BTreeSet::from(["SPEC0003", "SPEC0004"]));
    }

    #[test]
    fn titles_are_those_of_declared_codes() {
        let text = r#"codes! { A = "SPEC0001", "the file is not valid YAML"; B =
            "SPEC0002", "a key is given twice"; } f("RUN0001", "three"); let c = "SPEC0003";"#;
        let found = titles_in(text);
        let found: Vec<(&str, &str)> = found.iter().map(|(code, title)| (&**code, &**title)).collect();
        assert_eq!(found, [("SPEC0001", "the file is not valid YAML"), ("SPEC0002", "a key is given twice")]);
    }
}
