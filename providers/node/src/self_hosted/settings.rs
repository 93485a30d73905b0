//! The settings of the recovery of self-hosted components, as the file that its service reads.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use slipway_resource::ProviderError;

use crate::error::permanent;

/// The largest accepted file of settings, in bytes.
const LARGEST: u64 = 64 << 10;

/// The machine that the service looks after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// The root of its files.
    pub(crate) root: PathBuf,
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
        let settings = Settings { root: "/".into() };
        fs::write(&path, serde_json::to_vec(&settings).unwrap()).unwrap();
        assert_eq!(Settings::read(&path).unwrap(), settings);
        fs::write(&path, r#"{"root":"/","more":1}"#).unwrap();
        assert!(Settings::read(&path).unwrap_err().message.contains("settings"));
    }
}
