use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The API server's audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Audit {
    /// Whether requests are logged.
    pub enabled: bool,
    /// The audit policy (`audit.k8s.io/v1` Policy); absent logs the metadata of every request.
    #[serde(skip_serializing_if = "serde_json::Value::is_null")]
    #[schemars(schema_with = "crate::schema::opaque")]
    pub policy: serde_json::Value,
    /// The days that a rotated log is kept.
    #[schemars(range(max = slipway_limits::count::LOG_DAYS))]
    pub max_age_days: u32,
    /// The number of rotated logs that are kept.
    #[schemars(range(max = slipway_limits::count::LOG_FILES))]
    pub max_backups: u32,
    /// The size in MiB at which a log is rotated.
    #[schemars(range(min = 1, max = slipway_limits::count::LOG_MEBIBYTES))]
    pub max_size_mebibytes: u32,
}

impl Default for Audit {
    fn default() -> Self {
        Self {
            enabled: false,
            policy: serde_json::Value::Null,
            max_age_days: 10,
            max_backups: 5,
            max_size_mebibytes: 100,
        }
    }
}
