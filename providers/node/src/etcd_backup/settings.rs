//! The settings of the program that takes snapshots of etcd on a control plane, as the file that it reads.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use slipway_resource::{ProviderError, with_causes};
use slipway_state_store::backend::url::Location;
use slipway_state_store::{Backend, Settings as StoreSettings};

use super::repository::Repository;
use super::seal::Seal;
use crate::error::{invalid, permanent};

/// The folder that the backend of a folder keeps for itself.
const OWN: &str = ".slipway";

/// Where snapshots are taken from, where they are kept, and how often.
///
/// Paths are those of this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// The cluster.
    pub(crate) cluster: String,
    /// The member of etcd on this machine.
    pub(crate) member: String,
    /// The URL of that member.
    pub(crate) endpoint: String,
    /// The CA for etcd's certificate, and the client credentials.
    pub(crate) ca_path: PathBuf,
    pub(crate) cert_path: PathBuf,
    pub(crate) key_path: PathBuf,
    /// The private key of etcd's authority, from which the keys of snapshots are derived.
    pub(crate) authority_key_path: PathBuf,
    /// Private keys of former authorities, with which older snapshots were sealed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) former_key_paths: Vec<PathBuf>,
    /// Where snapshots are kept: a folder or a bucket.
    pub(crate) store: String,
    pub(crate) interval_seconds: u64,
    pub(crate) retention_seconds: u64,
    /// The folder for a snapshot that is under way.
    pub(crate) spool_path: PathBuf,
    /// A file of variables for the store, such as the credentials of a bucket; it may be missing.
    pub(crate) environment_path: PathBuf,
}

impl Settings {
    /// Reads the file.
    pub(crate) fn read(path: &Path) -> Result<Self, ProviderError> {
        let text = fs::read(path)
            .map_err(|error| permanent(format!("{}: cannot be read: {error}", path.display())))?;
        serde_json::from_slice(&text)
            .map_err(|error| permanent(format!("{}: it does not have the settings: {error}", path.display())))
    }

    pub(crate) fn interval(&self) -> Duration {
        Duration::from_secs(self.interval_seconds)
    }

    pub(crate) fn retention(&self) -> Duration {
        Duration::from_secs(self.retention_seconds)
    }

    /// The settings that are paths, or may be, by the names that attributes have.
    pub(crate) fn paths(&self) -> [(&'static str, String); 5] {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        [
            ("ca_path", text(&self.ca_path)),
            ("cert_path", text(&self.cert_path)),
            ("key_path", text(&self.key_path)),
            ("authority_key_path", text(&self.authority_key_path)),
            ("store", self.store.clone()),
        ]
    }

    /// The snapshots of the cluster.
    pub(crate) fn repository(&self) -> Result<Repository, ProviderError> {
        let wrong =
            |path: &Path, why: &dyn std::fmt::Display| permanent(format!("{}: {why}", path.display()));
        let unread = |path: &Path, error: &std::io::Error| wrong(path, &format!("cannot be read: {error}"));
        let path = &self.authority_key_path;
        let key = fs::read_to_string(path).map_err(|error| unread(path, &error))?;
        let mut seal = Seal::of_authority(&key).map_err(|why| wrong(path, &why))?;
        for path in &self.former_key_paths {
            match fs::read_to_string(path) {
                Ok(key) => seal = seal.opening(&key).map_err(|why| wrong(path, &why))?,
                // New snapshots do not need it.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(unread(path, &error)),
            }
        }
        Ok(Repository::new(self.backend()?, &self.cluster, seal))
    }

    /// The folder of the store; none for a bucket.
    pub(crate) fn store_folder(&self) -> Option<PathBuf> {
        match self.store.parse::<Location>() {
            Ok(Location::Directory(path)) => Some(path),
            _ => None,
        }
    }

    /// Removes all snapshots of the cluster, and their folders.
    pub(crate) async fn remove_snapshots(&self) -> Result<(), ProviderError> {
        super::repository::remove_all(&*self.backend()?, &self.cluster).await?;
        self.remove_empty_folders();
        let Some(folder) = self.store_folder() else { return Ok(()) };
        // A folder that cannot be removed contains files of other programs.
        for path in [folder.join(&self.cluster).join("etcd"), folder.join(&self.cluster)] {
            let _ = fs::remove_dir(path);
        }
        if names(&folder).iter().all(|name| name == OWN) {
            let _ = fs::remove_dir_all(folder.join(OWN));
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }

    /// Removes the folders of snapshots that were removed.
    pub(crate) fn remove_empty_folders(&self) {
        let Some(folder) = self.store_folder() else { return };
        let folder = folder.join(&self.cluster).join("etcd");
        for name in names(&folder) {
            // A folder that is not empty stays.
            let _ = fs::remove_dir(folder.join(name));
        }
    }

    fn backend(&self) -> Result<Arc<dyn Backend>, ProviderError> {
        // The variables of the store are all valid text.
        let text =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        let mut variables: BTreeMap<String, String> = std::env::vars_os().filter_map(text).collect();
        match fs::read_to_string(&self.environment_path) {
            Ok(text) => variables.extend(assignments(&text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                let path = self.environment_path.display();
                return Err(permanent(format!("{path}: cannot be read: {error}")));
            }
        }
        let settings = StoreSettings::new(variables);
        slipway_state_store::open_with(&self.store, &settings).map_err(|error| invalid(with_causes(&error)))
    }
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<OsString> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect()
}

/// The variables of a file as systemd reads it: a line each, `NAME=VALUE`, quotes around the value left out.
fn assignments(text: &str) -> impl Iterator<Item = (String, String)> {
    text.lines().filter_map(|line| {
        let line = line.trim();
        let (name, value) = line.split_once('=').filter(|_| !line.starts_with(['#', ';']))?;
        let quoted = |mark: char| value.strip_prefix(mark)?.strip_suffix(mark);
        let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
        Some((name.trim().to_owned(), value.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_as_systemd_reads_them() {
        let text = "# a comment\nAWS_REGION=eu-west-1\n\nA=\"b c\"\nAWS_SECRET_ACCESS_KEY='x=y'\nnothing\n";
        let found: Vec<_> = assignments(text).collect();
        let pairs: Vec<(&str, &str)> = found.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(pairs, [("AWS_REGION", "eu-west-1"), ("A", "b c"), ("AWS_SECRET_ACCESS_KEY", "x=y")]);
    }
}
