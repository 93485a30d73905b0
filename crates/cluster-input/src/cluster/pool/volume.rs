use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Volume {
    /// The device name, as in `/dev/xvdb`; needed for a pool's further disks, absent for the root and for etcd.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Where it is mounted; absent leaves it to you.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mount_path: Option<String>,
    /// The size in GiB.
    #[serde(rename = "sizeGiB")]
    #[schemars(range(min = 1, max = slipway_limits::count::DISK_GIB))]
    pub size_gib: u32,
    /// The kind of disk, by the provider's name; absent takes the provider's default.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Input and output operations per second; absent takes the kind's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = slipway_limits::count::DISK_SPEED))]
    pub iops: Option<u32>,
    /// The throughput in MiB per second; absent takes the kind's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = slipway_limits::count::DISK_SPEED))]
    pub throughput: Option<u32>,
    /// Whether it is encrypted.
    pub encrypted: bool,
    /// The key that encrypts it, by the provider's id; absent takes the provider's own key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-slipway-must-understand" = true))]
    pub key: Option<String>,
    /// Whether it goes when its machine goes. An etcd volume always stays.
    pub delete_on_termination: bool,
}

impl Volume {
    /// An encrypted disk of this size in GiB, with everything else at its default.
    #[must_use]
    pub fn of_size(size_gib: u32) -> Self {
        Self { size_gib, ..Self::default() }
    }
}

impl Default for Volume {
    fn default() -> Self {
        Self {
            device: None,
            mount_path: None,
            size_gib: 64,
            kind: None,
            iops: None,
            throughput: None,
            encrypted: true,
            key: None,
            delete_on_termination: true,
        }
    }
}
