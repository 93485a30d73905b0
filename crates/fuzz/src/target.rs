//! Readers of foreign data, each as a function of bytes.

mod cloud;
mod document;
mod faulty;
mod frame;
mod secret;
mod state;

use anyhow::Result;

/// Something that reads bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// The initial inputs of mutations.
    pub corpus: fn() -> Result<Vec<Vec<u8>>>,
    /// Reads an input, and tells in a few words what became of it.
    pub run: fn(&[u8]) -> String,
}

/// Every target.
pub const ALL: &[Target] = &[
    Target { name: "spec", corpus: document::specs, run: document::spec },
    Target { name: "kops", corpus: document::kops, run: document::spec },
    Target { name: "kubeadm", corpus: document::kubeadm, run: document::read_kubeadm },
    Target { name: "kubeconfig", corpus: document::kubeconfigs, run: document::kubeconfig },
    Target { name: "manifest", corpus: document::manifests, run: document::manifest },
    Target { name: "plan", corpus: state::plans, run: state::plan },
    Target { name: "head", corpus: state::heads, run: state::head },
    Target { name: "journal", corpus: state::segments, run: state::journal },
    Target { name: "snapshot", corpus: state::snapshots, run: state::snapshot },
    Target { name: "envelope", corpus: secret::envelopes, run: secret::envelope },
    Target { name: "sops", corpus: secret::sops_files, run: secret::sops },
    Target { name: "age", corpus: secret::age_files, run: secret::age },
    Target { name: "frame", corpus: frame::frames, run: frame::frame },
    Target { name: "aws", corpus: cloud::resources, run: cloud::resource },
];

/// A target by its name; also those that are faulty on purpose, for tests of campaigns.
#[must_use]
pub fn named(name: &str) -> Option<&'static Target> {
    ALL.iter().chain(faulty::ALL).find(|target| target.name == name)
}

/// The words for a result.
fn words<T, E: std::fmt::Display>(result: Result<T, E>) -> String {
    match result {
        Ok(_) => "taken".to_owned(),
        Err(error) => error.to_string(),
    }
}
