mod bounds;

use crate::{
    Loaded, full_yaml, load_files,
    source::{Origin, SourceFile},
};

const BASE: &str = "\
apiVersion: slipway.dev/v1alpha1
kind: Cluster
metadata: { name: shop }
spec:
  provider: { name: sim }
  kubernetesVersion: 1.35.2
  zones: [a]
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: control-plane }
spec: { role: controlPlane, machineType: sim.large }
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: workers }
spec:
  machineType: sim.medium
  size: { fixed: 1 }
  nodeFiles:
    files:
    - { name: motd, path: /etc/motd, content: hello }
    - { name: issue, path: /etc/issue, content: hello }
";

fn environment(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: slipway.dev/v1alpha1\nkind: Environment\nmetadata: {{ name: {name} }}\nspec:\n{spec}"
    )
}

fn load(files: &[(&str, &str)]) -> Loaded {
    load_files(files.iter().map(|(path, text)| SourceFile::new(*path, *text)).collect(), &[])
}

/// An environment of the base. Its `spec` begins at line 5.
fn rendered(spec: &str) -> Loaded {
    load(&[("base/cluster.yaml", BASE), ("prod/environment.yaml", &environment("prod", spec))])
}

fn valid(spec: &str) -> Loaded {
    let loaded = rendered(spec);
    assert!(loaded.diagnostics.is_empty(), "{:#?}", loaded.diagnostics);
    loaded
}

/// The code, the place, the message and the hint of each problem.
fn problems(loaded: &Loaded) -> Vec<String> {
    let text = |problem: &crate::diagnostic::Diagnostic| {
        let place = problem.location.as_ref().map(|place| format!("{}:{}", place.file, place.line));
        let hint = problem.hint.as_deref().unwrap_or_default();
        format!("{} {} {} ({hint})", problem.code.id, place.unwrap_or_default(), problem.message)
    };
    loaded.diagnostics.iter().map(text).collect()
}

/// Checks that there is one problem, with these words in this order.
fn one(loaded: &Loaded, words: &[&str]) {
    let problems = problems(loaded);
    assert_eq!(problems.len(), 1, "{problems:#?}");
    let mut rest = problems[0].as_str();
    for word in words {
        let at = rest.find(word).unwrap_or_else(|| panic!("{word:?} in {problems:?}"));
        rest = &rest[at + word.len()..];
    }
}

fn place(loaded: &Loaded, field: &str) -> String {
    match loaded.sources.origin(&loaded.clusters[0].name, field) {
        Origin::Written(place) => format!("{}:{}", place.file, place.line),
        Origin::Default => "default".to_owned(),
    }
}

#[test]
fn a_value_has_the_place_where_it_is_written() {
    let loaded = valid(
        "  bases: [../base]
  patches:
  - target: { kind: Cluster, name: shop }
    merge:
      metadata: { name: shop-prod }
      spec:
        zones: [a, b, c]
  - target: { kind: NodePool, name: workers }
    json:
    - { op: replace, path: /spec/machineType, value: sim.large }
",
    );
    assert_eq!(loaded.clusters.len(), 1, "the base is no cluster of its own");
    let cluster = &loaded.clusters[0];
    assert_eq!((cluster.name.as_str(), cluster.zones.len(), cluster.pools.len()), ("shop-prod", 3, 2));
    assert_eq!(place(&loaded, "name"), "prod/environment.yaml:9");
    assert_eq!(place(&loaded, "zones"), "prod/environment.yaml:11");
    assert_eq!(place(&loaded, "kubernetesVersion"), "base/cluster.yaml:6");
    assert_eq!(place(&loaded, "pools[workers].machineType"), "prod/environment.yaml:14");
    assert_eq!(place(&loaded, "pools[workers].size.fixed"), "base/cluster.yaml:19");
}

#[test]
fn the_full_form_of_an_environment_is_loadable_by_itself() {
    let loaded = valid(
        "  bases: [../base]
  patches:
  - target: { kind: NodePool, name: workers }
    merge: { spec: { size: { bounds: { min: 2, max: 4 } } } }
",
    );
    let workers = loaded.clusters[0].pool("workers").unwrap();
    assert_eq!((workers.size.min(), workers.size.max()), (2, 4), "another key replaces `fixed`");
    let full = full_yaml(&loaded).unwrap();
    let again = load(&[("full.yaml", &full)]);
    assert!(again.diagnostics.is_empty(), "{:#?}", again.diagnostics);
    assert_eq!(again.clusters, loaded.clusters);
}

