//! Kubernetes' own end-to-end suites, run against a cluster of a test's.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::{Network, kubernetes};

/// How long a suite may take before Ginkgo ends it: its own limit is an hour.
const TIMEOUT: &str = "6h";

/// The file in which [`run`] leaves Ginkgo's report, in the network's folder.
pub const REPORT: &str = "suite.json";

/// The result of one spec of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Its name, with those of the groups that it is in.
    pub name: String,
    /// Its result.
    pub state: State,
    /// Why it failed or was skipped; empty when it passed.
    pub message: String,
    /// How long it took.
    pub took: Duration,
}

/// The results of a spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It passed.
    Passed,
    /// The suite skipped it, because it does not fit the cluster.
    Skipped,
    /// It failed, whatever the reason.
    Failed,
}

/// Which specs of a suite are run, and how.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Regular expressions, of which one has to match a spec's name; all specs when there are none.
    pub only: Vec<String>,
    /// Regular expressions, of which none may match it.
    pub without: Vec<String>,
    /// How many processes share the specs. Those that may not run beside others run only when it is one.
    pub processes: u8,
}

impl Default for Selection {
    fn default() -> Self {
        Self { only: Vec::new(), without: Vec::new(), processes: 1 }
    }
}

/// Runs a suite from the network, as the client that the kubeconfig names, and gives all specs that it ran or skipped.
///
/// The program is one of [`e2e_kubeadm`](kubernetes::e2e_kubeadm) and [`e2e`](kubernetes::e2e). Specs that are left out
/// are not in the answer.
///
/// # Errors
/// When it cannot be started or ends without a report. That specs failed is for the caller to see.
pub fn run(network: &Network, program: &Path, kubeconfig: &Path, selection: &Selection) -> Result<Vec<Spec>> {
    let report = network.folder().join(REPORT);
    let _ = fs::remove_file(&report);
    let mut words: Vec<OsString> = vec!["env".into(), "-i".into(), "HOME=/root".into()];
    // Some specs look for kubectl on the path.
    words.push(format!("PATH={}:/usr/sbin:/usr/bin:/sbin:/bin", kubernetes::install()?.display()).into());
    words.extend([kubernetes::install_ginkgo()?.into(), "run".into(), "--no-color".into()]);
    words.push(format!("--procs={}", selection.processes).into());
    words.push(format!("--timeout={TIMEOUT}").into());
    words.extend([
        format!("--output-dir={}", network.folder().display()).into(),
        format!("--json-report={REPORT}").into(),
    ]);
    words.extend(selection.only.iter().map(|expression| format!("--focus={expression}").into()));
    words.extend(selection.without.iter().map(|expression| format!("--skip={expression}").into()));
    if selection.processes > 1 {
        words.push(r"--skip=\[Serial\]".into());
    }
    words.extend([program.into(), "--".into(), format!("--kubeconfig={}", kubeconfig.display()).into()]);
    let output = network.run(words)?;
    let said =
        || format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(&report).with_context(|| format!("no report: {}", said()))?;
    let specs = told(&serde_json::from_str(&text)?);
    if specs.is_empty() {
        bail!("the suite ran no spec: {}", said());
    }
    Ok(specs)
}

/// A regular expression that matches this text and nothing else of its length.
#[must_use]
pub fn literally(text: &str) -> String {
    let mut expression = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if r"\.+*?()|[]{}^$".contains(character) {
            expression.push('\\');
        }
        expression.push(character);
    }
    expression
}

fn told(report: &Value) -> Vec<Spec> {
    let suites = report.as_array().into_iter().flatten();
    suites.flat_map(|suite| suite["SpecReports"].as_array().into_iter().flatten()).filter_map(spec).collect()
}

fn spec(report: &Value) -> Option<Spec> {
    let message = report["Failure"]["Message"].as_str().unwrap_or_default().to_owned();
    let state = match report["State"].as_str()? {
        "passed" => State::Passed,
        // A spec that an argument excludes is skipped without a message; one that the suite skips has a
        // message.
        "skipped" if message.is_empty() => return None,
        "skipped" => State::Skipped,
        "pending" => return None,
        _ => State::Failed,
    };
    // Steps before and after all specs are reported only when they fail.
    if report["LeafNodeType"] != "It" && state != State::Failed {
        return None;
    }
    let groups = report["ContainerHierarchyTexts"].as_array().into_iter().flatten();
    let parts = groups.chain([&report["LeafNodeText"]]).filter_map(Value::as_str);
    let took = Duration::from_nanos(report["RunTime"].as_u64().unwrap_or_default());
    Some(Spec { name: parts.collect::<Vec<_>>().join(" "), state, message, took })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_caller_left_out_is_not_told() {
        let report = serde_json::json!([{"SpecReports": [
            {"LeafNodeType": "BeforeSuite", "State": "passed"},
            {"LeafNodeType": "It", "State": "passed", "ContainerHierarchyTexts": ["a", "b"], "LeafNodeText": "c"},
            {"LeafNodeType": "It", "State": "skipped", "LeafNodeText": "d"},
            {"LeafNodeType": "It", "State": "skipped", "LeafNodeText": "e", "Failure": {"Message": "one node"}},
            {"LeafNodeType": "It", "State": "panicked", "LeafNodeText": "f", "Failure": {"Message": "oh"}},
        ]}]);
        let specs: Vec<_> =
            told(&report).into_iter().map(|spec| (spec.name, spec.state, spec.message)).collect();
        let expected =
            [("a b c", State::Passed, ""), ("e", State::Skipped, "one node"), ("f", State::Failed, "oh")];
        assert_eq!(
            specs,
            expected.map(|(name, state, message)| (name.to_owned(), state, message.to_owned()))
        );
    }
}
