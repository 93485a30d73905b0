//! Every mistake in `fixtures/bad-specs` is reported in one run, at its line, with a hint that leads out.
//!
//! The expectations were written together with the mistakes, from the questions of a reader; they are not
//! checked-in output.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde::Deserialize;
use slipway_spec::{
    diagnostic::{Diagnostic, render},
    load,
};

/// A mistake of a case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    file: String,
    line: u32,
    code: String,
    hint: String,
}

#[derive(Default)]
struct Tally {
    mistakes: usize,
    with_line: usize,
    with_hint: usize,
    complaints: Vec<String>,
}

fn cases() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/bad-specs");
    let mut cases: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    cases
}

fn spec_files(case: &PathBuf) -> Vec<PathBuf> {
    let files = fs::read_dir(case).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| !path.ends_with("expected.json")).collect();
    files.sort();
    files
}

fn check(case: &PathBuf, tally: &mut Tally) {
    let expected: Vec<Expected> =
        serde_json::from_str(&fs::read_to_string(case.join("expected.json")).unwrap()).unwrap();
    assert!(expected.len() >= 2, "{} has several mistakes", case.display());
    let mut found = load(&spec_files(case)).diagnostics;
    let name = case.file_name().unwrap().to_string_lossy().into_owned();
    for mistake in &expected {
        tally.mistakes += 1;
        let at = |diagnostic: &&mut Diagnostic| {
            diagnostic.location.as_ref().is_some_and(|location| {
                location.file.ends_with(&format!("/{}", mistake.file)) && location.line == mistake.line
            })
        };
        let hinted = |diagnostic: &Diagnostic| {
            diagnostic.hint.as_ref().is_some_and(|hint| hint.contains(&mistake.hint))
        };
        let mut here: Vec<&mut Diagnostic> =
            found.iter_mut().filter(|diagnostic| diagnostic.code.id == mistake.code).filter(at).collect();
        let best = here.iter().position(|diagnostic| hinted(diagnostic)).unwrap_or_default();
        if here.is_empty() {
            tally.complaints.push(format!("{name}: nothing like {mistake:?}"));
            continue;
        }
        let diagnostic = here.swap_remove(best);
        tally.with_line += 1;
        if hinted(diagnostic) {
            tally.with_hint += 1;
        } else {
            tally.complaints.push(format!(
                "{name}: no hint with {:?}:\n{}",
                mistake.hint,
                render(diagnostic)
            ));
        }
        let index = found.iter().position(|other| {
            other.code.id == mistake.code
                && other.location.as_ref().is_some_and(|location| {
                    location.file.ends_with(&format!("/{}", mistake.file)) && location.line == mistake.line
                })
                && other.hint.as_ref().is_some_and(|hint| hint.contains(&mistake.hint))
        });
        if let Some(index) = index {
            found.remove(index);
        }
    }
    for diagnostic in found {
        tally.complaints.push(format!("{name}: not a mistake of its own:\n{}", render(&diagnostic)));
    }
}

#[test]
fn every_mistake_is_reported_with_its_line_and_a_way_out() {
    let cases = cases();
    assert!(cases.len() >= 60, "{} cases", cases.len());
    let mut tally = Tally::default();
    for case in &cases {
        check(case, &mut tally);
    }
    let share = |count: usize| 100 * count / tally.mistakes;
    println!(
        "{} cases, {} mistakes: {} % with the right line, {} % with a way out",
        cases.len(),
        tally.mistakes,
        share(tally.with_line),
        share(tally.with_hint)
    );
    assert!(tally.complaints.is_empty(), "{}", tally.complaints.join("\n"));
}

/// Codes about files and their number, and about the text of a secret, which no text of a spec has.
const OF_FILES: [&str; 8] =
    ["SPEC0011", "SPEC0012", "SPEC0013", "SPEC0064", "LIMIT0001", "LIMIT0002", "LIMIT0003", "LIMIT0004"];

#[test]
fn every_code_but_those_of_files_is_exercised() {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for case in cases() {
        for diagnostic in load(&spec_files(&case)).diagnostics {
            *seen.entry(diagnostic.code.id).or_default() += 1;
        }
    }
    let unseen: Vec<&str> = slipway_spec::diagnostic::code::ALL
        .iter()
        .map(|code| code.id)
        .filter(|id| !seen.contains_key(id) && !OF_FILES.contains(id))
        .collect();
    assert!(unseen.is_empty(), "no case for {unseen:?}");
}
