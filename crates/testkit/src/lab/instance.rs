//! The machine of an instance.

use std::ffi::{OsStr, OsString};
use std::process::{Command, Stdio};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use anyhow::{Context as _, Result};

use crate::{Machine, Said};

/// The machine of an instance. The laboratory starts and stops it as the emulator says.
#[derive(Clone, Debug)]
pub struct LabInstance {
    machine: Arc<RwLock<Machine>>,
}

impl LabInstance {
    pub(super) fn new(machine: Machine) -> Self {
        Self { machine: Arc::new(RwLock::new(machine)) }
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, Machine> {
        self.machine.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, Machine> {
        self.machine.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its private address.
    #[must_use]
    pub fn address(&self) -> String {
        self.read().address()
    }

    /// Whether it is on.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.read().is_on()
    }

    /// A command on it, as in [`Machine::command`].
    ///
    /// # Errors
    /// When it is off.
    pub fn command<S: AsRef<OsStr>>(&self, command: impl IntoIterator<Item = S>) -> Result<Command> {
        self.read().command(command)
    }

    /// Runs a command on it.
    ///
    /// # Errors
    /// When it is off. The caller checks whether the command failed.
    pub fn run<S: AsRef<OsStr>>(&self, command: impl IntoIterator<Item = S>) -> Result<Said> {
        Said::by(self.command(command)?.stdin(Stdio::null()))
    }

    /// Runs a command on it that must succeed, and returns its standard output.
    ///
    /// # Errors
    /// When it fails, with its output.
    pub fn check<S: AsRef<OsStr>>(&self, command: impl IntoIterator<Item = S>) -> Result<String> {
        let words: Vec<OsString> = command.into_iter().map(|word| word.as_ref().to_owned()).collect();
        let what = words.join(OsStr::new(" ")).to_string_lossy().into_owned();
        Ok(self.run(words)?.wanted(0, &what)?.out)
    }

    /// Runs a shell script on it that must succeed, and returns its standard output.
    ///
    /// # Errors
    /// When it fails, with its output.
    pub fn shell(&self, script: &str) -> Result<String> {
        self.check(["bash", "-euc", script])
    }

    /// Cuts its power, and turns it on again. The emulator does not notice.
    ///
    /// # Errors
    /// When it does not start.
    pub fn cut_power(&self) -> Result<()> {
        self.write().restart().context("after a cut of the power")
    }

    /// Disconnects its network: it can neither be reached nor reach other machines.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn disconnect(&self) -> Result<()> {
        self.read().disconnect()
    }

    /// Connects its network again.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn connect(&self) -> Result<()> {
        self.read().connect()
    }
}
