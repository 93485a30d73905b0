//! The settings of a pool that are outside the user data of its machines: an object in the cluster has them, so that a change
//! reaches machines that run.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_resource::Digest;
use slipway_spec::model::{Component, ComponentName, FileAsset, Kubelet};

use super::NodeBootstrap;
use super::labels::is_permitted;

/// The version of the settings that is read.
pub const SETTINGS_VERSION: &str = "slipway.dev/v1alpha1";
/// The kind of the settings.
pub const SETTINGS_KIND: &str = "NodeSettings";
/// The label of the ConfigMap with the settings of a pool, and of the Nodes whose machines follow it: the name of the pool.
pub const SETTINGS_OF: &str = "slipway.dev/settings-of";
/// The key of the ConfigMap with the settings that new machines of the pool get.
pub const SETTINGS: &str = "settings";
/// The key of the ConfigMap with the settings that the machines of the pool are about to get.
pub const NEXT_SETTINGS: &str = "next";
/// The annotation of a Node with the digest of the settings that its machine has to run with.
pub const WANTED_SETTINGS: &str = "slipway.dev/settings";
/// The annotation of a Node with the report of its machine, a [`SettingsReport`] as JSON.
pub const SETTINGS_REPORT: &str = "slipway.dev/settings-applied";

/// The fields, as of [`changed_settings`], before whose change a node is drained. They change what a node has for pods: a kubelet that
/// starts with less of it refuses pods that it runs.
const DRAINED: [&str; 4] =
    ["kubelet.evictionHard", "kubelet.kubeReserved", "kubelet.maxPods", "kubelet.systemReserved"];

/// The name of the ConfigMap in `kube-system` with the settings of a pool.
#[must_use]
pub fn settings_name(pool: &str) -> String {
    format!("slipway-settings-{pool}")
}

/// The digest by which settings are named, as `sha256:` and 64 hexadecimal digits.
#[must_use]
pub fn settings_digest(text: &str) -> String {
    Digest::of_bytes(text.as_bytes()).to_string()
}

/// Why settings cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// They are not JSON, or have other fields.
    #[error("the settings cannot be read: {0}")]
    Unreadable(String),
    /// They are of another kind or version.
    #[error(
        "the settings are a {kind} of {version}, and this program reads {SETTINGS_KIND} of {SETTINGS_VERSION}"
    )]
    OtherKind {
        /// Their kind.
        kind: String,
        /// Their version.
        version: String,
    },
}

/// The settings of a pool, without any secret.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeSettings {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    /// Fields of the kubelet's configuration.
    #[serde(default)]
    kubelet: Kubelet,
    /// Labels of the nodes.
    #[serde(default)]
    labels: BTreeMap<String, String>,
    /// Files on the machines.
    #[serde(default)]
    files: Vec<FileAsset>,
    /// Settings of the static pods of control planes.
    #[serde(default)]
    components: BTreeMap<ComponentName, Component>,
}

/// What a machine says about its settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettingsReport {
    /// The pool of the machine.
    pub pool: String,
    /// The digest of the settings that the machine runs with.
    pub digest: String,
    /// The digest of settings with which the machine did not run well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Why it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl NodeSettings {
    /// Reads settings.
    ///
    /// # Errors
    /// When the text is of another kind or version, or has fields that this program does not know.
    pub fn read(text: &str) -> Result<Self, SettingsError> {
        let unreadable = |error: serde_json::Error| SettingsError::Unreadable(error.to_string());
        let json: Json = serde_json::from_str(text).map_err(unreadable)?;
        let field = |key: &str| json.get(key).and_then(Json::as_str).unwrap_or("nothing").to_owned();
        let (kind, version) = (field("kind"), field("apiVersion"));
        if kind != SETTINGS_KIND || version != SETTINGS_VERSION {
            return Err(SettingsError::OtherKind { kind, version });
        }
        serde_json::from_value(json).map_err(unreadable)
    }

    /// The labels that a kubelet may give its own node.
    #[must_use]
    pub fn permitted_labels(&self) -> BTreeMap<&str, &str> {
        let labels = self.labels.iter().filter(|(name, _)| is_permitted(name));
        labels.map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }
}

