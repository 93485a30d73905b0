//! A real API server, and kubectl.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::{Value as Json, json};
use slipway_testkit::ControlPlane;
use slipway_testkit::control_plane::Options;

/// The service account of the manifest.
pub const ACCOUNT: &str = "system:serviceaccount:slipway:slipway-controller";

pub struct Cluster(pub ControlPlane);

impl Cluster {
    pub fn start() -> Result<Self> {
        Ok(Self(ControlPlane::start(&Options::default())?))
    }

    /// Applies objects. Returns what kubectl says, with its warnings.
    pub fn apply(&self, objects: &[Json]) -> Result<String> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("objects.json");
        std::fs::write(&file, json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string())?;
        self.kubectl(&["apply", "--filename", &file.display().to_string()])
    }

    /// Applies a `PlanRequest`.
    pub fn request(&self, name: &str, spec: &Json) -> Result<String> {
        self.object("PlanRequest", name, spec)
    }

    /// Applies an object of the controller's group.
    pub fn object(&self, kind: &str, name: &str, spec: &Json) -> Result<String> {
        self.apply(&[json!({
            "apiVersion": "gitops.slipway.dev/v1alpha1", "kind": kind,
            "metadata": {"name": name, "namespace": "slipway"}, "spec": spec,
        })])
    }

    /// An object in the namespace of the controller; `None` if it does not exist.
    pub fn get(&self, kind: &str, name: &str) -> Result<Option<Json>> {
        let said = self.kubectl(&["-n", "slipway", "get", kind, name, "--ignore-not-found", "-o", "json"])?;
        Ok(if said.trim().is_empty() { None } else { Some(serde_json::from_str(&said)?) })
    }

    /// Writes a kubeconfig for a client with the rights of the controller's service account only.
    pub fn write_kubeconfig(&self, path: &Path) -> Result<()> {
        let admin = std::fs::read_to_string(self.0.kubeconfig())?;
        let user = "\n  user:\n";
        ensure!(admin.matches(user).count() == 1, "the kubeconfig has another form");
        std::fs::write(path, admin.replace(user, &format!("{user}    as: {ACCOUNT}\n")))?;
        Ok(())
    }

    /// The rights of a user in a namespace, one on a line, with the words of each list in order.
    pub fn rights(&self, user: &str, namespace: &str) -> Result<BTreeSet<String>> {
        let words = ["auth", "can-i", "--list", "--no-headers", "-n", namespace, "--as", user];
        let groups = ["--as-group", "system:serviceaccounts", "--as-group", "system:authenticated"];
        let said = self.kubectl(&[&words[..], &groups[..]].concat())?;
        Ok(said.lines().map(|line| sorted(&line.split_whitespace().collect::<Vec<_>>().join(" "))).collect())
    }

    /// The output of kubectl, and its warnings.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let output = self.0.kubectl(arguments)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "kubectl {arguments:?}: {errors}");
        Ok(String::from_utf8(output.stdout)? + &errors)
    }
}

/// A line with the words of each list in order: the API server lists them as it found them in a map.
fn sorted(line: &str) -> String {
    let list = |list: &str| {
        let mut words: Vec<&str> = list.split(' ').collect();
        words.sort_unstable();
        words.join(" ")
    };
    let parts = line.split('[').map(|part| match part.split_once(']') {
        Some((words, rest)) => format!("{}]{rest}", list(words)),
        None => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("[")
}
