//! The parts of a manifest that the provider needs.

use std::collections::BTreeSet;

use serde_json::Value as Json;
use slipway_resource::{Digest, ProviderError, Value};

use crate::error::invalid;

/// How long the kubelet lets a pod end that does not say it.
const GRACE_SECONDS: u64 = 30;

/// The pod of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The names of the containers that run side by side.
    pub(crate) containers: Vec<String>,
    /// The images of all its containers, each once.
    pub(crate) images: BTreeSet<String>,
    /// The programs of those that name one, with their arguments.
    pub(crate) commands: Vec<Vec<String>>,
    /// How long it may take to end.
    pub(crate) grace_seconds: u64,
    /// The same for manifests that differ in form only: other comments, other order of keys.
    pub(crate) digest: String,
}

impl Manifest {
    /// The pod of a text; `None` when it is not the YAML of a pod with a name.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let document: Json = serde_yaml::from_str(text).ok()?;
        let field = |pointer: &str| document.pointer(pointer).and_then(Json::as_str).map(str::to_owned);
        let name = field("/metadata/name").filter(|name| !name.is_empty())?;
        if document.get("kind").and_then(Json::as_str) != Some("Pod") {
            return None;
        }
        let containers = document.pointer("/spec/containers").and_then(Json::as_array);
        let containers = containers.map(Vec::as_slice).unwrap_or_default();
        let words = |container: &Json, field: &str| -> Vec<String> {
            let words = container.get(field).and_then(Json::as_array).into_iter().flatten();
            words.filter_map(Json::as_str).map(str::to_owned).collect()
        };
        let commands = containers.iter().filter_map(|container| {
            let mut command = words(container, "command");
            let is_named = !command.is_empty();
            command.extend(words(container, "args"));
            is_named.then_some(command)
        });
        let first = document.pointer("/spec/initContainers").and_then(Json::as_array);
        let images = containers.iter().chain(first.into_iter().flatten());
        let images = images.filter_map(|container| container.get("image")?.as_str());
        let images = images.filter(|image| !image.is_empty()).map(str::to_owned).collect();
        let grace = document.pointer("/spec/terminationGracePeriodSeconds").and_then(Json::as_u64);
        Some(Self {
            namespace: field("/metadata/namespace").unwrap_or_else(|| "default".to_owned()),
            name,
            commands: commands.collect(),
            images,
            containers: containers
                .iter()
                .filter_map(|container| container.get("name")?.as_str())
                .map(str::to_owned)
                .collect(),
            grace_seconds: grace.unwrap_or(GRACE_SECONDS),
            digest: Digest::of(&Value::from_json(&document)).ok()?.as_str().to_owned(),
        })
    }

    /// The same, of a text that has to be a pod.
    pub(crate) fn needed(text: &str) -> Result<Self, ProviderError> {
        Self::of(text).ok_or_else(|| invalid("manifest: it is not the YAML of a pod with a name"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_alone_makes_no_other_pod() {
        let one = Manifest::of(
            "kind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - {name: b, command: [c, -d], args: [e]}\n  - {name: f}\n",
        )
        .unwrap();
        assert_eq!((one.namespace.as_str(), one.name.as_str()), ("default", "a"));
        assert_eq!(one.containers, ["b", "f"]);
        assert_eq!(one.commands, [["c", "-d", "e"]]);
        let other = "# said otherwise\nspec: {containers: [{command: [c, -d], args: [e], name: b}, {name: f}]}\nmetadata:\n  name: a\nkind: Pod\n";
        assert_eq!(Manifest::of(other).unwrap(), one);
        assert_ne!(Manifest::of(&other.replace("-d", "-g")).unwrap().digest, one.digest);
        assert!(Manifest::of("kind: Pod\nmetadata: {}\n").is_none() && Manifest::of("a").is_none());
    }
}
