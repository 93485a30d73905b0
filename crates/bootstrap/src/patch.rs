//! Patches of what is made: kubeadm's `patches.directory`.
//!
//! A file is named `target[suffix][+type].extension`, as `kube-apiserver0+merge.yaml`; files are applied in the order of
//! their names, the documents within one in theirs.

mod name;
mod strategic;

use std::collections::BTreeMap;

use serde::Deserialize as _;
use serde_json::Value;

use name::Name;

/// The targets of patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// The static pod of etcd.
    Etcd,
    /// The static pod of the API server.
    ApiServer,
    /// The static pod of the controller manager.
    ControllerManager,
    /// The static pod of the scheduler.
    Scheduler,
    /// The kubelet's configuration on the node.
    Kubelet,
    /// The Deployment of CoreDNS.
    CoreDns,
}

impl Target {
    /// Every target.
    pub const ALL: [Self; 6] =
        [Self::Etcd, Self::ApiServer, Self::ControllerManager, Self::Scheduler, Self::Kubelet, Self::CoreDns];

    /// Its name in file names.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Kubelet => "kubeletconfiguration",
            Self::CoreDns => "corednsdeployment",
        }
    }
}

/// How a patch changes its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// RFC 6902: a list of operations.
    Json,
    /// RFC 7386: given values replace existing ones, `null` removes.
    Merge,
    /// Kubernetes' own: lists of known objects are merged by their keys.
    Strategic,
}

/// Patches, in the order in which they are applied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patches {
    patches: Vec<Patch>,
    /// Files that are no patches, as kubeadm passes over them.
    pub ignored: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct Patch {
    file: String,
    target: Target,
    kind: Kind,
    content: Value,
}

/// A patch that cannot be read or applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The part behind `+` is no type.
    #[error("patch {file}: what follows + is not a type of patch; write json, merge or strategic")]
    Type {
        /// The file's name.
        file: String,
    },
    /// The text is neither YAML nor JSON.
    #[error("patch {file}: {reason}")]
    Text {
        /// The file's name.
        file: String,
        /// The error of the reader.
        reason: String,
    },
    /// The patch does not fit what it patches.
    #[error("patch {file} does not fit {target}: {reason}")]
    Unfit {
        /// The file's name.
        file: String,
        /// The target's name.
        target: &'static str,
        /// Why it does not fit.
        reason: String,
    },
}

impl PatchError {
    /// The stable code of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Type { .. } => "EXPAND0001",
            Self::Text { .. } => "EXPAND0002",
            Self::Unfit { .. } => "EXPAND0003",
        }
    }
}

impl Patches {
    /// Reads patches from the texts of the files in a folder, by their names.
    ///
    /// # Errors
    /// When a patch has an unknown type or is neither YAML nor JSON. Files that are no patches are in `ignored`.
    pub fn read(files: &BTreeMap<String, String>) -> Result<Self, PatchError> {
        let mut patches = Self::default();
        for (file, text) in files {
            let Some(Name { target, kind }) = Name::read(file)? else {
                patches.ignored.push(file.clone());
                continue;
            };
            if text.is_empty() {
                patches.ignored.push(file.clone());
                continue;
            }
            for document in serde_yaml::Deserializer::from_str(text) {
                let content = Value::deserialize(document)
                    .map_err(|error| PatchError::Text { file: file.clone(), reason: error.to_string() })?;
                if !content.is_null() {
                    patches.patches.push(Patch { file: file.clone(), target, kind, content });
                }
            }
        }
        Ok(patches)
    }

    /// Whether any patch is for this target.
    #[must_use]
    pub fn any(&self, target: Target) -> bool {
        self.patches.iter().any(|patch| patch.target == target)
    }

    /// The value with all patches of the target applied.
    ///
    /// # Errors
    /// When one does not fit: a JSON patch whose test fails or whose place does not exist, a strategic patch that lacks
    /// the key of a list's objects.
    pub fn apply(&self, target: Target, mut value: Value) -> Result<Value, PatchError> {
        for patch in self.patches.iter().filter(|patch| patch.target == target) {
            let content = &patch.content;
            let applied = match patch.kind {
                Kind::Json => operations(&mut value, content).map(|()| value),
                Kind::Merge => {
                    json_patch::merge(&mut value, content);
                    Ok(value)
                }
                Kind::Strategic => strategic::apply(value, content, target),
            };
            value = applied.map_err(|reason| PatchError::Unfit {
                file: patch.file.clone(),
                target: target.as_str(),
                reason,
            })?;
        }
        Ok(value)
    }
}

/// Applies the operations of a JSON patch (RFC 6902).
fn operations(value: &mut Value, patch: &Value) -> Result<(), String> {
    let patch = json_patch::Patch::deserialize(patch)
        .map_err(|error| format!("it is not a list of operations: {error}"))?;
    json_patch::patch(value, &patch.0).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