impl NodeBootstrap {
    /// The name of the ConfigMap in `kube-system` with further settings of the pool; `None` if the document has all of them.
    #[must_use]
    pub fn settings_name(&self) -> Option<&str> {
        self.settings.as_ref().map(|settings| settings.config_map.as_str())
    }

    /// The settings with which a control plane begins a cluster: there is no API then that has them.
    #[must_use]
    pub fn first_settings(&self) -> Option<&str> {
        self.settings.as_ref()?.first.as_deref()
    }

    /// The document with the settings of its pool.
    #[must_use]
    pub fn with_settings(&self, settings: &NodeSettings) -> Self {
        let mut document = self.clone();
        let node = &mut document.node;
        node.kubelet = node.kubelet.merged_with(&settings.kubelet);
        node.labels.extend(settings.labels.clone());
        node.files.extend(settings.files.iter().cloned());
        document.components.extend(settings.components.clone());
        document
    }
}

/// The fields in which two texts of settings differ, such as `kubelet.evictionHard` and `files`.
#[must_use]
pub fn changed_settings(before: &str, after: &str) -> Vec<String> {
    let parsed = |text: &str| serde_json::from_str::<Json>(text).unwrap_or_default();
    let (before, after) = (parsed(before), parsed(after));
    let names = |json: &Json| -> BTreeSet<String> {
        json.as_object().into_iter().flat_map(|fields| fields.keys().cloned()).collect()
    };
    let mut changed = Vec::new();
    for name in names(&before).union(&names(&after)) {
        let (old, new) = (&before[name.as_str()], &after[name.as_str()]);
        if old == new {
            continue;
        }
        let inner: Vec<String> = names(old)
            .union(&names(new))
            .filter(|key| old[key.as_str()] != new[key.as_str()])
            .cloned()
            .collect();
        match inner.is_empty() {
            true => changed.push(name.clone()),
            false => changed.extend(inner.into_iter().map(|key| format!("{name}.{key}"))),
        }
    }
    changed
}

/// Whether a node is drained before these fields change, as [`changed_settings`] names them.
#[must_use]
pub fn needs_drain(changed: &[String]) -> bool {
    changed.iter().any(|field| DRAINED.contains(&field.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_name_the_fields_in_which_they_differ() {
        let before =
            r#"{"kubelet":{"evictionHard":{"a":"1"},"kubeReserved":{"cpu":"1"}},"labels":{"a":"b"}}"#;
        let after =
            r#"{"kubelet":{"evictionHard":{"a":"2"},"kubeReserved":{"cpu":"1"}},"files":[{"name":"a"}]}"#;
        assert_eq!(changed_settings(before, after), ["files", "kubelet.evictionHard", "labels.a"]);
        assert!(changed_settings(before, before).is_empty());
        assert!(needs_drain(&changed_settings(before, after)));
        assert!(!needs_drain(&["files".to_owned(), "kubelet.evictionSoft".to_owned()]));
    }

    #[test]
    fn settings_of_another_version_are_refused() {
        let text = |version: &str, field: &str| {
            format!(r#"{{"apiVersion":"slipway.dev/{version}","kind":"NodeSettings","{field}":{{}}}}"#)
        };
        assert!(NodeSettings::read(&text("v1alpha1", "kubelet")).is_ok());
        assert!(matches!(NodeSettings::read(&text("v2", "kubelet")), Err(SettingsError::OtherKind { .. })));
        assert!(matches!(NodeSettings::read(&text("v1alpha1", "colour")), Err(SettingsError::Unreadable(_))));
    }

    #[test]
    fn a_node_gets_only_labels_that_its_kubelet_may_set() {
        let text = r#"{"apiVersion":"slipway.dev/v1alpha1","kind":"NodeSettings",
            "labels":{"tier":"gold","node-role.kubernetes.io/node":""}}"#;
        let settings = NodeSettings::read(text).unwrap();
        assert_eq!(settings.permitted_labels(), BTreeMap::from([("tier", "gold")]));
    }
}
