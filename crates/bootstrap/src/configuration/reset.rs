use serde::{Deserialize, Serialize};

use super::Timeouts;

/// How a node is reset: kubeadm's `ResetConfiguration`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reset {
    /// Whether `/etc/kubernetes/tmp` is removed as well.
    pub cleanup_tmp_dir: bool,
    /// The absolute path of the folder of keys and certificates.
    pub certificates_dir: String,
    /// The CRI endpoint, a `unix://` URL; absent when several were found and none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cri_socket: Option<String>,
    /// Whether nothing is changed.
    pub dry_run: bool,
    /// Whether no confirmation is requested.
    pub force: bool,
    /// Names of preflight checks whose failure is a warning; `all` for every one.
    pub ignore_preflight_errors: Vec<String>,
    /// Phases that are left out.
    pub skip_phases: Vec<String>,
    /// How the kubelet's mounts are unmounted.
    pub unmount_flags: Vec<UnmountFlag>,
    /// The timeouts.
    pub timeouts: Timeouts,
}

impl Default for Reset {
    fn default() -> Self {
        Self {
            cleanup_tmp_dir: false,
            certificates_dir: "/etc/kubernetes/pki".to_owned(),
            cri_socket: Some(super::detected::DEFAULT_CRI_SOCKET.to_owned()),
            dry_run: false,
            force: false,
            ignore_preflight_errors: Vec::new(),
            skip_phases: Vec::new(),
            unmount_flags: Vec::new(),
            timeouts: Timeouts::default(),
        }
    }
}

/// The flags of `umount2(2)`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
pub enum UnmountFlag {
    /// Even while it is busy.
    #[serde(rename = "MNT_FORCE")]
    Force,
    /// Out of sight at once, gone when it is no longer busy.
    #[serde(rename = "MNT_DETACH")]
    Detach,
    /// Marked first, unmounted when it was not used since.
    #[serde(rename = "MNT_EXPIRE")]
    Expire,
    /// Without following symbolic links.
    #[serde(rename = "UMOUNT_NOFOLLOW")]
    NoFollow,
}
