//! Real documents: the project's own fixtures, and those in the folder that `SLIPWAY_CASES` names.

use std::{
    fs,
    path::{Path, PathBuf},
};

use slipway_kops::{
    KopsReader,
    fields::{Kind, Shape},
    rules::Class,
};
use slipway_spec::{
    diagnostic::{self, Severity},
    full_yaml,
    load::{Loaded, load_with},
    load_files,
    model::{Cluster, Role},
    source::{SourceFile, Span},
    written_yaml,
    yaml::{self, Node, Value},
};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kops")
}

/// The folders below a folder that have a `spec.yaml`, in order.
fn folders(below: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(below)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("spec.yaml").is_file())
        .collect();
    found.sort();
    found
}

fn read(folder: &Path) -> Loaded {
    load_with(&[folder.join("spec.yaml")], &[&KopsReader::default()])
}

fn errors(loaded: &Loaded) -> Vec<String> {
    loaded
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .map(diagnostic::render)
        .collect()
}

/// Notes and warnings without the folder in front of the file's name.
fn remarks(loaded: &Loaded) -> String {
    loaded
        .diagnostics
        .iter()
        .map(|diagnostic| {
            let place = diagnostic
                .location
                .as_ref()
                .map(|location| format!("{}:{}", location.line, location.column))
                .unwrap_or_default();
            let severity = diagnostic.severity.as_str();
            format!("{place} {severity} {}: {}\n", diagnostic.code.id, diagnostic.message)
        })
        .collect()
}

#[test]
fn a_cluster_is_shown_as_a_spec_that_loads_as_the_same() {
    let unmarked = |loaded: &Loaded| full_yaml(loaded).unwrap().replace(" # default", "");
    let mut seen = 0;
    for folder in folders(&fixtures()) {
        let mut loaded = read(&folder);
        // A spec gives the network of a cluster with zones a range. One of Google Cloud has none.
        loaded.clusters.retain(|cluster| cluster.network.cidr.is_some() || cluster.network.id.is_some());
        let full = unmarked(&loaded);
        let again = load_files(vec![SourceFile::new("full.yaml", full.as_str())], &[]);
        assert!(errors(&again).is_empty(), "{}: {}", folder.display(), errors(&again).join("\n"));
        assert_eq!(unmarked(&again), full, "{}", folder.display());
        let written = written_yaml(&loaded).unwrap();
        let again = load_files(vec![SourceFile::new("written.yaml", written.as_str())], &[]);
        assert!(errors(&again).is_empty(), "{}: {}", folder.display(), errors(&again).join("\n"));
        assert_eq!(unmarked(&again), full, "{}\n{written}", folder.display());
        seen += again.clusters.len();
    }
    assert!(seen >= 5, "{seen} clusters");
}

#[test]
fn a_hook_of_an_instance_group_takes_the_place_of_the_clusters() {
    let path = fixtures().join("minimal-public/spec.yaml");
    let text = fs::read_to_string(path).unwrap();
    let hook = |name: &str, command: &str| {
        format!(
            "  - {{ name: {name}, useRawManifest: true, manifest: \"[Service]\\nExecStart={command}\" }}\n"
        )
    };
    let of_nodes = "  - { name: c.service, roles: [Node], useRawManifest: true, manifest: \"[Service]\" }\n";
    // The hook of the instance group replaces that of the role too.
    let again = of_nodes.replace("c.service", "a.service");
    let of_cluster =
        [of_nodes, again.as_str(), &hook("a.service", "one"), &hook("b.service", "two")].concat();
    let documents: Vec<String> = text
        .split("\n---\n")
        .map(|document| {
            let hooks = if document.contains("kind: Cluster") {
                of_cluster.clone()
            } else if document.contains("kind: InstanceGroup") {
                hook("a.service", "three")
            } else {
                return document.to_owned();
            };
            document.replacen("\nspec:\n", &format!("\nspec:\n  hooks:\n{hooks}"), 1)
        })
        .collect();
    let loaded =
        load_files(vec![SourceFile::new("spec.yaml", documents.join("\n---\n"))], &[&KopsReader::default()]);
    assert!(errors(&loaded).is_empty(), "{}", errors(&loaded).join("\n"));
    for pool in &loaded.clusters[0].pools {
        let hooks: Vec<&str> = pool.node_files.hooks.iter().map(|hook| hook.name.as_str()).collect();
        let expected = if pool.role == Role::Worker { 3 } else { 2 };
        assert_eq!(hooks, ["a.service", "b.service", "c.service"][..expected], "{}", pool.name);
        assert!(pool.node_files.hooks[0].content.contains("three"), "{}", pool.name);
    }
}

