//! The settings of the virtual address, as the file that its service reads.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use slipway_resource::ProviderError;

use crate::error::permanent;

/// The largest accepted file of settings, in bytes.
const LARGEST: u64 = 64 << 10;

/// The address, and how this machine takes part in the election of its holder.
///
/// Paths are those of this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// The address.
    pub(crate) address: IpAddr,
    /// The interface that gets it; absent for the one with the address of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) interface: Option<String>,
    /// The name of the node, with which the identity in the Lease begins.
    pub(crate) node: String,
    /// The address of the node.
    pub(crate) node_address: IpAddr,
    /// The kubeconfig for the API server of this machine.
    pub(crate) kubeconfig_path: PathBuf,
}

impl Settings {
    /// Reads the file.
    ///
    /// # Errors
    /// When it cannot be read, or does not have the settings.
    pub(crate) fn read(path: &Path) -> Result<Self, ProviderError> {
        let failed = |why: String| permanent(format!("{}: {why}", path.display()));
        let size = fs::metadata(path).map_err(|error| failed(format!("cannot be read: {error}")))?.len();
        if size > LARGEST {
            return Err(failed(format!("it has {size} bytes, more than {LARGEST}")));
        }
        let text = fs::read(path).map_err(|error| failed(format!("cannot be read: {error}")))?;
        serde_json::from_slice(&text)
            .map_err(|error| failed(format!("it does not have the settings: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_back_and_unknown_fields_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        let settings = Settings {
            address: "192.0.2.40".parse().unwrap(),
            interface: None,
            node: "cp-0".to_owned(),
            node_address: "192.0.2.10".parse().unwrap(),
            kubeconfig_path: "/virtual-address.conf".into(),
        };
        fs::write(&path, serde_json::to_vec(&settings).unwrap()).unwrap();
        assert_eq!(Settings::read(&path).unwrap(), settings);
        fs::write(&path, r#"{"address":"192.0.2.40","more":1}"#).unwrap();
        assert!(Settings::read(&path).unwrap_err().message.contains("settings"));
        fs::write(&path, vec![b' '; 70_000]).unwrap();
        assert!(Settings::read(&path).unwrap_err().message.contains("more than 65536"));
    }
}
