//! The words of the glossary, held against the texts that people read.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;
use slipway_integration::executables::root;
use slipway_integration::place::Place;

use crate::PROGRAM;

/// The heading of the table in the glossary.
const HEADING: &str = "### Words that Slipway does not use";

/// The words that have another name in Slipway, with that name.
fn others(glossary: &str) -> Vec<(String, String)> {
    let table = glossary.split(HEADING).nth(1).unwrap_or_default();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| \"")?.split_once("\" | "));
    rows.map(|(word, name)| (word.to_lowercase(), name.trim_end_matches([' ', '|']).to_owned())).collect()
}

/// Whether a text has a word, also as the beginning of a longer word.
fn has(text: &str, word: &str) -> bool {
    let is_begin = |at: usize| !text[..at].ends_with(char::is_alphanumeric);
    text.match_indices(word).any(|(at, _)| is_begin(at))
}

/// All descriptions in a JSON document.
fn descriptions(place: &str, value: &Json, into: &mut Vec<(String, String)>) {
    match value {
        Json::Object(fields) => {
            for (name, value) in fields {
                match value.as_str().filter(|_| name == "description") {
                    Some(text) => into.push((place.to_owned(), text.to_owned())),
                    None => descriptions(place, value, into),
                }
            }
        }
        Json::Array(items) => items.iter().for_each(|item| descriptions(place, item, into)),
        _ => {}
    }
}

#[test]
fn texts_have_the_words_of_the_glossary() -> Result<()> {
    let glossary = std::fs::read_to_string(root().join("docs/guide/glossary.md"))?;
    let others = others(&glossary);
    ensure!(others.len() > 10, "the table of the glossary has {} words", others.len());
    let mut texts = Vec::new();
    // Another test holds these pages against the program.
    let helps = std::fs::read_to_string(root().join("integration/tests/it/snapshots/it__cli__help.snap"))?;
    texts.extend(helps.split("$ slipway ").map(|page| ("help".to_owned(), page.to_owned())));
    for folder in ["specs/schema", "src/commands/schema", "crates/plan/schema", "crates/cluster-input/schema"]
    {
        for entry in std::fs::read_dir(root().join(folder))? {
            let path = entry?.path();
            let schema = serde_json::from_slice(&std::fs::read(&path)?)?;
            descriptions(&path.display().to_string(), &schema, &mut texts);
        }
    }
    for entry in std::fs::read_dir(root().join("docs/errors"))? {
        let path = entry?.path();
        let title = std::fs::read_to_string(&path)?.lines().next().unwrap_or_default().to_owned();
        texts.push((path.display().to_string(), title));
    }
    let place = Place::new(PROGRAM)?;
    let provider = place.expect(0, &["provider", "info", "sim", "-o", "json"])?.out;
    descriptions("provider sim", &serde_json::from_str(&provider).context("the provider")?, &mut texts);
    ensure!(texts.len() > 1_000, "{} texts", texts.len());
    for (place, text) in &texts {
        let text = text.to_lowercase();
        for (word, name) in &others {
            ensure!(!has(&text, word), "{place}: `{word}` is called `{name}` in Slipway: {text}");
        }
    }
    Ok(())
}

#[test]
fn a_word_is_found_at_the_beginning_of_words_only() {
    assert!(has("two state files", "state file") && has("destroyed", "destroy"));
    assert!(!has("estate files", "state file"));
    let table = format!("{HEADING}\n\n| word | instead |\n| --- | --- |\n| \"State file\" | state |\n");
    assert_eq!(others(&table), [("state file".to_owned(), "state".to_owned())]);
}
