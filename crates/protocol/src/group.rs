//! The process group of a child: processes that the child has started end with it.

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;

/// The process group of which a child is the leader. Dropping it kills every process that is left in it.
#[derive(Debug)]
pub(crate) struct Group(Option<Pid>);

impl Group {
    /// The group of a child that was started with `process_group(0)`.
    pub fn led_by(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(Pid::from_raw))
    }

    /// Kills all of its processes.
    pub fn kill(&self) {
        // A group without processes is no failure.
        if let Some(leader) = self.0
            && let Err(error) = kill_process_group(leader, Signal::KILL)
            && error != rustix::io::Errno::SRCH
        {
            tracing::warn!(%error, "cannot kill the processes of a provider");
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use crate::process::{Launch, Process};

    /// Whether a process runs; one that has ended and was not waited for does not.
    fn runs(process: &str) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        status.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
    }

    #[tokio::test]
    async fn what_a_refused_provider_has_started_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let started = folder.path().join("started");
        let begin = format!("sleep 600 & echo $! > {}", started.display());
        for end in ["echo nonsense; wait", "echo nonsense", "exit 3", "wait"] {
            let script = format!("{begin}; {end}");
            let launch = Launch {
                arguments: vec!["-c".into(), script.into()],
                timeout: Duration::from_secs(1),
                ..Launch::new("refused", Path::new("/bin/sh"))
            };
            Process::start(&launch).await.unwrap_err();
            let process = std::fs::read_to_string(&started).unwrap();
            // The kernel ends a killed process a moment later.
            for _ in 0..100 {
                if !runs(process.trim()) {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            assert!(!runs(process.trim()), "{end}: a process of a refused provider runs");
        }
    }
}
