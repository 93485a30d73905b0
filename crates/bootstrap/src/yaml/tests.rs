use super::*;

/// Values and what `sigs.k8s.io/yaml` 1.6.0 writes for each (`JSONToYAML`): hand-picked ones, and some at random.
const VECTORS: &str = include_str!("vectors.json");

#[test]
fn writes_what_the_tools_of_kubernetes_write() {
    let pairs: Vec<(Value, String)> = serde_json::from_str(VECTORS).unwrap();
    assert!(pairs.len() > 600);
    for (value, expected) in &pairs {
        assert_eq!(to_string(value), *expected, "{value}");
    }
}

#[test]
fn documents_are_told_apart() {
    let values = [serde_json::json!({"a": 1}), serde_json::json!({"b": 2})];
    assert_eq!(documents(&values), "a: 1\n---\nb: 2\n");
}
