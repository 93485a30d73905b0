//! A dry run of kubeadm, and what it says.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde::Deserialize as _;
use serde_json::Value;
use slipway_bootstrap::expand::Facts;
use tempfile::TempDir;

/// The files and objects of kubeadm's dry run.
pub struct DryRun {
    folder: TempDir,
    /// Objects that would be created, by `Kind/namespace/name`.
    pub objects: BTreeMap<String, Value>,
    /// Objects that were found: those of the cluster that kubeadm makes up for a dry run.
    pub found: BTreeMap<String, Value>,
}

impl DryRun {
    /// `kubeadm init --dry-run` or `kubeadm join --dry-run` with these documents.
    pub fn of(command: &str, documents: &str, facts: &Facts) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("documents");
        fs::write(&config, documents).unwrap();
        let verb = command.split(' ').next().unwrap();
        let output = Command::new(crate::support::kubeadm())
            // Checks of the host, and of an etcd that is not there, are not what is compared.
            .args(command.split(' '))
            .args(["--dry-run", "--skip-phases=preflight", "--config"])
            .arg(&config)
            .env_clear()
            // Without a PATH no init system is found, so that of the host does not matter.
            .env("PATH", "/nonexistent")
            .env(format!("KUBEADM_{}_DRYRUN_DIR", verb.to_uppercase()), folder.path())
            .envs(&facts.proxy_environment)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}\n{documents}");
        Self { folder, objects: objects(&said, "CREATE"), found: objects(&said, "GET") }
    }

    /// The text of a file, by its name in the folder where kubeadm puts them all.
    pub fn file(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.folder.path().join(name)).ok()
    }
}

/// The objects that come with an action.
fn objects(said: &str, action: &str) -> BTreeMap<String, Value> {
    let mut objects = BTreeMap::new();
    let mut sections = said.split("[dryrun] Would perform action ").skip(1);
    for section in &mut sections {
        if !section.starts_with(action) {
            continue;
        }
        let Some((_, text)) = section.split_once("[dryrun] Attached object:\n") else { continue };
        // An object ends where the next message begins.
        let text: String = text
            .split_inclusive('\n')
            .take_while(|line| !line.starts_with('[') && (!line.trim().is_empty() || line.len() > 1))
            .collect();
        let object = Value::deserialize(serde_yaml::Deserializer::from_str(&text))
            .unwrap_or_else(|error| panic!("{error}: {text}"));
        objects.insert(name(&object), object);
    }
    objects
}

/// `Kind/namespace/name`.
pub fn name(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    format!("{}/{}/{}", text(&object["kind"]), text(&metadata["namespace"]), text(&metadata["name"]))
}
