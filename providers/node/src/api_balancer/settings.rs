//! The settings of the balancer, as the file that it reads.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use slipway_resource::ProviderError;

use crate::error::permanent;

/// The largest accepted file of settings, in bytes.
const LARGEST: u64 = 64 << 10;

/// Where the balancer listens, and the API servers behind it.
///
/// Paths are those of this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// The loopback address that clients connect to.
    pub(crate) listen: SocketAddr,
    /// The API servers of the cluster's control planes.
    pub(crate) members: Vec<SocketAddr>,
    /// The API server of this machine, which is used as long as it is ready. None on a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) own: Option<SocketAddr>,
    /// The URL of the API for clients outside. The balancer does not use it: `slipway state rebuild` reads it here, since no
    /// kubeconfig of the machine names it.
    pub(crate) endpoint: String,
    /// The CA of the API servers.
    pub(crate) ca_path: PathBuf,
    /// The client certificate of the node with its key, in one file. It is missing until the kubelet has one.
    pub(crate) client_path: PathBuf,
    /// The file with the members that the cluster listed last.
    pub(crate) known_path: PathBuf,
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

    /// The same without what a running balancer takes over from a changed file.
    pub(crate) fn fixed(&self) -> Self {
        Self { members: Vec::new(), own: None, endpoint: String::new(), ..self.clone() }
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
            listen: "127.0.0.1:6444".parse().unwrap(),
            members: vec!["10.0.0.1:6443".parse().unwrap(), "[fd00::2]:6443".parse().unwrap()],
            own: None,
            endpoint: "https://10.0.0.1:6443".to_owned(),
            ca_path: "/ca.crt".into(),
            client_path: "/client.pem".into(),
            known_path: "/members.json".into(),
        };
        fs::write(&path, serde_json::to_vec(&settings).unwrap()).unwrap();
        assert_eq!(Settings::read(&path).unwrap(), settings);
        let other = Settings { own: Some(settings.members[0]), members: Vec::new(), ..settings.clone() };
        assert_eq!(other.fixed(), settings.fixed());
        let moved = Settings { listen: "127.0.0.1:1".parse().unwrap(), ..settings.clone() };
        assert_ne!(moved.fixed(), settings.fixed());
        fs::write(&path, r#"{"listen":"127.0.0.1:1","members":[],"more":1}"#).unwrap();
        assert!(Settings::read(&path).unwrap_err().message.contains("settings"));
        fs::write(&path, vec![b' '; 70_000]).unwrap();
        assert!(Settings::read(&path).unwrap_err().message.contains("more than 65536"));
    }
}
