//! The tree that documents are read into means the same as what `serde_yaml` reads, for every file we have.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize as _;
use slipway_spec::{source::SourceFile, yaml};

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path
            .extension()
            .is_some_and(|end| ["yaml", "yml", "json"].iter().any(|known| end == *known))
        {
            found.push(path);
        }
    }
}

/// The result of `serde_yaml` for a file; `None` for a mistake or a value that JSON does not have.
fn peer(text: &str) -> Option<Vec<serde_json::Value>> {
    let mut documents = Vec::new();
    for document in serde_yaml::Deserializer::from_str(text) {
        let mut value = serde_yaml::Value::deserialize(document).ok()?;
        value.apply_merge().ok()?;
        let value = serde_json::to_value(value).ok()?;
        if !value.is_null() {
            documents.push(value);
        }
    }
    Some(documents)
}

#[test]
fn both_parsers_read_the_same() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut files = Vec::new();
    collect(&root.join("specs"), &mut files);
    collect(&root.join("fixtures"), &mut files);
    let mut compared = 0;
    for path in files {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let file = SourceFile::new(path.display().to_string(), text.as_str());
        let (documents, diagnostics) = yaml::parse(&file);
        if diagnostics.is_empty() {
            let ours: Vec<serde_json::Value> =
                documents.iter().map(|document| document.root.to_json()).collect();
            assert_eq!(peer(&text).as_ref(), Some(&ours), "{}", path.display());
            compared += 1;
        }
    }
    assert!(compared > 50, "{compared} files");
}

#[test]
fn both_parsers_read_scalars_the_same() {
    for text in [
        "yes",
        "true",
        "True",
        "null",
        "~",
        "1",
        "-1",
        "+1",
        "0x1f",
        "0o17",
        "017",
        "1.5",
        "1e3",
        "1_000",
        "1.2.3",
        "'1'",
        "\"true\"",
        ".5",
        "5.",
        "1:30",
        "2001-01-01",
        "10.0.0.0/8",
        "|\n  a\n  b\n",
        ">-\n  a\n  b\n",
        "-0",
    ] {
        let text = format!("a: {text}\n");
        let (documents, _) = yaml::parse(&SourceFile::new("a.yaml", text.as_str()));
        let ours: Vec<serde_json::Value> = documents.iter().map(|document| document.root.to_json()).collect();
        assert_eq!(peer(&text), Some(ours), "{text}");
    }
}
