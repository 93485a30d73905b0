use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use anyhow::Result;
use slipway_bootstrap::configuration::Detected;
use slipway_bootstrap::kubeadm;
use slipway_bootstrap::kubeconfig::Kubeconfig;
use slipway_kops::KopsReader;
use slipway_spec::diagnostic::{Diagnostic, render_all};
use slipway_spec::source::SourceFile;
use slipway_spec::{full_yaml, load_files};

use super::words;
use crate::corpus::{ends, files};

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

pub(super) fn kubeadm() -> Result<Vec<Vec<u8>>> {
    yaml(&["fixtures/fuzz/kubeadm"])
}

pub(super) fn kubeconfigs() -> Result<Vec<Vec<u8>>> {
    yaml(&["fixtures/fuzz/kubeconfig"])
}

pub(super) fn manifests() -> Result<Vec<Vec<u8>>> {
    yaml(&["fixtures/fuzz/manifest"])
}

/// Loads, checks, shows and explains a spec, of whatever format.
pub(super) fn spec(input: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(input) else { return "no text".to_owned() };
    let loaded = load_files(vec![SourceFile::new("spec.yaml", text)], &[&*KOPS]);
    if loaded.is_valid() {
        let shown = full_yaml(&loaded);
        return format!("taken, {} {}", loaded.clusters.len(), words(shown));
    }
    problems(&loaded.diagnostics)
}

pub(super) fn read_kubeadm(input: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(input) else { return "no text".to_owned() };
    let reading = kubeadm::read(&[Arc::new(SourceFile::new("kubeadm.yaml", text))], &Detected::default());
    problems(&reading.diagnostics)
}

pub(super) fn kubeconfig(input: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(input) else { return "no text".to_owned() };
    words(Kubeconfig::parse(text))
}

pub(super) fn manifest(input: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(input) else { return "no text".to_owned() };
    words(slipway_provider_kubernetes::files::read("manifest.yaml", text))
}

/// Each kind of problem once; rendering them is part of what is tried.
fn problems(diagnostics: &[Diagnostic]) -> String {
    let length = render_all(diagnostics).len();
    let kinds: BTreeSet<String> =
        diagnostics.iter().map(|problem| format!("{} {}", problem.code.id, problem.message)).collect();
    format!(
        "{} {}",
        length.checked_ilog2().unwrap_or_default() / 4,
        kinds.into_iter().take(3).collect::<Vec<_>>().join("; ")
    )
}
