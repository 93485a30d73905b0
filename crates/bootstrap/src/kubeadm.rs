//! kubeadm's configuration documents, read and written.
//!
//! [`read`] takes files with documents of `kubeadm.k8s.io/v1beta4` and `v1beta3`, and the kubelet's and
//! kube-proxy's own. It returns their settings with every default explicit, or all their mistakes with
//! locations. It refuses everything that kubeadm refuses. [`write()`] writes documents that kubeadm reads,
//! and [`cluster_configuration`] the one that a cluster keeps.

use std::sync::Arc;

use slipway_spec::{
    diagnostic::{self, Diagnostic},
    reader::Document,
    source::SourceFile,
    yaml::{self, Node},
};

use crate::configuration::{ClusterSettings, Configuration, Detected, Reset, Upgrade};

mod cluster;
pub mod code;
mod component;
mod context;
mod etcd;
mod form;
mod init;
mod join;
mod kinds;
mod network;
mod node;
mod reset;
mod rules;
mod upgrade;
mod v1beta3;
mod v1beta4;
mod write;

pub use write::{cluster_configuration, write, write_reset, write_upgrade};

/// The configurations that were read from files.
#[derive(Debug, Default)]
pub struct Reading {
    /// The content of `InitConfiguration` and `ClusterConfiguration`, either of which may be missing.
    pub init: Option<Configuration>,
    /// The content of `JoinConfiguration`. Its cluster part has defaults only: the cluster itself has the
    /// real settings.
    pub join: Option<Configuration>,
    /// The content of `ResetConfiguration`.
    pub reset: Option<Reset>,
    /// The content of `UpgradeConfiguration`.
    pub upgrade: Option<Upgrade>,
    /// Everything that is wrong or worth knowing, in the order of files and lines. With an error among it nothing else
    /// is given.
    pub diagnostics: Vec<Diagnostic>,
}

impl Reading {
    /// Whether there are no errors. Warnings and notes are allowed.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !diagnostic::has_errors(&self.diagnostics)
    }
}

/// Reads files. Settings that kubeadm would detect on the host come from `detected`.
#[must_use]
pub fn read(files: &[Arc<SourceFile>], detected: &Detected) -> Reading {
    let mut diagnostics = Vec::new();
    let mut documents = Vec::new();
    for file in files {
        let (parsed, found) = yaml::parse(file);
        diagnostics.extend(found);
        documents.extend(parsed.into_iter().map(|parsed| document(file, parsed)));
    }
    let sorted = kinds::sort(documents, &mut diagnostics);
    let mut reading = Reading::default();
    if sorted.init.is_some() || sorted.cluster.is_some() {
        reading.init = Some(init::read(&sorted, detected, &mut diagnostics));
    }
    if let Some(document) = &sorted.join {
        reading.join = Some(join::read(document, detected, &mut diagnostics));
    }
    if let Some(document) = &sorted.reset {
        reading.reset = Some(reset::read(document, detected, &mut diagnostics));
    }
    if let Some(document) = &sorted.upgrade {
        reading.upgrade = Some(upgrade::read(document, &mut diagnostics));
    }
    diagnostic::sort(&mut diagnostics);
    if diagnostic::has_errors(&diagnostics) {
        return Reading { diagnostics, ..Reading::default() };
    }
    Reading { diagnostics, ..reading }
}

/// Reads the `ClusterConfiguration` that a cluster keeps in the ConfigMap `kubeadm-config`; `name` is what messages
/// call it. `bind_port` completes a shared endpoint without a port.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read_cluster(name: &str, text: &str, bind_port: u16) -> Result<ClusterSettings, Vec<Diagnostic>> {
    let file = Arc::new(SourceFile::new(name, text));
    let (parsed, mut diagnostics) = yaml::parse(&file);
    let documents = parsed.into_iter().map(|parsed| document(&file, parsed)).collect();
    let sorted = kinds::sort(documents, &mut diagnostics);
    let settings = cluster::read(sorted.cluster.as_ref(), bind_port, &mut diagnostics);
    if sorted.cluster.is_none() && !diagnostic::has_errors(&diagnostics) {
        let message = format!("{name} holds no ClusterConfiguration");
        diagnostics.push(Diagnostic::error(code::UNKNOWN_KIND, message));
    }
    diagnostic::sort(&mut diagnostics);
    if diagnostic::has_errors(&diagnostics) { Err(diagnostics) } else { Ok(settings.settings) }
}

fn document(file: &Arc<SourceFile>, parsed: yaml::ParsedDocument) -> Document {
    let root = parsed.root;
    let text = |name: &str| root.get(name).and_then(Node::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    Document { file: Arc::clone(file), api_version, kind, root, truncated: parsed.truncated }
}

#[cfg(test)]
mod tests;
