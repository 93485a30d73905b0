//! A provider in another language, written from the `.proto` file and the schema of the cluster alone.

use std::path::Path;

use slipway_provider_conformance::{Limits, RULES, Scenario, Suite, Verdict};
use slipway_testkit::python_provider::PythonProvider;

/// The rules of load balancers and routes, which the frozen provider does not have.
const TRAFFIC: [&str; 4] =
    ["load-balancers", "load-balancers-never-guessed", "routes", "routes-never-guessed"];

/// Every rule is kept, but for those of parts that the provider does not declare.
async fn every_rule_is_kept(source: &Path, provider: PythonProvider, undeclared: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let executable = provider.build(folder.path()).unwrap();
    let scenario = Scenario::read(&source.join("conformance.json")).unwrap();
    let limits = Limits { parallel: 3, ..Limits::default() };
    let report = Suite::new("python", executable, scenario).with_limits(limits).run(&[]).await;
    assert_eq!(report.with(&Verdict::Skip), undeclared, "{}", report.to_text());
    assert_eq!(report.with(&Verdict::Pass).len(), RULES.len() - undeclared.len(), "{}", report.to_text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_python_provider_keeps_every_rule() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = root.join("tests/python");
    let provider = PythonProvider {
        script: source.join("provider.py"),
        proto: root.join("../../crates/protocol/proto"),
        schema: root.join("../../crates/cluster-input/schema/cluster-input.v1alpha1.schema.json"),
    };
    every_rule_is_kept(&source, provider, &[]).await;
}

/// The provider of the day when the schema of the cluster was first published, with the `.proto` file and the
/// schema of that day. It must work for ever.
#[tokio::test(flavor = "multi_thread")]
async fn the_frozen_provider_keeps_every_rule() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python-frozen");
    let undeclared: Vec<&str> = ["instances", "instances-never-guessed"].into_iter().chain(TRAFFIC).collect();
    every_rule_is_kept(&source, PythonProvider::of_folder(&source), &undeclared).await;
}
