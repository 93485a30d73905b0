//! Laws of loading and showing, over every leaf of the documents.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use serde_json::Value as Json;
use slipway_spec::{
    Loaded, diagnostic, full_yaml, leaves,
    leaves::Leaf,
    load, load_files,
    shape::{Kind, Shape},
    source::SourceFile,
    v1alpha1::{self, ClusterDocument, HostDocument, NodePoolDocument},
    written_yaml,
};

fn example(name: &str) -> Loaded {
    load(&[format!("{}/../../specs/{name}", env!("CARGO_MANIFEST_DIR")).into()])
}

/// Sets a leaf, and creates missing parents: items of lists, fields, the chosen one of several.
fn set(target: &mut Json, shape: &Shape, path: &[&str], value: &Json) {
    let Some((step, rest)) = path.split_first() else {
        *target = value.clone();
        return;
    };
    if target.is_null() {
        *target = shape.stand_in();
    }
    let (name, in_list) = step.strip_suffix("[]").map_or((*step, false), |name| (name, true));
    let field = &shape.fields().unwrap_or_else(|| panic!("{step} is inside of something"))[name].shape;
    if matches!(shape.kind, Kind::OneOf(_)) && target.get(name).is_none() {
        *target = serde_json::json!({});
    }
    let inside = &mut target[name];
    if !in_list {
        set(inside, field, rest, value);
        return;
    }
    let Kind::List(item) = &field.kind else { panic!("{step} is not a list") };
    if inside.as_array().is_none_or(Vec::is_empty) {
        *inside = Json::Array(vec![Json::Null]);
    }
    set(&mut inside[0], item, rest, value);
}

fn documents(loaded: &Loaded) -> Vec<Json> {
    loaded.clusters.iter().flat_map(|cluster| v1alpha1::full_documents(cluster).unwrap()).collect()
}

/// A cluster with documents of every kind.
fn base() -> Vec<Json> {
    let hosts = documents(&example("hosts-single"));
    let hosts = hosts.into_iter().filter(|document| document["kind"] == "Host");
    documents(&example("ha-private")).into_iter().chain(hosts).collect()
}

fn text(documents: &[Json]) -> String {
    documents.iter().map(|document| format!("---\n{document}\n")).collect()
}

fn read(text: &str) -> Loaded {
    load_files(vec![SourceFile::new("mutated.yaml", text)], &[])
}

#[test]
fn every_leaf_can_be_changed_and_survives_the_way_round() {
    let mut original = base();
    original.retain(|document| {
        ["ha-private", "control-plane", "databases", "server"]
            .iter()
            .any(|name| document["metadata"]["name"] == *name)
    });
    let (mut changed, mut valid, mut round) = (0, 0, 0);
    for leaf in leaves() {
        for value in leaf.values() {
            let mutated = mutate(&original, &leaf, &value);
            let loaded = read(&text(&mutated));
            changed += 1;
            // Values that break a rule between fields are converted nevertheless, so the law holds for them
            // too. It does not hold for replaced values.
            if loaded.diagnostics.iter().any(|problem| problem.code.id < "SPEC0020") {
                continue;
            }
            valid += usize::from(loaded.is_valid());
            round += 1;
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
            if loaded.is_valid() {
                let written = written_yaml(&loaded).unwrap();
                let again = read(&written);
                assert_eq!(
                    again.clusters, loaded.clusters,
                    "{} {} = {value}\n{written}",
                    leaf.document, leaf.path
                );
            }
        }
    }
    println!("{changed} changes, {valid} of them valid, {round} went round");
    assert!(round * 10 > changed * 9, "{round} of {changed}");
    assert!(changed > 600, "{changed}");
    assert!(valid * 2 > changed, "{valid} of {changed}");
}

fn mutate(original: &[Json], leaf: &Leaf, value: &Json) -> Vec<Json> {
    let mut documents = original.to_vec();
    let document = documents.iter_mut().rfind(|document| document["kind"] == leaf.document).unwrap();
    let shape = match leaf.document {
        "Cluster" => Shape::of::<ClusterDocument>(),
        "Host" => Shape::of::<HostDocument>(),
        _ => Shape::of::<NodePoolDocument>(),
    };
    let path: Vec<&str> = leaf.path.split('.').collect();
    set(document, &shape, &path, value);
    documents
}

#[test]
fn every_leaf_of_a_wrong_type_is_reported() {
    let original = base();
    for leaf in leaves() {
        if matches!(leaf.shape.kind, Kind::Opaque) {
            continue;
        }
        let wrong = serde_json::json!([[{ "wrong": "type" }]]);
        let mutated = mutate(&original, &leaf, &wrong);
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