#[test]
fn fixtures_become_their_models() {
    let update = std::env::var_os("SLIPWAY_UPDATE_FIXTURES").is_some();
    let folders = folders(&fixtures());
    assert!(folders.len() >= 5);
    for folder in folders {
        let loaded = read(&folder);
        assert!(errors(&loaded).is_empty(), "{}", errors(&loaded).join("\n"));
        for (name, found) in [
            ("model.json", format!("{}\n", serde_json::to_string_pretty(&loaded.clusters).unwrap())),
            ("remarks.txt", remarks(&loaded)),
        ] {
            let path = folder.join(name);
            if update {
                fs::write(&path, &found).unwrap();
            }
            let wanted = fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(
                found,
                wanted,
                "{} differs; SLIPWAY_UPDATE_FIXTURES=1 writes it again",
                path.display()
            );
        }
        let back: Vec<Cluster> =
            serde_json::from_str(&fs::read_to_string(folder.join("model.json")).unwrap()).unwrap();
        assert_eq!(back, loaded.clusters);
    }
}

#[test]
fn cases_load_unmodified() {
    let Some(cases) = std::env::var_os("SLIPWAY_CASES") else {
        println!("SLIPWAY_CASES names no folder: there was nothing to read beside the fixtures");
        return;
    };
    let folders = folders(Path::new(&cases));
    assert!(!folders.is_empty());
    for folder in folders {
        let loaded = read(&folder);
        println!("{}: {} remarks\n{}", folder.display(), loaded.diagnostics.len(), remarks(&loaded));
        assert!(errors(&loaded).is_empty(), "{}: {}", folder.display(), errors(&loaded).join("\n"));
        assert_eq!(loaded.clusters.len(), 1);
        assert_eq!(loaded.clusters[0].provider.name, "aws");
        assert!(!loaded.clusters[0].pools.is_empty());
    }
}

/// The leaves of a document: their paths in the table, and the places of the names on the way to them.
fn leaves(shape: &Shape, node: &Node, path: &str, way: &mut Vec<Span>, found: &mut Vec<(String, Vec<Span>)>) {
    match (shape, &node.value) {
        (Shape::Fields(fields), Value::Mapping(entries)) => {
            for entry in entries {
                let name = &entry.key.text;
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                way.push(entry.key.span);
                match fields.get(name) {
                    Some(shape) => leaves(shape, &entry.value, &path, way, found),
                    None => found.push((path, way.clone())),
                }
                way.pop();
            }
        }
        (Shape::List(item), Value::Sequence(items)) => {
            for node in items {
                leaves(item, node, &format!("{path}[]"), way, found);
            }
        }
        (Shape::Map(value), Value::Mapping(entries)) => {
            for entry in entries {
                way.push(entry.key.span);
                leaves(value, &entry.value, &format!("{path}{{}}"), way, found);
                way.pop();
            }
        }
        _ if node.is_null() => {}
        _ => found.push((path.to_owned(), way.clone())),
    }
}

#[test]
fn no_field_is_dropped_in_silence() {
    let mut folders = folders(&fixtures());
    match std::env::var_os("SLIPWAY_CASES") {
        Some(cases) => folders.extend(self::folders(Path::new(&cases))),
        None => println!("SLIPWAY_CASES names no folder: only the fixtures are walked"),
    }
    let reader = KopsReader::default();
    let mut walked = 0;
    for folder in folders {
        let loaded = read(&folder);
        let text = fs::read_to_string(folder.join("spec.yaml")).unwrap();
        let file = SourceFile::new(folder.join("spec.yaml").display().to_string(), text);
        for document in yaml::parse(&file).0 {
            // The names of v1alpha3 are others; that each has its place is tested beside the moves.
            if document.root.get("apiVersion").and_then(Node::as_str) != Some(slipway_kops::reader::V1ALPHA2)
            {
                continue;
            }
            let kind = document.root.get("kind").and_then(Node::as_str).and_then(Kind::from_name).unwrap();
            let mut found = Vec::new();
            leaves(reader.table().shape(kind).unwrap(), &document.root, "", &mut Vec::new(), &mut found);
            for (path, way) in found {
                let (_, treatment) = reader.rules().find(kind, &path).expect("every field has a rule");
                let named = loaded.diagnostics.iter().any(|diagnostic| {
                    let location = diagnostic.location.as_ref();
                    diagnostic.code.id.starts_with("KOPS")
                        && way.iter().any(|span| Some(&file.location(*span)) == location)
                });
                let said = matches!(treatment.class(), Class::Refused | Class::WithoutEffect);
                assert!(!said || named, "{}: nothing is said of {path}", folder.display());
                walked += 1;
            }
        }
    }
    println!("{walked} fields");
    assert!(walked > 500);
}
