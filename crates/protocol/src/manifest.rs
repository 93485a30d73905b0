//! `provider.toml`: an installed provider's description of itself, which is read without running the
//! provider.

use std::io::Read;
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};
use serde::Deserialize;
use slipway_resource::provider::executable_name;
use slipway_resource::{Digest, hexadecimal};
use slipway_trust::ProcessEnvironment;

use crate::convert::digest;
use crate::{Error, Launch};

/// The content of a `provider.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The provider's name: lower-case letters, digits and `-`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The versions of the contract that it speaks, as `v1alpha1`.
    pub protocol: Vec<String>,
    /// One sentence for people.
    pub description: String,
    /// The executable, relative to the file; `slipway-provider-<name>` when it is absent.
    #[serde(default)]
    pub executable: Option<PathBuf>,
    /// An executable that plans offline and does nothing else, relative to the file; none when it is absent.
    #[serde(default)]
    pub offline: Option<PathBuf>,
    /// The environment variables that it needs beyond those of every process, a `*` at the end standing for anything: it
    /// gets no other. All but what opens the state when it is absent.
    #[serde(default)]
    pub environment: Option<Vec<String>>,
    /// The samples for the conformance suite, relative to the file; `conformance.json` when it is absent.
    #[serde(default)]
    pub conformance: Option<PathBuf>,
}

/// A provider as it is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Its description of itself.
    pub manifest: Manifest,
    /// Its `provider.toml`.
    pub file: PathBuf,
    /// Its executable.
    pub executable: PathBuf,
    /// The executable that plans offline and does nothing else, if it has one.
    pub offline: Option<PathBuf>,
}

impl Installed {
    /// Reads a `provider.toml`.
    ///
    /// # Errors
    /// When it cannot be read or does not say what it has to.
    pub fn read(file: &Path) -> Result<Self, Error> {
        let text = slipway_limits::file::read_text(file, slipway_limits::size::CONFIGURATION)
            .map_err(|source| Error::File { path: file.to_owned(), source })?;
        let refused = |reason: String| Error::Manifest { path: file.to_owned(), reason };
        let manifest: Manifest = toml::from_str(&text).map_err(|error| refused(error.to_string()))?;
        check_name(&manifest.name)?;
        if manifest.version.is_empty() {
            return Err(refused("version is empty".to_owned()));
        }
        let relative = match &manifest.executable {
            Some(path) => path.clone(),
            None => PathBuf::from(executable_name(&manifest.name)),
        };
        let folder = file.parent().unwrap_or(Path::new(""));
        let executable = folder.join(relative);
        let offline = manifest.offline.as_ref().map(|path| folder.join(path));
        Ok(Self { manifest, file: file.to_owned(), executable, offline })
    }

    /// Reads the `provider.toml` of a provider whose executables lie in a folder of their own, as in a build tree.
    ///
    /// # Errors
    /// When it cannot be read or does not say what it has to.
    pub(crate) fn read_with_executables_in(file: &Path, folder: &Path) -> Result<Self, Error> {
        let mut installed = Self::read(file)?;
        for path in installed.offline.iter_mut().chain([&mut installed.executable]) {
            *path = folder.join(path.file_name().unwrap_or_default());
        }
        Ok(installed)
    }

    /// How to start one of its executables, with the environment that it declares.
    #[must_use]
    pub fn launch(&self, executable: &Path) -> Launch {
        let environment = ProcessEnvironment::declared(self.manifest.environment.clone());
        Launch { environment, ..Launch::new(&self.manifest.name, executable) }
    }

    /// The executable for offline plans: the provider itself if it exists, or else a separate one for this
    /// purpose.
    #[must_use]
    pub fn offline_executable(&self) -> Option<&Path> {
        let own = self.executable.is_file().then_some(self.executable.as_path());
        own.or_else(|| self.offline.as_deref().filter(|path| path.is_file()))
    }

    /// The provider's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// Checks that the executable exists.
    ///
    /// # Errors
    /// [`Error::NotBuilt`].
    pub fn check_built(&self) -> Result<(), Error> {
        if self.executable.exists() {
            return Ok(());
        }
        Err(Error::NotBuilt {
            name: self.manifest.name.clone(),
            file: self.file.clone(),
            executable: self.executable.clone(),
        })
    }

    /// The SHA-256 digest of the executable's bytes.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn digest(&self) -> Result<Digest, Error> {
        self.check_built()?;
        let failed = |source| Error::File { path: self.executable.clone(), source };
        let mut file = std::fs::File::open(&self.executable).map_err(failed)?;
        // In pieces: executables are large.
        let mut piece = vec![0; 64 << 10];
        let mut context = Context::new(&SHA256);
        loop {
            match file.read(&mut piece).map_err(failed)? {
                0 => break,
                length => context.update(piece.get(..length).unwrap_or_default()),
            }
        }
        digest(&format!("sha256:{}", hexadecimal(context.finish().as_ref())))
            .map_err(|error| failed(std::io::Error::other(error)))
    }

    /// The file with samples for the conformance suite.
    #[must_use]
    pub fn conformance(&self) -> PathBuf {
        let relative = self.manifest.conformance.clone();
        let relative = relative.unwrap_or_else(|| PathBuf::from("conformance.json"));
        self.file.parent().unwrap_or(Path::new("")).join(relative)
    }
}

/// Refuses what could lead out of a search path.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || name.starts_with('-') || !name.bytes().all(is_plain) {
        return Err(Error::Name { name: name.to_owned() });
    }
    Ok(())
}
