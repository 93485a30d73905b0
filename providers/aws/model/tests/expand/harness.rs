//! Specs, and what they become.

use std::path::{Path, PathBuf};

use slipway_aws_model::catalog::Catalog;
use slipway_kops::KopsReader;
use slipway_resource::provider::{self, ExpandRequest, Expansion};
use slipway_resource::{Address, Desired, Digest, ProviderError, Value};
use slipway_spec::diagnostic::{self, Severity};
use slipway_spec::load::{Loaded, load_files, load_with};
use slipway_spec::model::Cluster;
use slipway_spec::source::SourceFile;

/// The types of the API and of its objects.
pub const API: &str = "kubernetes_api";
const OBJECT: &str = "kubernetes_object";
/// The types of keys in the state.
pub const KEYS: [&str; 2] = ["keypair", "encryption_key"];

/// The folder with the specs of these tests.
pub fn specs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expand/specs")
}

/// The clusters of a file or a folder, which must be without mistake.
pub fn clusters(path: &Path) -> Vec<Cluster> {
    checked(load_with(&[path.to_owned()], &[&KopsReader::default()]))
}

/// The cluster of one of these tests' specs, with a text replaced by another.
pub fn spec(name: &str, changes: &[(&str, &str)]) -> Cluster {
    let mut text = std::fs::read_to_string(specs().join(format!("{name}.yaml"))).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{name} has no {from:?}");
        text = text.replace(from, to);
    }
    let loaded = load_files(vec![SourceFile::new(name, text)], &[&KopsReader::default()]);
    checked(loaded).remove(0)
}

fn checked(loaded: Loaded) -> Vec<Cluster> {
    let errors: Vec<String> = loaded
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .map(diagnostic::render)
        .collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    loaded.clusters
}

/// The expansion of a cluster, with these facts about the account.
pub fn expanded(cluster: &Cluster, known: &Catalog) -> Result<Expansion, ProviderError> {
    let data = serde_json::to_value(known).unwrap();
    let catalog = provider::Catalog { digest: Digest::of(&data).unwrap(), data };
    slipway_aws_model::expand::expand(&ExpandRequest { cluster: cluster.to_provider().unwrap(), catalog })
}

/// The expansion of a cluster without facts about the account, without the objects inside it and its keys.
pub fn offline(cluster: &Cluster) -> Resources {
    let mut resources = expanded(cluster, &Catalog::offline("")).unwrap().resources;
    let is_other = |kind: &str| [API, OBJECT].contains(&kind) || KEYS.contains(&kind);
    resources.retain(|resource| !is_other(resource.address.kind()));
    for resource in &mut resources {
        resource.depends_on.retain(|before| !is_other(before.kind()));
    }
    Resources(resources)
}

/// The objects inside a cluster.
pub fn inside(cluster: &Cluster) -> Resources {
    let mut resources = expanded(cluster, &Catalog::offline("")).unwrap().resources;
    resources.retain(|resource| resource.address.kind() == OBJECT);
    Resources(resources)
}

/// The resources of a cluster.
pub struct Resources(pub Vec<Desired>);

impl Resources {
    /// The attributes of a resource.
    pub fn get(&self, address: &str) -> &Value {
        let address: Address = address.parse().unwrap();
        let found = self.0.iter().find(|resource| resource.address == address);
        &found.unwrap_or_else(|| panic!("there is no {address}")).attributes
    }

    /// The names of all resources of a type.
    pub fn names(&self, kind: &str) -> Vec<&str> {
        self.0.iter().filter(|found| found.address.kind() == kind).map(|found| found.address.name()).collect()
    }
}

/// A value for people: references as their addresses.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Unknown => "?".to_owned(),
        Value::Reference(reference) => format!("{}.{}", reference.address, reference.path),
        Value::Template(_) => {
            value.resolve(&mut |reference| Value::from(reference.to_string())).to_plain_text()
        }
        Value::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Map(entries) => {
            let entries: Vec<_> =
                entries.iter().map(|(key, value)| format!("{key}: {}", shown(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::String(text) => text.clone(),
        other => other.to_json().to_string(),
    }
}
