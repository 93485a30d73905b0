//! A folder of a test's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result};

/// Removes a folder when standard input ends. A server that is killed in the same moment may still write into it.
const UNTIL_STDIN_ENDS: &str = r#"trap '' INT HUP
cat >/dev/null
until rm -rf -- "$1"; do sleep 0.1; done 2>/dev/null"#;

/// A folder that is removed with its value, and when the process that made it is gone, whatever it died of.
#[derive(Debug)]
pub struct Scratch {
    guard: Child,
    path: PathBuf,
}

/// Tells the folders of one process apart.
static COUNT: AtomicU32 = AtomicU32::new(0);

impl Scratch {
    /// Makes one, in the system's folder for temporary files.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(purpose: &str) -> Result<Self> {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("slipway-{purpose}-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // A folder of the same name is of a process that had our number before.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).with_context(|| format!("{} cannot be made", path.display()))?;
        let mut guard = Command::new("sh");
        guard.args(["-c", UNTIL_STDIN_ENDS, "sh"]).arg(&path);
        guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { guard: guard.spawn().context("sh cannot be started")?, path })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_ends_with_its_value() {
        let scratch = Scratch::new("test").unwrap();
        let path = scratch.path().to_owned();
        fs::write(path.join("file"), "").unwrap();
        drop(scratch);
        assert!(!path.exists());
    }
}
