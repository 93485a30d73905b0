//! A command that runs on a machine.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result};

/// A command that was started on a machine. It is killed with its value.
#[derive(Debug)]
pub struct Running {
    child: Child,
    log: PathBuf,
}

/// Tells the logs of one process apart.
static COUNT: AtomicU32 = AtomicU32::new(0);

impl Running {
    pub(super) fn start(mut command: Command, folder: &Path) -> Result<Self> {
        let log = folder.join(format!("command-{}.log", COUNT.fetch_add(1, Ordering::Relaxed)));
        let file = File::create(&log)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        Ok(Self { child: command.spawn().context("sh cannot be started")?, log })
    }

    /// Its output so far, of both streams.
    #[must_use]
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// How it ended, if it did.
    ///
    /// # Errors
    /// When the kernel refuses to say.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Waits until it ends.
    ///
    /// # Errors
    /// When the kernel refuses to say.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        Ok(self.child.wait()?)
    }

    /// Kills it, not what it started.
    pub fn kill(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // The child is only the door; behind it is the command.
            let path = format!("/proc/{0}/task/{0}/children", self.child.id());
            let inside = fs::read_to_string(path).unwrap_or_default();
            match inside.split_whitespace().next().and_then(|id| id.parse().ok()) {
                Some(id) => kill(id),
                None => drop(self.child.kill()),
            }
        }
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends a process the signal that it cannot refuse.
pub fn kill(id: u32) {
    if let Some(process) = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
    }
}
