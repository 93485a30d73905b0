//! One document for every field of the table: each field is treated as its rule says.

#[path = "leaves/case.rs"]
mod case;

use std::collections::BTreeMap;

use serde_json::json;
use slipway_kops::{
    KopsReader,
    fields::{Kind, Leaf},
    rules::{Class, Treatment},
};
use slipway_spec::diagnostic::Severity;

use case::{base, beside, merge, put, read, samples};

/// Fields that say which document this is, and to which cluster it belongs: they are read before anything else.
fn identifies(kind: Kind, path: &str) -> bool {
    matches!(path, "apiVersion" | "kind") || kind == Kind::SshCredential && path.starts_with("metadata.")
}

/// Fields of which one value is left; every other is refused, or said to have no effect.
const ONE_VALUE: [&str; 3] =
    ["spec.api.loadBalancer.class", "spec.etcdClusters[].provider", "spec.rollingUpdate.drainAndTerminate"];

fn judge(reader: &KopsReader, kind: Kind, leaf: &Leaf, treatment: &Treatment) -> Result<(), String> {
    let mut before = base(kind);
    merge(&mut before, &beside(kind, &leaf.path));
    let (without, quiet) = read(reader, kind, &before);
    let mut changed = false;
    let mut said = Vec::new();
    for sample in samples(kind, leaf) {
        let mut document = before.clone();
        // There can be only one pod network.
        if leaf.path.starts_with("spec.networking.") && !leaf.path.starts_with("spec.networking.cilium") {
            document["spec"]["networking"] = json!({});
        }
        put(&mut document, &leaf.path, sample);
        let (with, diagnostics) = read(reader, kind, &document);
        changed |= with != without;
        said.extend(diagnostics.into_iter().filter(|diagnostic| {
            !quiet.iter().any(|before| before.message == diagnostic.message && before.code == diagnostic.code)
        }));
    }
    let ours = |severity: Severity| {
        said.iter()
            .any(|diagnostic| diagnostic.code.id.starts_with("KOPS") && diagnostic.severity == severity)
    };
    let structural = said.iter().find(|diagnostic| diagnostic.code.id.starts_with("SPEC"));
    if ONE_VALUE.contains(&leaf.path.as_str()) {
        let told = ours(Severity::Error) || ours(Severity::Warning);
        return if told { Ok(()) } else { Err("nothing is said of any value".to_owned()) };
    }
    match treatment.class() {
        Class::Refused if ours(Severity::Error) => Ok(()),
        Class::Refused => Err("is not refused".to_owned()),
        Class::WithoutEffect => {
            let wanted = match treatment {
                Treatment::Lost(_) => Severity::Warning,
                _ => Severity::Note,
            };
            match (ours(wanted), changed) {
                (true, false) => Ok(()),
                (false, _) => Err(format!("nothing is said: {said:?}")),
                (true, true) => Err("has an effect all the same".to_owned()),
            }
        }
        Class::Honoured => match structural {
            _ if changed || identifies(kind, &leaf.path) => Ok(()),
            Some(diagnostic) => Err(format!("the sample does not fit: {}", diagnostic.message)),
            None => Err("changes nothing in the model, and nothing is said".to_owned()),
        },
    }
}

#[test]
fn every_field_does_what_its_rule_says() {
    let reader = KopsReader::default();
    let mut failures = Vec::new();
    for kind in Kind::ALL {
        for leaf in reader.table().leaves(kind) {
            let (_, treatment) = reader.rules().find(kind, &leaf.path).expect("every field has a rule");
            if let Err(problem) = judge(&reader, kind, leaf, treatment) {
                failures.push(format!("{} {}: {problem}", kind.as_str(), leaf.path));
            }
        }
    }
    assert!(failures.is_empty(), "{} fields:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn classes_are_counted() {
    let reader = KopsReader::default();
    let counts: BTreeMap<_, _> = Kind::ALL
        .into_iter()
        .map(|kind| (kind.as_str(), reader.rules().count(kind, reader.table().leaves(kind))))
        .collect();
    println!("{counts:#?}");
    assert!(counts["Cluster"][&Class::Honoured] > 400);
}
