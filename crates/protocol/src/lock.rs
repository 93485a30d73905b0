//! `slipway.lock`: the trusted executables.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use slipway_resource::Digest;

use crate::Error;
use crate::manifest::Installed;

/// The content of a `slipway.lock`, with the file that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockFile {
    path: PathBuf,
    providers: Vec<Locked>,
}

/// A trusted provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locked {
    /// Its name.
    pub name: String,
    /// Its version, for messages.
    pub version: String,
    /// Digest of the executable's bytes. It does not cover files that the executable loads.
    pub digest: Digest,
    /// The digest of its schema, as it announces it.
    pub schema_digest: Digest,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    provider: Vec<Locked>,
}

impl LockFile {
    /// Reads a lock file. A missing one has no entries.
    ///
    /// # Errors
    /// When it exists and cannot be read.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let document = match slipway_limits::file::read_text(path, slipway_limits::size::CONFIGURATION) {
            Ok(text) => toml::from_str::<Document>(&text)
                .map_err(|error| Error::Lock { path: path.to_owned(), reason: error.to_string() })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Document::default(),
            Err(source) => {
                return Err(Error::File { path: path.to_owned(), source });
            }
        };
        Ok(Self { path: path.to_owned(), providers: document.provider })
    }

    /// An empty lock file, not read from any path.
    #[must_use]
    pub fn empty() -> Self {
        Self { path: PathBuf::from("slipway.lock"), providers: Vec::new() }
    }

    /// The providers, sorted by name.
    #[must_use]
    pub fn providers(&self) -> &[Locked] {
        &self.providers
    }

    /// The entry of a provider.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Locked> {
        self.providers.iter().find(|locked| locked.name == name)
    }

    /// The entry of an installed provider, if its executable is the locked one.
    ///
    /// # Errors
    /// When it is not in the file, or its executable is missing or has changed.
    pub fn verify(&self, installed: &Installed) -> Result<&Locked, Error> {
        let name = installed.name();
        let Some(locked) = self.get(name) else {
            // What does not exist cannot be locked.
            installed.check_built()?;
            return Err(Error::Unlocked { name: name.to_owned(), lock: self.path.clone() });
        };
        let found = installed.digest()?;
        if found != locked.digest {
            return Err(Error::Changed {
                name: name.to_owned(),
                executable: installed.executable.clone(),
                found,
                locked: locked.digest.clone(),
            });
        }
        Ok(locked)
    }

    /// Adds or replaces an entry; in memory only.
    pub fn insert(&mut self, locked: Locked) {
        self.providers.retain(|other| other.name != locked.name);
        self.providers.push(locked);
        self.providers.sort_by(|left, right| left.name.cmp(&right.name));
    }

    /// Writes the file atomically.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self) -> Result<(), Error> {
        let document = Document { provider: self.providers.clone() };
        let text = toml::to_string(&document)
            .map_err(|error| Error::Lock { path: self.path.clone(), reason: error.to_string() })?;
        let write = || {
            let directory = match self.path.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => Path::new("."),
            };
            // The message about a missing folder names no temporary file.
            std::fs::metadata(directory)?;
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            file.write_all(
                b"# Written by `slipway provider lock`. Commit it: only what it lists is run.\n\n",
            )?;
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&self.path)?;
            Ok(())
        };
        write().map_err(|source: std::io::Error| Error::File { path: self.path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(name: &str) -> Locked {
        Locked {
            name: name.into(),
            version: "1.0.0".into(),
            digest: Digest::of_bytes(b"executable"),
            schema_digest: Digest::of_bytes(b"schema"),
        }
    }

    #[test]
    fn what_was_written_is_read_sorted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("slipway.lock");
        let mut lock = LockFile::read(&path).unwrap();
        assert!(lock.providers().is_empty());
        lock.insert(locked("sim"));
        lock.insert(locked("aws"));
        lock.insert(locked("sim"));
        lock.write().unwrap();
        let read = LockFile::read(&path).unwrap();
        assert_eq!(read, lock);
        assert_eq!(read.providers(), [locked("aws"), locked("sim")]);
        assert!(std::fs::read_to_string(&path).unwrap().contains("[[provider]]"));
    }

    #[test]
    fn a_missing_folder_is_named_without_a_temporary_file() {
        let directory = tempfile::tempdir().unwrap();
        let lock = LockFile::read(&directory.path().join("missing/slipway.lock")).unwrap();
        let Error::File { source, .. } = lock.write().unwrap_err() else { panic!("another error") };
        assert_eq!(source.to_string(), "No such file or directory (os error 2)");
    }

    #[test]
    fn a_lock_file_that_is_no_file_is_refused_with_a_way_out() {
        let error = LockFile::read(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.code(), "PROVIDER0012");
        assert!(error.hint().unwrap().contains("name a regular file"));
    }

    #[test]
    fn another_executable_is_refused_with_a_way_out() {
        let directory = tempfile::tempdir().unwrap();
        let manifest = directory.path().join("provider.toml");
        let text = "name = 'sim'\nversion = '1'\nprotocol = ['v1alpha1']\ndescription = ''\n";
        std::fs::write(&manifest, text).unwrap();
        std::fs::write(directory.path().join("slipway-provider-sim"), "executable").unwrap();
        let installed = Installed::read(&manifest).unwrap();
        let mut lock = LockFile::read(&directory.path().join("slipway.lock")).unwrap();
        std::fs::remove_file(&installed.executable).unwrap();
        assert_eq!(lock.verify(&installed).unwrap_err().code(), "PROVIDER0013");
        std::fs::write(&installed.executable, "executable").unwrap();
        let error = lock.verify(&installed).unwrap_err();
        assert_eq!(error.code(), "PROVIDER0005");
        assert!(error.hint().unwrap().contains("slipway provider lock sim"));
        lock.insert(locked("sim"));
        assert_eq!(lock.verify(&installed).unwrap(), &locked("sim"));
        std::fs::write(&installed.executable, "changed").unwrap();
        let error = lock.verify(&installed).unwrap_err();
        assert_eq!(error.code(), "PROVIDER0006");
        assert!(error.hint().is_some());
    }
}
