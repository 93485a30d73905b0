//! Bounds of levels, copies, patches and sizes.

use std::fmt::Write as _;

use slipway_limits::count;

use super::*;

/// Environments in a row, each the base of the next one, the first one with the base.
fn row(length: usize, times: usize) -> Vec<(String, String)> {
    let mut files = vec![("0/cluster.yaml".to_owned(), BASE.to_owned())];
    for level in 1..=length {
        let bases: Vec<String> = match level {
            1 => vec!["../0".to_owned()],
            _ => (0..times).map(|copy| format!("../{}/{copy}.yaml", level - 1)).collect(),
        };
        for copy in 0..times {
            let text = environment(&format!("e{level}"), &format!("  bases: [{}]\n", bases.join(", ")));
            files.push((format!("{level}/{copy}.yaml"), text));
        }
    }
    files
}

fn load_row(length: usize, times: usize) -> Loaded {
    let files = row(length, times);
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    load(&files)
}

#[test]
fn as_many_levels_as_allowed_are_rendered_and_no_more() {
    let loaded = load_row(count::ENVIRONMENT_DEPTH, 1);
    assert!(loaded.diagnostics.is_empty(), "{:#?}", loaded.diagnostics);
    assert_eq!(loaded.clusters.len(), 1);
    one(&load_row(count::ENVIRONMENT_DEPTH + 1, 1), &["SPEC0100", "more than 8 levels"]);
}

#[test]
fn bases_that_multiply_end_at_the_limit() {
    let loaded = load_row(count::ENVIRONMENT_DEPTH, 20);
    let found = problems(&loaded);
    assert!(found.iter().any(|problem| problem.starts_with("SPEC0013")), "{found:?}");
}

#[test]
fn as_many_patches_as_allowed_are_applied_and_no_more() {
    let patches = |number: usize| {
        let mut spec = "  bases: [../base]\n  patches:\n".to_owned();
        for index in 0..number {
            let _ = writeln!(
                spec,
                "  - {{ target: {{ kind: NodePool, name: workers }}, json: [{{ op: replace, path: /spec/size/fixed, value: {} }}] }}",
                index % 9 + 1
            );
        }
        rendered(&spec)
    };
    // A patch has nine values, and a file has 100,000 at most.
    let loaded = patches(5_000);
    assert!(loaded.diagnostics.is_empty(), "{:#?}", loaded.diagnostics);
    let found = problems(&patches(12_000));
    assert!(found.iter().any(|problem| problem.starts_with("SPEC0013")), "{found:?}");
    let operations = |number: usize| {
        let operation = "{ op: remove, path: /spec/size }, ".repeat(number);
        rendered(&format!(
            "  bases: [../base]\n  patches:\n  - target: {{ kind: NodePool, name: workers }}\n    json: [{operation}]\n"
        ))
    };
    one(&operations(count::PATCHES + 1), &["SPEC0101", "10001 operations"]);
}

#[test]
fn copies_that_double_a_document_end_at_the_limit() {
    let mut spec =
        "  bases: [../base]\n  patches:\n  - target: { kind: NodePool, name: workers }\n    json:\n"
            .to_owned();
    spec.push_str("    - { op: add, path: /spec/nodeLabels, value: {} }\n");
    for index in 0..100 {
        let _ =
            writeln!(spec, "    - {{ op: copy, from: /spec/nodeLabels, path: /spec/nodeLabels/{index} }}");
    }
    let found = problems(&rendered(&spec));
    let is_limit = |problem: &String| problem.contains("nested deeper") || problem.starts_with("SPEC0013");
    assert!(found.iter().any(is_limit), "{found:?}");
}

#[test]
fn a_long_text_that_is_repeated_ends_at_the_limit() {
    let labels = |references: usize| {
        let text = "a".repeat(64 << 10);
        let labels: String =
            (0..references).map(|index| format!("l{index}: {{ fromVariable: text }}, ")).collect();
        rendered(&format!(
            "  bases: [../base]\n  variables:\n  - {{ name: text, type: string, default: {text} }}\n  patches:\n  - target: {{ kind: NodePool, name: workers }}\n    merge: {{ spec: {{ nodeLabels: {{ {labels} }} }} }}\n"
        ))
    };
    let is_limit = |loaded: &Loaded| problems(loaded).iter().any(|problem| problem.starts_with("SPEC0013"));
    assert!(!is_limit(&labels(2)));
    // 128 MiB of text.
    assert!(is_limit(&labels(2_000)));
}

#[test]
fn a_large_patch_of_a_base_that_many_environments_have_ends_at_the_limit() {
    let labels: String = (0..10_000).map(|index| format!("l{index}: a, ")).collect();
    let base = environment(
        "base",
        &format!(
            "  bases: [cluster.yaml]\n  patches:\n  - target: {{ kind: NodePool, name: workers }}\n    merge: {{ spec: {{ nodeLabels: {{ {labels} }} }} }}\n"
        ),
    );
    let others: Vec<(String, String)> = (0..150)
        .map(|index| {
            let text = environment(&format!("e{index}"), "  bases: [../base]\n");
            (format!("{index}/environment.yaml"), text)
        })
        .collect();
    let mut files = vec![("base/cluster.yaml", BASE), ("base/environment.yaml", &*base)];
    files.extend(others.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let found = problems(&load(&files));
    assert!(found.iter().any(|problem| problem.starts_with("SPEC0013")), "{found:?}");
}

#[test]
fn an_error_of_a_base_is_not_repeated_for_every_environment() {
    let base = environment(
        "base",
        "  bases: [cluster.yaml]\n  patches:\n  - target: { kind: NodePool, name: wrokers }\n    merge: {}\n",
    );
    let others: Vec<(String, String)> = (0..900)
        .map(|index| {
            let text = environment(&format!("e{index}"), "  bases: [../base]\n");
            (format!("{index}/environment.yaml"), text)
        })
        .collect();
    let mut files = vec![("base/cluster.yaml", BASE), ("base/environment.yaml", &*base)];
    files.extend(others.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    let loaded = load(&files);
    assert!(!loaded.is_valid());
    let found = problems(&loaded);
    assert!(found.len() < 10 && found.iter().any(|problem| problem.contains("wrokers")), "{found:?}");
}

#[test]
fn many_changes_of_a_long_list_end_at_the_limit() {
    let base = |files: usize| {
        let files: String = (0..files).map(|index| format!("    - {{ name: f{index} }}\n")).collect();
        format!(
            "{}{files}",
            BASE.trim_end_matches("    - { name: issue, path: /etc/issue, content: hello }\n")
        )
    };
    let merged = |items: usize| {
        let files: String = (0..items).map(|index| format!("{{ name: f{index} }}, ")).collect();
        let environment = environment(
            "prod",
            &format!(
                "  bases: [../base]\n  patches:\n  - target: {{ kind: NodePool, name: workers }}\n    merge: {{ spec: {{ nodeFiles: {{ files: [{files}] }} }} }}\n"
            ),
        );
        load(&[("base/cluster.yaml", &base(items)), ("prod/environment.yaml", &environment)])
    };
    let is_limit = |loaded: &Loaded| problems(loaded).iter().any(|problem| problem.starts_with("SPEC0013"));
    assert!(!is_limit(&merged(1_000)));
    assert!(is_limit(&merged(20_000)));
}