#[test]
fn items_with_names_are_merged_by_name() {
    let loaded = valid(
        "  bases: [../base]
  patches:
  - target: { kind: NodePool, name: workers }
    merge:
      spec:
        nodeFiles:
          files:
          - { name: issue, $patch: delete }
          - { name: motd, content: prod }
          - { name: release, path: /etc/release, content: new }
        size: null
  - target: { kind: NodePool, name: workers }
    json:
    - { op: test, path: /spec/nodeFiles/files/0/name, value: motd }
    - { op: move, from: /spec/nodeFiles/files/1, path: /spec/nodeFiles/files/0 }
    - { op: copy, from: /spec/machineType, path: /spec/nodeLabels, value: null }
    - { op: remove, path: /spec/nodeLabels }
    - { op: add, path: /spec/nodeLabels, value: { example.com/a~b: \"1\" } }
    - { op: replace, path: /spec/nodeLabels/example.com~1a~0b, value: \"2\" }
    - { op: move, from: /spec/nodeLabels/example.com~1a~0b, path: /spec/nodeLabels/example.com~1c }
",
    );
    let workers = loaded.clusters[0].pool("workers").unwrap();
    let files: Vec<(&str, &str)> =
        workers.node_files.files.iter().map(|file| (file.name.as_str(), file.content.as_str())).collect();
    assert_eq!(files, [("release", "new"), ("motd", "prod")]);
    assert_eq!(place(&loaded, "pools[workers].nodeFiles.files[motd].content"), "prod/environment.yaml:13");
    assert_eq!(place(&loaded, "pools[workers].nodeFiles.files[motd].path"), "base/cluster.yaml:22");
    assert_eq!(place(&loaded, "pools[workers].size"), "default");
    assert_eq!(workers.node_labels.get("example.com/c").map(String::as_str), Some("2"));
}

#[test]
fn a_document_can_be_left_out() {
    let loaded = valid(
        "  bases: [../base]
  patches:
  - target: { kind: NodePool, name: workers }
    merge: { $patch: delete }
",
    );
    assert!(loaded.clusters[0].pool("workers").is_none());
}

#[test]
fn a_patch_that_does_not_apply_is_reported_at_its_line() {
    let patch = |patch: &str| rendered(&format!("  bases: [../base]\n  patches:\n  - {patch}\n"));
    let workers = |change: &str| patch(&format!("target: {{ kind: NodePool, name: workers }}\n    {change}"));
    let target =
        |kind: &str, name: &str| patch(&format!("target: {{ kind: {kind}, name: {name} }}\n    merge: {{}}"));
    one(&target("NodePool", "wrokers"), &["SPEC0101", "environment.yaml:7", "did you mean `workers`?"]);
    one(&target("Pool", "workers"), &["SPEC0101", "the kinds of the bases are Cluster, NodePool"]);
    one(&workers("merge: { spec: { image: null } }"), &["SPEC0101", "environment.yaml:8", "no `spec.image`"]);
    one(&workers("merge: [a]"), &["SPEC0101", "a mapping, not a list"]);
    one(&workers("merge: { kind: Host }"), &["SPEC0101", "the `kind`"]);
    one(
        &workers("merge: { spec: { nodeFiles: { files: [{ path: /etc/motd }] } } }"),
        &["SPEC0101", "merged by `name`"],
    );
    one(
        &workers("merge: { spec: { nodeFiles: { files: [{ name: no, $patch: delete }] } } }"),
        &["SPEC0101", "no item `no`"],
    );
    one(&workers("merge: { spec: { nodeLabels: { $patch: delete } } }"), &["SPEC0101", "to delete"]);
    one(&workers("merge: { spec: {} }\n    json: [{ op: remove, path: /spec/size }]"), &["SPEC0009", "both"]);
    one(&patch("target: { kind: NodePool, name: workers }"), &["SPEC0009", "no change"]);
    for (operation, words) in [
        ("op: remove, path: /spec/image", "no value at `/spec/image`"),
        ("op: remove, path: spec", "no JSON pointer"),
        ("op: remove, path: ''", "a whole document"),
        ("op: replace, path: /spec/image, value: a", "no value at"),
        ("op: add, path: /spec/nodeFiles/files/3, value: a", "no value at"),
        ("op: add, path: /spec/nodeFiles/files/00, value: a", "no value at"),
        ("op: add, path: /spec/image", "no `value`"),
        ("op: move, path: /spec/image", "no `from`"),
        ("op: move, from: /spec, path: /spec/a", "inside of the value that is moved"),
        ("op: test, path: /spec/size/fixed, value: 2", "another one than the test expects"),
    ] {
        one(&workers(&format!("json: [{{ {operation} }}]")), &["SPEC0101", "environment.yaml:8", words]);
    }
}

const VARIABLES: &str = "\
apiVersion: slipway.dev/v1alpha1
kind: Environment
metadata: { name: base }
spec:
  bases: [cluster.yaml]
  variables:
  - { name: machineType, type: string, default: sim.medium, allowed: [sim.medium, sim.large] }
  - { name: workers, type: integer, default: 1 }
  - { name: zones, type: list, allowed: [a, b, c] }
";

/// An environment of a base with variables. `values` begins at line 6.
fn with_values(values: &str) -> Loaded {
    let base = BASE
        .replace("machineType: sim.medium", "machineType: { fromVariable: machineType }")
        .replace("fixed: 1", "fixed: { fromVariable: workers }")
        .replace("zones: [a]", "zones: { fromVariable: zones }");
    load(&[
        ("base/cluster.yaml", &base),
        ("base/environment.yaml", VARIABLES),
        ("prod/environment.yaml", &environment("prod", &format!("  bases: [../base]\n{values}"))),
    ])
}

#[test]
fn variables_are_typed_values() {
    let loaded = with_values("  values: { zones: [a, b], workers: 2 }\n");
    assert!(loaded.diagnostics.is_empty(), "{:#?}", loaded.diagnostics);
    let cluster = &loaded.clusters[0];
    assert_eq!(cluster.zones, ["a", "b"]);
    assert_eq!(cluster.pool("workers").unwrap().size.max(), 2);
    assert_eq!(place(&loaded, "zones"), "prod/environment.yaml:6");
    assert_eq!(place(&loaded, "pools[workers].size.fixed"), "prod/environment.yaml:6");
    assert_eq!(place(&loaded, "pools[workers].machineType"), "base/environment.yaml:7");
    let nearest = |field: &str| {
        let place = loaded.sources.cluster("shop").and_then(|sources| sources.nearest(field)).unwrap();
        format!("{}:{}", place.file, place.line)
    };
    // Messages name the line that says the value, not the reference to it.
    assert_eq!(nearest("zones"), "prod/environment.yaml:6");
    assert_eq!(nearest("pools[workers].machineType"), "base/environment.yaml:7");
}

#[test]
fn what_is_wrong_with_variables_is_reported_at_its_line() {
    let zones = |more: &str| with_values(&format!("  values: {{ zones: [a], {more} }}\n"));
    one(&with_values(""), &["SPEC0102", "base/environment.yaml:9", "`zones` has no value"]);
    one(&zones("workers: \"2\""), &["SPEC0102", "prod/environment.yaml:6", "a text, not a whole number"]);
    one(&zones("machineType: 2"), &["SPEC0102", "a number, not a text", "quotes"]);
    one(&zones("machineType: null"), &["SPEC0102", "no value, not a text"]);
    one(&zones("machineType: sim.huge"), &["SPEC0102", "not an allowed one", "\"sim.large\""]);
    one(
        &with_values("  values: { zones: [a, z] }\n"),
        &["SPEC0102", "prod/environment.yaml:6", "not an allowed one"],
    );
    one(&with_values("  values: { zones: [[a]] }\n"), &["SPEC0102", "a list of texts"]);
    one(&zones("machinetype: sim.large"), &["SPEC0102", "no variable `machinetype`", "`machineType`"]);
    one(
        &with_values(
            "  values: { zones: [a] }\n  variables: [{ name: extra, type: boolean, default: true }]\n",
        ),
        &["SPEC0102", "prod/environment.yaml:7", "`extra` is not used"],
    );
    one(
        &with_values("  values: { zones: [a] }\n  variables: [{ name: a, type: float, default: 1 }]\n"),
        &["SPEC0006", "prod/environment.yaml:7"],
    );
    let references = |value: &str| {
        rendered(&format!(
            "  bases: [../base]\n  patches:\n  - target: {{ kind: NodePool, name: workers }}\n    merge: {{ spec: {{ image: {value} }} }}\n"
        ))
    };
    one(
        &references("{ fromVariable: image }"),
        &["SPEC0102", "environment.yaml:8", "`image` is not declared"],
    );
    one(&references("{ fromVariable: image, or: a }"), &["SPEC0102", "environment.yaml:8", "nothing else"]);
    one(&references("{ fromVariable: [a] }"), &["SPEC0102", "environment.yaml:8", "nothing else"]);
    let alone = BASE.replace("zones: [a]", "zones: { fromVariable: zones }");
    let alone = load(&[("base/cluster.yaml", &alone)]);
    let found = problems(&alone);
    assert!(found.iter().any(|problem| problem.starts_with("SPEC0102 base/cluster.yaml:7")), "{found:?}");
}

#[test]
fn a_patch_cannot_bypass_the_allowed_values_of_a_variable() {
    let patched = |change: &str| {
        with_values(&format!(
            "  values: {{ zones: [a] }}\n  patches:\n  - target: {{ kind: NodePool, name: workers }}\n    {change}\n"
        ))
    };
    for change in [
        "merge: { spec: { machineType: sim.gigantic } }",
        "json: [{ op: replace, path: /spec/machineType, value: sim.gigantic }]",
    ] {
        let names = ["SPEC0102", "prod/environment.yaml:9", "`spec.machineType`", "\"sim.large\""];
        one(&patched(change), &names);
    }
    // A value that is not allowed is reported once, and not as one of a patch.
    let other = "  patches:\n  - target: { kind: NodePool, name: workers }\n    merge: { spec: { nodeLabels: { a: b } } }\n";
    one(
        &with_values(&format!("  values: {{ zones: [a], machineType: sim.huge }}\n{other}")),
        &["SPEC0102", "prod/environment.yaml:6", "not an allowed one"],
    );
    let allowed = patched("merge: { spec: { machineType: sim.large, size: { fixed: 7 } } }");
    assert!(allowed.diagnostics.is_empty(), "{:#?}", allowed.diagnostics);
    let zones = "  - target: { kind: Cluster, name: shop }\n    merge: { spec: { zones: [b, z] } }";
    one(
        &with_values(&format!("  values: {{ zones: [a] }}\n  patches:\n{zones}\n")),
        &["SPEC0102", "prod/environment.yaml:9", "`spec.zones`", "`zones`"],
    );
}

#[test]
fn patches_of_a_base_that_cannot_be_read_are_not_reported() {
    let patch =
        "  patches:\n  - target: { kind: NodePool, name: workers }\n    merge: { spec: { image: a } }\n";
    one(&rendered(&format!("  bases: [../nowhere]\n{patch}")), &["SPEC0100", "prod/environment.yaml:5"]);
}

#[test]
fn environments_of_one_base_do_not_share_documents() {
    let overlay = |name: &str| {
        environment(
            name,
            &format!(
                "  bases: [../base]\n  patches:\n  - target: {{ kind: Cluster, name: shop }}\n    merge: {{ metadata: {{ name: shop-{name} }} }}\n"
            ),
        )
    };
    let (dev, prod) = (overlay("dev"), overlay("prod"));
    let files =
        [("base/cluster.yaml", BASE), ("dev/environment.yaml", &*dev), ("prod/environment.yaml", &*prod)];
    let loaded = load(&files);
    assert!(loaded.diagnostics.is_empty(), "{:#?}", loaded.diagnostics);
    let pools: Vec<(&str, usize)> =
        loaded.clusters.iter().map(|cluster| (cluster.name.as_str(), cluster.pools.len())).collect();
    assert_eq!(pools, [("shop-dev", 2), ("shop-prod", 2)]);
}

#[test]
fn bases_that_lead_nowhere_or_in_circles_are_refused() {
    let bases = |bases: &str| rendered(&format!("  bases: {bases}\n"));
    one(&bases("[../../../etc]"), &["SPEC0100", "prod/environment.yaml:5", "has no spec files"]);
    one(&bases("[]"), &["SPEC0100", "prod/environment.yaml:3", "has no bases"]);
    one(&bases("[/etc]"), &["SPEC0100", "prod/environment.yaml:5", "absolute"]);
    one(&bases("['https://example.com/a.yaml']"), &["SPEC0100", "does not download"]);
    one(&bases("[../base, .]"), &["SPEC0100", "prod/environment.yaml:5", "among its own bases"]);
    let circle = [
        ("a/environment.yaml", environment("a", "  bases: [../b]\n")),
        ("b/environment.yaml", environment("b", "  bases: [../a]\n")),
    ];
    let files: Vec<(&str, &str)> = circle.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let found = problems(&load(&files));
    assert!(found.len() == 2 && found.iter().all(|problem| problem.contains("its own bases")), "{found:?}");
}
