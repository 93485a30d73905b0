//! A directory in which a test runs the program: its state, its simulated cloud, its specs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use slipway_provider_sim::inspect::Inventory;
use slipway_state_store::{Backend, FileBackend};
/// How a call of the program ended.
pub use slipway_testkit::Said as Ended;
use tempfile::TempDir;

use crate::bucket::Bucket;

/// A directory for one test; it is removed with this value.
pub struct Place {
    directory: TempDir,
    program: PathBuf,
    bucket: Option<Bucket>,
    environment: Vec<(String, String)>,
}

impl Place {
    /// A new place for the program at a path.
    ///
    /// # Errors
    /// When no directory can be made.
    pub fn new(program: impl Into<PathBuf>) -> Result<Self> {
        // In memory if possible: these tests are not about the disk.
        let memory = Path::new("/dev/shm");
        let directory = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }?;
        Ok(Self { directory, program: program.into(), bucket: None, environment: Vec::new() })
    }

    /// A new place that keeps its state in a bucket of its own.
    ///
    /// # Errors
    /// When no directory or no bucket can be made.
    pub fn on_s3(program: impl Into<PathBuf>) -> Result<Self> {
        Ok(Self { bucket: Some(Bucket::new()?), ..Self::new(program)? })
    }

    /// The same place with more in the environment of the program.
    #[must_use]
    pub fn with_environment(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.environment.extend(variables);
        self
    }

    /// The bucket, where the state is in one.
    #[must_use]
    pub fn bucket(&self) -> Option<&Bucket> {
        self.bucket.as_ref()
    }

    /// The state as it is stored.
    ///
    /// # Errors
    /// When the address is not understood.
    pub fn backend(&self) -> Result<Arc<dyn Backend>> {
        match &self.bucket {
            Some(bucket) => bucket.backend(),
            None => Ok(Arc::new(FileBackend::open(self.state()))),
        }
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Where the simulated cloud is.
    #[must_use]
    pub fn cloud(&self) -> PathBuf {
        self.path().join(".slipway/sim")
    }

    /// Where the state is.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.path().join(".slipway/state")
    }

    /// Writes a file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.path().join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
        Ok(path)
    }

    /// A call of the program with nothing of the caller's own settings in its environment.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(self.path()).stdin(std::process::Stdio::null());
        for name in ["SLIPWAY_STATE", "SLIPWAY_CONFIG", "SLIPWAY_PROVIDER_PATH", "SLIPWAY_LOG", "NO_COLOR"] {
            command.env_remove(name);
        }
        for name in ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] {
            command.env_remove(name);
        }
        for name in ["SLIPWAY_ACTOR", "GITHUB_ACTIONS", "GITLAB_CI", "BUILDKITE", "CIRCLECI", "JENKINS_URL"] {
            command.env_remove(name);
        }
        for name in [
            "SLIPWAY_PASSPHRASE",
            "SLIPWAY_PASSPHRASE_FILE",
            "SLIPWAY_FALLBACK_PASSPHRASE",
            "SLIPWAY_FALLBACK_PASSPHRASE_FILE",
            "SLIPWAY_AGE_IDENTITY_FILE",
            "SLIPWAY_AGE_RECIPIENTS",
            "SOPS_AGE_KEY_FILE",
        ] {
            command.env_remove(name);
        }
        if let Some(bucket) = &self.bucket {
            command.envs(bucket.environment()).env("SLIPWAY_STATE", bucket.url());
        }
        command.env("XDG_CONFIG_HOME", self.path().join("config")).env("USER", "tester");
        command.env("SLIPWAY_TEST_SYSTEM_CONFIG", self.path().join("system/config.toml"));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the program to its end.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn run(&self, arguments: &[&str]) -> Result<Ended> {
        Ended::of(self.command(arguments).output()?)
    }

    /// Runs the program and wants an exit code.
    ///
    /// # Errors
    /// When it ends with another one; the message holds all that it said.
    pub fn expect(&self, code: i32, arguments: &[&str]) -> Result<Ended> {
        self.run(arguments)?.wanted(code, &format!("slipway {}", arguments.join(" ")))
    }

    /// The objects in the simulated cloud.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn inventory(&self) -> Result<Inventory> {
        Ok(Inventory::open(self.cloud())?)
    }

    /// Copies state and cloud of another place, as they are.
    ///
    /// # Errors
    /// When they cannot be copied.
    pub fn copy_from(&self, other: &Place) -> Result<()> {
        if let (Some(to), Some(from)) = (&self.bucket, &other.bucket) {
            to.copy_from(from)?;
        }
        copy(&other.path().join(".slipway"), &self.path().join(".slipway"))
    }
}

/// Copies a folder with all that is in it; nothing when it does not exist.
///
/// # Errors
/// When something cannot be read or written.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    if !from.exists() {
        return Ok(());
    }
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
