use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::value::{Amount, Duration};

/// How the nodes of a pool are replaced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rollout {
    /// Whether changes of settings replace nodes.
    #[serde(default, skip_serializing_if = "Strategy::is_replace")]
    pub strategy: Strategy,
    /// How many nodes may be added beyond the size; a percentage is rounded up.
    pub max_surge: Amount,
    /// How many nodes may be missing; a percentage is rounded down.
    pub max_unavailable: Amount,
    /// How nodes are drained before they are removed.
    pub drain: Drain,
    /// How long a new node may take to become ready.
    pub ready_timeout: Duration,
    /// How long to wait after a node became ready before the next one.
    pub settle: Duration,
}

/// How changes of a pool's settings reach its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Strategy {
    /// Nodes are changed in place where that is possible. A plan that would replace a node is refused.
    InPlace,
    /// Nodes are changed in place where that is possible, and replaced for the other changes.
    InPlaceOrReplace,
    /// Nodes are replaced.
    #[default]
    Replace,
}

impl Strategy {
    /// Whether nodes are replaced for every change.
    #[must_use]
    pub fn is_replace(&self) -> bool {
        *self == Self::Replace
    }
}

/// How a node is drained before it is removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Drain {
    /// Whether nodes are drained.
    pub enabled: bool,
    /// Whether disruption budgets are respected.
    pub budgets: Budgets,
    /// How long the drain of one node may take.
    pub timeout: Duration,
    /// What to do if a node is not drained within `timeout`.
    pub on_blocked: OnBlocked,
}

impl Default for Drain {
    fn default() -> Self {
        Self {
            enabled: true,
            budgets: Budgets::default(),
            timeout: Duration::from_mins(15),
            on_blocked: OnBlocked::default(),
        }
    }
}

/// Whether PodDisruptionBudgets are respected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Budgets {
    /// Pods are evicted, and budgets are kept.
    #[default]
    Respect,
    /// Pods are deleted, whatever their budgets say.
    Ignore,
}

/// What to do if a node is not drained within `timeout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OnBlocked {
    /// The roll of the pool stops with an error that names the pods.
    #[default]
    Fail,
    /// The node stays as it is, and the roll goes on with the next one.
    Skip,
    /// The rest of the pods are deleted.
    Force,
}
