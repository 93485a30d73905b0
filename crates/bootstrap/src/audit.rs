//! The log of requests to the API server: `Policy` of audit.k8s.io/v1.

use serde_json::{Value, json};

use crate::yaml;

/// The folder of the log on a control plane.
pub const FOLDER: &str = "/var/log/kubernetes/audit";

/// The logged requests, and the retention of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// The policy; null logs who asked for what and when, of every request.
    pub policy: Value,
    /// The days that a rotated log is kept.
    pub max_age_days: u32,
    /// The number of rotated logs that are kept.
    pub max_backups: u32,
    /// The size in MiB at which a log is rotated.
    pub max_size_mebibytes: u32,
}

impl Default for Audit {
    fn default() -> Self {
        Self { policy: Value::Null, max_age_days: 10, max_backups: 5, max_size_mebibytes: 100 }
    }
}

impl Audit {
    /// The text of the policy's file.
    #[must_use]
    pub fn policy_text(&self) -> String {
        let policy = match &self.policy {
            Value::Null => json!({"rules": [{"level": "Metadata"}]}),
            policy => policy.clone(),
        };
        let mut policy = match policy {
            Value::Object(entries) => entries,
            _ => serde_json::Map::new(),
        };
        policy.insert("apiVersion".to_owned(), "audit.k8s.io/v1".into());
        policy.insert("kind".to_owned(), "Policy".into());
        yaml::to_string(&Value::Object(policy))
    }
}
