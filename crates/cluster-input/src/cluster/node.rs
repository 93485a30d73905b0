use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A taint of a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// The key, a label name with an optional prefix.
    pub key: String,
    /// The value; empty when there is none.
    #[serde(default)]
    pub value: String,
    /// What happens to pods that do not tolerate it.
    pub effect: TaintEffect,
}

impl fmt::Display for Taint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, value, effect } = self;
        if value.is_empty() {
            write!(formatter, "{key}:{effect:?}")
        } else {
            write!(formatter, "{key}={value}:{effect:?}")
        }
    }
}

/// What happens to pods that do not tolerate a taint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TaintEffect {
    /// New ones are not placed on the node.
    NoSchedule,
    /// New ones are placed on the node only when no other has room.
    PreferNoSchedule,
    /// New ones are not placed on the node, and running ones leave it.
    NoExecute,
}

/// Files and units that nodes get beside their own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeFiles {
    /// Files, in the order of the spec.
    pub files: Vec<FileAsset>,
    /// Units and their timing, in the order of the spec.
    pub hooks: Vec<Hook>,
}

/// A file on nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileAsset {
    /// The file's name in messages; unique in its list.
    pub name: String,
    /// Where it lies on the node, an absolute path.
    pub path: String,
    /// What it holds. Secrets do not belong here.
    pub content: String,
    /// Its permissions, as octal digits.
    #[serde(default = "file_mode")]
    pub mode: String,
}

fn file_mode() -> String {
    "0644".to_owned()
}

/// A systemd unit on nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hook {
    /// The unit's name, as in `tune.service`; unique in its list.
    pub name: String,
    /// The unit file.
    pub content: String,
    /// When it runs.
    #[serde(default)]
    pub timing: HookTiming,
    /// Whether it runs at all.
    #[serde(default = "enabled")]
    pub enabled: bool,
}

const fn enabled() -> bool {
    true
}

/// When a unit runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HookTiming {
    /// Before the kubelet starts.
    #[default]
    BeforeKubelet,
    /// After the kubelet has started.
    AfterKubelet,
}
