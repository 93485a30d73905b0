//! Large inputs: documents of which one list or mapping has very many entries. Each is run once, as it is: a reader that compares
//! entries with each other is slow for these only, and mutations of inputs of this size would take the time of all others.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Result, ensure};
use serde_json::Value as Json;
use slipway_spec::source::SourceFile;
use slipway_spec::yaml;

/// The largest size of a list or mapping, in bytes.
const LARGEST: usize = 1 << 20;

/// How many entries a list or mapping has: as many as Slipway handles, and far more. Builds for tests are not optimised, and take
/// longer for each.
const ENTRIES: [usize; 2] = if cfg!(debug_assertions) { [500, 3_000] } else { [1_000, 30_000] };

/// The fields by which entries of lists differ.
const NAMES: [&str; 9] =
    ["device", "from", "issuer", "key", "mountPath", "name", "path", "registry", "resource"];

/// The place of the entries while the rest is written.
const MARK: &str = "the entries";

/// A large input, before it is made.
#[derive(Debug)]
pub struct Large {
    documents: Arc<Vec<Json>>,
    /// The number of the document with the list or mapping.
    document: usize,
    /// The JSON pointer to it.
    pointer: String,
    entries: usize,
}

impl Large {
    /// The input.
    #[must_use]
    pub fn input(&self) -> Vec<u8> {
        let mut documents = Vec::clone(&self.documents);
        let place = documents.get_mut(self.document).and_then(|document| document.pointer_mut(&self.pointer));
        let Some(place) = place else { return Vec::new() };
        let few = std::mem::replace(place, Json::from(MARK));
        let texts: Vec<String> = documents.iter().map(ToString::to_string).collect();
        let many = entries(&few, self.entries);
        texts.join("\n---\n").replacen(&Json::from(MARK).to_string(), &many, 1).into_bytes()
    }
}

/// No inputs.
///
/// # Errors
/// Never.
pub fn none() -> Result<Vec<Large>> {
    Ok(Vec::new())
}

/// The large inputs that are made of the documents of a file: several for each of its lists and mappings of one entry.
pub(crate) fn of(text: &str) -> Result<Vec<Large>> {
    let (parsed, diagnostics) = yaml::parse(&SourceFile::new("base.yaml", text));
    ensure!(diagnostics.is_empty(), "{diagnostics:?}");
    let documents: Arc<Vec<Json>> = Arc::new(parsed.iter().map(|document| document.root.to_json()).collect());
    let mut found = Vec::new();
    for (document, content) in documents.iter().enumerate() {
        let mut pointers = Vec::new();
        collect(content, "", &mut pointers);
        for pointer in pointers {
            found.extend(ENTRIES.map(|entries| Large {
                documents: documents.clone(),
                document,
                pointer: pointer.clone(),
                entries,
            }));
        }
    }
    Ok(found)
}

/// Collects the pointers to lists, and to mappings that may have names of the user's choice.
fn collect(value: &Json, at: &str, found: &mut Vec<String>) {
    match value {
        Json::Array(items) => {
            if !items.is_empty() {
                found.push(at.to_owned());
            }
            items.iter().enumerate().for_each(|(index, item)| collect(item, &format!("{at}/{index}"), found));
        }
        Json::Object(fields) => {
            let is_choice =
                fields.len() == 1 && !fields.values().any(|value| value.is_object() || value.is_array());
            if is_choice && !at.is_empty() {
                found.push(at.to_owned());
            }
            for (name, field) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                collect(field, &format!("{at}/{name}"), found);
            }
        }
        _ => {}
    }
}

/// As JSON, a list or mapping with this many variations of its first entry, or as many as there is room for.
fn entries(few: &Json, number: usize) -> String {
    let (open, close) = if few.is_array() { ('[', ']') } else { ('{', '}') };
    let mut text = String::from(open);
    for index in 0..number {
        let entry = match few {
            Json::Array(items) => items.first().map(|item| varied(item, index, true).to_string()),
            Json::Object(fields) => {
                let named = |(name, value): (&String, &Json)| {
                    format!("{}:{value}", Json::from(format!("{name}{index}")))
                };
                fields.iter().next().map(named)
            }
            _ => None,
        };
        let Some(entry) = entry.filter(|entry| text.len() + entry.len() < LARGEST) else { break };
        if index > 0 {
            text.push(',');
        }
        text.push_str(&entry);
    }
    text.push(close);
    text
}

/// The same value with another name, and with another range of addresses.
fn varied(value: &Json, index: usize, is_name: bool) -> Json {
    match value {
        Json::String(text) if is_range(text) => {
            Json::from(format!("11.{}.{}.0/24", index / 256 % 256, index % 256))
        }
        Json::String(text) if is_name => Json::from(format!("{text}{index}")),
        Json::Array(items) => items.iter().map(|item| varied(item, index, false)).collect(),
        Json::Object(fields) => {
            let other = |(name, value): (&String, &Json)| {
                (name.clone(), varied(value, index, NAMES.contains(&name.as_str())))
            };
            Json::Object(fields.iter().map(other).collect())
        }
        _ => value.clone(),
    }
}

fn is_range(text: &str) -> bool {
    text.split_once('/').is_some_and(|(address, _)| address.parse::<Ipv4Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_list_and_each_mapping_of_one_entry_becomes_large() {
        let text = "kind: A\nzones: [z, y]\nlabels: { a/b: c }\nranges: [10.0.0.0/16]\n---\nvolumes: [{ name: v, size: 1 }]\n";
        let found = of(text).unwrap();
        let places: Vec<(usize, &str)> =
            found.iter().map(|large| (large.document, large.pointer.as_str())).collect();
        for place in [(0, "/zones"), (0, "/labels"), (0, "/ranges"), (1, "/volumes")] {
            assert_eq!(places.iter().filter(|found| **found == place).count(), ENTRIES.len(), "{places:?}");
        }
        assert_eq!(found.len(), 4 * ENTRIES.len());
        for large in &found {
            let input = String::from_utf8(large.input()).unwrap();
            let (documents, problems) = yaml::parse(&SourceFile::new("large.yaml", input));
            assert!(problems.is_empty() && documents.len() == 2, "{problems:?}");
            let json = documents[large.document].root.to_json();
            let many = json.pointer(&large.pointer).unwrap();
            let items: std::collections::BTreeSet<String> = match many {
                Json::Array(items) => items.iter().map(ToString::to_string).collect(),
                many => many.as_object().unwrap().keys().cloned().collect(),
            };
            assert_eq!(items.len(), large.entries, "{}: entries differ", large.pointer);
        }
    }

    #[test]
    fn no_list_is_longer_than_a_file_may_be() {
        let long = entries(&serde_json::json!(["x".repeat(1_000)]), 3_000);
        assert!(long.len() <= LARGEST + 1 && long.len() > LARGEST / 2, "{}", long.len());
        assert!(serde_json::from_str::<Json>(&long).unwrap().is_array());
    }
}
