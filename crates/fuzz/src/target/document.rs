use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use anyhow::Result;
use serde_json::json;
use slipway_bootstrap::configuration::Detected;
use slipway_bootstrap::kubeadm::{self, Reading};
use slipway_bootstrap::kubeconfig::Kubeconfig;
use slipway_kops::KopsReader;
use slipway_provider_kubernetes::files::{self as manifests_of, Error as ManifestError};
use slipway_spec::diagnostic::{Diagnostic, code, render_all};
use slipway_spec::model::Cluster;
use slipway_spec::source::SourceFile;
use slipway_spec::{full_yaml, load_files};

use super::{READ_BACK, Reached, Verdict, text};
use crate::corpus::{ends, files};
use crate::large::{self, Large};

/// Its tables are read once, as in the program.
static KOPS: LazyLock<KopsReader> = LazyLock::new(KopsReader::default);

fn yaml(folders: &[&str]) -> Result<Vec<Vec<u8>>> {
    let is_yaml = |path: &Path| {
        ends(path, &[".yaml", ".yml"]) || path.ancestors().any(|above| above.ends_with("fixtures/fuzz"))
    };
    Ok(files(folders, is_yaml)?.into_iter().map(|(_, bytes)| bytes).collect())
}

pub(super) fn specs() -> Result<Vec<Vec<u8>>> {
    yaml(&["specs", "fixtures/bad-specs", "fixtures/leaves", "fixtures/fuzz/spec"])
}

pub(super) fn kops() -> Result<Vec<Vec<u8>>> {
    yaml(&["fixtures/kops", "fixtures/fuzz/kops"])
}

pub(super) fn large_specs() -> Result<Vec<Large>> {
    enlarged(&["fixtures/leaves"])
}

pub(super) fn large_kops() -> Result<Vec<Large>> {
    enlarged(&["fixtures/kops"])
}

fn enlarged(folders: &[&str]) -> Result<Vec<Large>> {
    let mut found = Vec::new();
    for text in yaml(folders)? {
        found.extend(large::of(std::str::from_utf8(&text)?)?);
    }
    Ok(found)
}

pub(super) fn kubeadm() -> Result<Vec<Vec<u8>>> {
    yaml(&["fixtures/fuzz/kubeadm"])
}

pub(super) fn kubeconfigs() -> Result<Vec<Vec<u8>>> {
    yaml(&["fixtures/fuzz/kubeconfig"])
}

pub(super) fn manifests() -> Result<Vec<Vec<u8>>> {
    yaml(&["fixtures/fuzz/manifest"])
}

/// Loads, checks, shows and explains a spec, of whatever format. A valid one is shown as a spec that loads as the same clusters.
///
/// Nothing is shown of a setting without a value. Add-ons that kOps has not and a spec has by default are shown as turned off. A
/// cluster with zones whose network has no range, as of kOps on other clouds than AWS, only has to be shown as a spec: there it has one.
pub(super) fn spec(input: &[u8]) -> Verdict {
    text(input, |text| {
        let loaded = load_files(vec![SourceFile::new("spec.yaml", text)], &[&*KOPS]);
        if !loaded.is_valid() {
            return problems(&loaded.diagnostics);
        }
        let shown = match full_yaml(&loaded) {
            Ok(shown) => shown,
            Err(error) => return Verdict::lawful(false, &error.to_string()),
        };
        let again = load_files(vec![SourceFile::new("shown.yaml", shown)], &[]);
        // The form has to be right. A rule between fields may refuse a default that is written.
        let forms = code::SYNTAX.id..=code::NOT_ONE_OF.id;
        let is_spec = !again.diagnostics.iter().any(|problem| forms.contains(&problem.code.id));
        let has_default = |cluster: &Cluster| {
            let network = &cluster.network;
            network.cidr.is_none() && network.id.is_none() && !cluster.zones.is_empty()
        };
        let is_same = again.clusters == loaded.clusters
            || loaded.clusters.iter().any(has_default)
            || comparable(&again.clusters) == comparable(&loaded.clusters);
        let holds = loaded.clusters.is_empty() || is_spec && is_same;
        Verdict::lawful(holds, READ_BACK).with(&loaded.diagnostics)
    })
}

