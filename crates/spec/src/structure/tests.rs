use std::sync::Arc;

use super::*;
use crate::{source::SourceFile, v1alpha1::ClusterDocument, v1alpha1::NodePoolDocument, yaml};

fn problems(text: &str) -> Vec<(u32, String, String)> {
    let cluster = Shape::of::<ClusterDocument>();
    let pool = Shape::of::<NodePoolDocument>();
    let vocabulary = Vocabulary::new(&[("Cluster", &cluster), ("NodePool", &pool)]);
    let file = Arc::new(SourceFile::new("a.yaml", text));
    let (mut documents, diagnostics) = yaml::parse(&file);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let parsed = documents.remove(0);
    let kind = parsed.root.get("kind").and_then(Node::as_str).unwrap().to_owned();
    let document =
        Document { file, api_version: String::new(), kind, root: parsed.root, truncated: parsed.truncated };
    let shape = if document.kind == "Cluster" { &cluster } else { &pool };
    let checked = check(&document, shape, &vocabulary);
    if document.kind == "Cluster" {
        serde_json::from_value::<ClusterDocument>(checked.json).unwrap();
    } else {
        serde_json::from_value::<NodePoolDocument>(checked.json).unwrap();
    }
    checked
        .diagnostics
        .into_iter()
        .map(|problem| (problem.location.unwrap().line, problem.message, problem.hint.unwrap_or_default()))
        .collect()
}

fn pool(spec: &str) -> Vec<(u32, String, String)> {
    problems(&format!(
        "apiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{name: a}}\nspec:\n{spec}"
    ))
}

#[test]
fn finds_every_kind_of_mistake_in_one_pass() {
    let found = pool(concat!(
        "  machinetype: sim.large\n",
        "  role: workr\n",
        "  publicIp: yes\n",
        "  size: 3\n",
        "  rootVolume: { sizeGiB: big, iops: -1 }\n",
        "  taints:\n",
        "  - key: dedicated\n",
        "  kubernetesVersion: 1.35\n",
        "  subnets: a\n",
        "  nodeLabels: { tier: 1 }\n",
        "  rollout: { maxSurge: 120%, readyTimeout: 15 }\n",
    ));
    for (line, hint) in [
        (5, "`machineType`"),
        (6, "`worker`"),
        (7, "`true`"),
        (8, "`size: { fixed: 3 }`"),
        (9, "number"),
        (9, "0 to 1000000"),
        (11, "effect"),
        (12, "\"1.35.0\""),
        (13, "`subnets: [a]`"),
        (14, "`\"1\"`"),
        (15, "0% to 100%"),
        (15, "15m"),
    ] {
        assert!(
            found.iter().any(|(at, _, words)| *at == line && words.contains(hint)),
            "line {line} {hint}: {found:#?}"
        );
    }
    assert_eq!(found.len(), 12, "{found:#?}");
}

#[test]
fn unions_take_exactly_one_key() {
    let found = pool("  size: { fixed: 3, bounds: { min: 1, max: 2 } }\n");
    assert!(found[0].2.contains("exactly one of"), "{found:?}");
    let found = pool("  size:\n    fixed: 3\n    min: 1\n");
    assert_eq!(found.len(), 1, "{found:?}");
    let found = problems(concat!(
        "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\n",
        "spec:\n  provider: {name: sim}\n  kubernetesVersion: 1.35.0\n",
        "  controlPlane:\n    endpoint:\n      elected:\n",
    ));
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn says_where_a_field_belongs() {
    let found = problems(concat!(
        "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\n",
        "spec:\n  provider: {name: sim}\n  kubernetesVersion: 1.35.0\n  machineType: sim.large\n",
    ));
    assert_eq!(found[0].2, "`machineType` belongs to `spec.machineType` of a NodePool");
}
