use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Volume;
use crate::value::{Duration, Quantity};

/// One etcd cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdCluster {
    /// `main` for everything, `events` for events.
    pub name: String,
    /// The members; an odd number.
    pub members: Vec<EtcdMember>,
    /// The etcd release; absent takes the one that belongs to the Kubernetes release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Backups of the data.
    pub backups: EtcdBackups,
    /// The CPU that the member asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_request: Option<Quantity>,
    /// The memory that the member asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_request: Option<Quantity>,
}

/// One member of an etcd cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdMember {
    /// The member's name; unique in its etcd cluster.
    pub name: String,
    /// The control-plane pool on whose nodes it runs.
    pub pool: String,
    /// The subnet it stays in, because its volume cannot leave a zone; absent takes the pool's next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnet: Option<String>,
    /// The volume that holds its data; absent keeps the data on the host's own disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
}

/// Backups of an etcd cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EtcdBackups {
    /// Whether backups are made.
    pub enabled: bool,
    /// The time between two backups.
    pub interval: Duration,
    /// How long a backup is kept; on hosts, after 24 hours only the last one of each day.
    pub retention: Duration,
    /// Where they go, as a URL; absent puts them beside the state, on hosts into `/var/backups/slipway` of the control planes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// Whether deleting the cluster keeps them.
    pub keep_on_delete: bool,
}

impl Default for EtcdBackups {
    fn default() -> Self {
        Self {
            enabled: true,
            interval: Duration::from_mins(15),
            retention: Duration::from_hours(90 * 24),
            store: None,
            keep_on_delete: true,
        }
    }
}