/// Clusters without the settings of other programs that have no value, and without add-ons that are turned off and have no settings.
fn comparable(clusters: &[Cluster]) -> serde_json::Value {
    fn drop_nulls(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(fields) => {
                fields.retain(|_, value| !value.is_null());
                fields.values_mut().for_each(drop_nulls);
            }
            serde_json::Value::Array(items) => items.iter_mut().for_each(drop_nulls),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(clusters).unwrap_or_default();
    drop_nulls(&mut value);
    for cluster in value.as_array_mut().into_iter().flatten() {
        if let Some(addons) = cluster.get_mut("addons").and_then(serde_json::Value::as_array_mut) {
            let is_off =
                |addon: &serde_json::Value| *addon == json!({ "name": addon["name"], "enabled": false });
            addons.retain(|addon| !is_off(addon));
        }
    }
    value
}

/// Reads documents of kubeadm. Valid ones are written as documents that are read as the same.
pub(super) fn read_kubeadm(input: &[u8]) -> Verdict {
    let read =
        |text: &str| kubeadm::read(&[Arc::new(SourceFile::new("kubeadm.yaml", text))], &Detected::default());
    text(input, |text| {
        let reading = read(text);
        if !reading.is_valid() {
            return problems(&reading.diagnostics);
        }
        Verdict::lawful(is_written(&reading, &read), READ_BACK).with(&reading.diagnostics)
    })
}

/// Whether the settings are written as documents with the same settings. Tokens are left out: their end is not written, and a
/// source of secrets names its file.
fn is_written(reading: &Reading, read: &impl Fn(&str) -> Reading) -> bool {
    let cluster = |text: &str| read(text).init.map(|init| init.cluster);
    let init = reading
        .init
        .as_ref()
        .is_none_or(|init| cluster(kubeadm::write(init).expose()).as_ref() == Some(&init.cluster));
    let reset = reading
        .reset
        .as_ref()
        .is_none_or(|reset| read(&kubeadm::write_reset(reset)).reset.as_ref() == Some(reset));
    let upgrade = reading
        .upgrade
        .as_ref()
        .is_none_or(|upgrade| read(&kubeadm::write_upgrade(upgrade)).upgrade.as_ref() == Some(upgrade));
    init && reset && upgrade
}

/// Reads a kubeconfig, and takes from it all that programs take.
pub(super) fn kubeconfig(input: &[u8]) -> Verdict {
    text(input, |text| match Kubeconfig::parse(text) {
        // Only the statistics depend on the sentence.
        Err(error) if error.to_string().contains("not valid YAML") => Verdict::syntax(error),
        Err(error) => Verdict::content(error),
        Ok(read) => {
            let parts = [
                read.cluster().map(drop),
                read.user().map(drop),
                read.certificate().map(drop),
                read.key().map(drop),
            ];
            let found = [read.has_credentials(), read.token().is_some(), read.client_files().is_some()];
            // A whole number may be written as 1 or as 1.0, and is written as 1.
            let written = read.to_yaml();
            let again = Kubeconfig::parse(written.expose());
            let holds =
                again.is_ok_and(|again| again == read || again.to_yaml().expose() == written.expose());
            let mut verdict = Verdict::lawful(holds, READ_BACK);
            for problem in parts.into_iter().filter_map(std::result::Result::err) {
                verdict.words.push_str(&format!("; {problem}"));
            }
            verdict.words.push_str(&format!("; {found:?}"));
            verdict
        }
    })
}

/// Reads manifests. The resource of an object is made of that object alone, and again the same.
pub(super) fn manifest(input: &[u8]) -> Verdict {
    text(input, |text| match manifests_of::read("manifest.yaml", text) {
        Err(error @ ManifestError::Syntax { .. }) => Verdict::syntax(error),
        Err(error) => Verdict::content(error),
        Ok(objects) => {
            let again = |object: &slipway_resource::Desired| {
                let manifest = object.attributes.get("manifest")?;
                let made = manifests_of::desired(&manifest.to_json());
                Some(made.address == object.address && made.attributes == object.attributes)
            };
            let holds = objects.iter().all(|object| again(object).unwrap_or_default());
            let mut verdict = Verdict::lawful(holds, "the resource of an object is made again");
            verdict.words.push_str(&format!(" {}", objects.len().checked_ilog2().unwrap_or_default()));
            verdict
        }
    })
}

impl Verdict {
    /// Adds the kinds of warnings and notes.
    fn with(mut self, diagnostics: &[Diagnostic]) -> Self {
        let length = render_all(diagnostics).len();
        self.words.push_str(&format!(" {} {}", sizes(length), kinds(diagnostics)));
        self
    }
}

/// Each kind of problem once; rendering them is part of the reader.
fn problems(diagnostics: &[Diagnostic]) -> Verdict {
    let is_syntax = diagnostics.iter().any(|problem| problem.code.id == code::SYNTAX.id);
    let reached = if is_syntax { Reached::Syntax } else { Reached::Content };
    Verdict { reached, words: String::new() }.with(diagnostics)
}

fn sizes(length: usize) -> u32 {
    length.checked_ilog2().unwrap_or_default() / 4
}

fn kinds(diagnostics: &[Diagnostic]) -> String {
    let kinds: BTreeSet<(&str, &str)> =
        diagnostics.iter().map(|problem| (problem.code.id, problem.message.as_str())).collect();
    let mut words = String::new();
    for (code, message) in kinds.into_iter().take(3) {
        words.push_str(code);
        words.push(' ');
        words.push_str(message);
        words.push_str("; ");
    }
    words
}
