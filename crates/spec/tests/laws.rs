//! Laws of loading and showing, over every leaf of the documents.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use slipway_spec::{
    Loaded, diagnostic, full_yaml, leaves, leaves::Leaf, load, load_files, source::SourceFile, v1alpha1,
};

fn example(name: &str) -> Loaded {
    load(&[format!("{}/../../specs/{name}", env!("CARGO_MANIFEST_DIR")).into()])
}

/// Sets a leaf wherever its path leads in a document, making what is on the way; `false` when the way is closed by
/// another choice of "exactly one".
fn set(target: &mut serde_json::Value, path: &[&str], value: &serde_json::Value) -> bool {
    let Some((step, rest)) = path.split_first() else {
        *target = value.clone();
        return true;
    };
    if let Some(list) = step.strip_suffix("[]") {
        let items = &mut target[list];
        return items.as_array_mut().is_some_and(|items| items.iter_mut().any(|item| set(item, rest, value)));
    }
    if *step == "*" {
        return target.as_object_mut().is_some_and(|map| map.values_mut().any(|item| set(item, rest, value)));
    }
    if !target.is_object() {
        return false;
    }
    if target.get(*step).is_none() {
        target[*step] = if rest.is_empty() { serde_json::Value::Null } else { serde_json::json!({}) };
    }
    set(&mut target[*step], rest, value)
}

fn documents(loaded: &Loaded) -> Vec<serde_json::Value> {
    loaded.clusters.iter().flat_map(|cluster| v1alpha1::full_documents(cluster).unwrap()).collect()
}

fn text(documents: &[serde_json::Value]) -> String {
    documents.iter().map(|document| format!("---\n{document}\n")).collect()
}

fn read(text: &str) -> Loaded {
    load_files(vec![SourceFile::new("mutated.yaml", text)], &[])
}

#[test]
fn every_leaf_can_be_changed_and_survives_the_way_round() {
    let base = example("ha-private");
    let mut original = documents(&base);
    original.retain(|document| {
        ["ha-private", "control-plane", "databases"].iter().any(|name| document["metadata"]["name"] == *name)
    });
    let (mut changed, mut valid) = (0, 0);
    for leaf in leaves() {
        for value in leaf.values() {
            let Some(mutated) = mutate(&original, &leaf, &value) else { continue };
            let loaded = read(&text(&mutated));
            changed += 1;
            if !loaded.is_valid() {
                continue;
            }
            valid += 1;
            let full = full_yaml(&loaded).unwrap();
            let again = read(&full);
            assert_eq!(
                again.clusters,
                loaded.clusters,
                "{} {} = {value}\n{}",
                leaf.document,
                leaf.path,
                diagnostic::render_all(&again.diagnostics)
            );
        }
    }
    println!("{changed} changes, {valid} of them valid");
    assert!(changed > 400, "{changed}");
    assert!(valid * 10 > changed * 6, "{valid} of {changed}");
}

fn mutate(
    original: &[serde_json::Value],
    leaf: &Leaf,
    value: &serde_json::Value,
) -> Option<Vec<serde_json::Value>> {
    let mut documents = original.to_vec();
    let document = documents.iter_mut().rfind(|document| document["kind"] == leaf.document)?;
    let path: Vec<&str> = leaf.path.split('.').collect();
    set(document, &path, value).then_some(documents)
}

#[test]
fn every_leaf_of_a_wrong_type_is_reported() {
    let original = documents(&example("ha-private"));
    for leaf in leaves() {
        if matches!(leaf.shape.kind, slipway_spec::shape::Kind::Opaque) {
            continue;
        }
        let wrong = serde_json::json!([[{ "wrong": "type" }]]);
        let Some(mutated) = mutate(&original, &leaf, &wrong) else { continue };
        let loaded = read(&text(&mutated));
        assert!(!loaded.is_valid(), "{} {}", leaf.document, leaf.path);
        for problem in &loaded.diagnostics {
            assert!(problem.location.is_some() && problem.hint.is_some(), "{problem:?}");
        }
    }
}

#[test]
fn the_order_of_files_does_not_matter() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../specs/ha-private");
    let one = load(&[format!("{folder}/cluster.yaml").into(), format!("{folder}/pools.yaml").into()]);
    let other = load(&[format!("{folder}/pools.yaml").into(), format!("{folder}/cluster.yaml").into()]);
    assert_eq!(one.clusters, other.clusters);
    assert_eq!(one.diagnostics, other.diagnostics);
}

#[test]
fn cut_off_files_never_break_the_loader() {
    for name in ["ha-private/cluster.yaml", "spot/pools.yaml", "single-host/cluster.yaml"] {
        let path = format!("{}/../../specs/{name}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        for (end, _) in text.char_indices().step_by(7) {
            let _ = read(&text[..end]);
        }
    }
}

#[test]
fn hostile_files_cost_little() {
    let header = "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\nspec:\n";
    let unknown: String = (0..30_000).map(|index| format!("  field{index}: 1\n")).collect();
    let twice = "  same: 1\n".repeat(30_000);
    let quotes = "---\na: \"b\n".repeat(30_000);
    let items: String = (0..20_000).map(|_| "  - {name: x, zone: a, kind: private}\n").collect();
    let one_line = format!("{{\"a\": [{}0]}}", "[1, \"x\"], ".repeat(20_000));
    for (name, text) in [
        ("unknown", format!("{header}{unknown}")),
        ("twice", format!("{header}{twice}")),
        ("quotes", quotes),
        ("items", format!("{header}  network:\n   subnets:\n{items}")),
        ("one line", one_line),
    ] {
        let started = std::time::Instant::now();
        assert!(!read(&text).is_valid());
        println!("{name}: {:?}", started.elapsed());
    }
}
