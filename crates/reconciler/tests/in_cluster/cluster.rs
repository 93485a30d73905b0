//! A real API server, and kubectl.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use serde_json::{Value as Json, json};
use slipway_testkit::ControlPlane;
use slipway_testkit::control_plane::Options;

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
