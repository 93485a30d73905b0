//! A spec of kOps and the native form that it is converted to become the same resources.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends there")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use slipway_aws_model::{catalog::Catalog, expand::expand};
use slipway_kops::KopsReader;
use slipway_resource::{Desired, Digest, provider};
use slipway_spec::{brief_yaml, diagnostic, load_files, load_with, model::Cluster, source::SourceFile};

/// The fixtures, and the cases that the environment names.
fn specs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut folders = vec![root.join("fixtures/kops")];
    folders.extend(std::env::var_os("SLIPWAY_CASES").map(PathBuf::from));
    let mut found = Vec::new();
    for folder in folders {
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        found.extend(
            entries.map(|entry| entry.unwrap().path().join("spec.yaml")).filter(|path| path.exists()),
        );
    }
    found.sort();
    found
}

fn resources(cluster: &Cluster) -> Result<Vec<Desired>, String> {
    let catalog = Catalog::offline(cluster.region.as_deref().unwrap_or_default());
    let data = serde_json::to_value(catalog).unwrap();
    let request = provider::ExpandRequest {
        cluster: cluster.to_provider().unwrap(),
        catalog: provider::Catalog { digest: Digest::of(&data).unwrap(), data },
    };
    expand(&request).map(|expansion| expansion.resources).map_err(|error| error.message)
}

/// Where two values differ.
fn differences(path: &str, left: &Value, right: &Value) -> Vec<String> {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            let of = |name: &String| {
                let absent = Value::Null;
                let pair = (left.get(name).unwrap_or(&absent), right.get(name).unwrap_or(&absent));
                differences(&format!("{path}.{name}"), pair.0, pair.1)
            };
            names.into_iter().flat_map(of).collect()
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            let pairs = left.iter().zip(right).enumerate();
            pairs
                .flat_map(|(index, (left, right))| differences(&format!("{path}[{index}]"), left, right))
                .collect()
        }
        _ if left == right => Vec::new(),
        _ => vec![format!("{path}: {left} is not {right}")],
    }
}

#[test]
fn both_forms_become_the_same_resources() {
    let mut compared = 0;
    for path in specs() {
        let loaded = load_with(std::slice::from_ref(&path), &[&KopsReader::default()]);
        if !loaded.is_valid() {
            continue;
        }
        for cluster in loaded.clusters.iter().filter(|cluster| cluster.provider.name == "aws") {
            let native = slipway_kops::native(cluster);
            let sources = loaded.sources.cluster(&cluster.name).unwrap();
            let text = brief_yaml(&native, sources, "a default of kOps", false).unwrap();
            let again = load_files(vec![SourceFile::new("native.yaml", text.clone())], &[]);
            let place = path.display();
            assert!(again.is_valid(), "{place}\n{}\n{text}", diagnostic::render_all(&again.diagnostics));
            let differences = differences(
                "",
                &serde_json::to_value(&again.clusters[0]).unwrap(),
                &serde_json::to_value(&native).unwrap(),
            );
            assert!(differences.is_empty(), "{place}\n{}", differences.join("\n"));
            assert!(!text.contains("kops:"), "{place}\n{text}");
            assert_eq!(resources(cluster), resources(&again.clusters[0]), "{place}");
            compared += 1;
        }
    }
    assert!(compared >= 5, "only {compared} clusters were compared");
}
