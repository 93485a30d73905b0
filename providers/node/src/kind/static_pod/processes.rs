//! The processes of a static pod, for nodes whose container runtime does not answer: those that run the exact
//! command of a manifest.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use slipway_resource::ProviderError;
use tokio::time::Instant;

use super::manifest::Manifest;
use super::running::SEEN;
use crate::kind::Work;
use crate::process;

const PAUSE: Duration = Duration::from_millis(200);

/// A process, by its number and start time (proc_pid_stat(5)), since numbers are used again.
type Process = (u32, u64);

/// The processes that run a command of a manifest. There are none below another root than the machine's.
pub(super) fn of(work: &Work, manifest: &Manifest) -> BTreeSet<Process> {
    if !work.host().disk.root().is_machine() {
        return BTreeSet::new();
    }
    process::all()
        .filter(|pid| command(*pid).is_some_and(|command| manifest.commands.contains(&command)))
        .filter_map(|pid| Some((pid, process::start(pid)?)))
        .collect()
}

/// Waits until these processes have ended, as long as the kubelet may take for it.
pub(super) async fn ended(
    work: &Work,
    manifest: &Manifest,
    processes: BTreeSet<Process>,
) -> Result<(), ProviderError> {
    let until = Instant::now() + SEEN + Duration::from_secs(manifest.grace_seconds);
    let is_there = |(pid, begun): &Process| process::start(*pid) == Some(*begun);
    while processes.iter().any(is_there) {
        if Instant::now() >= until {
            work.tell("the kubelet has not ended the pod yet");
            return Ok(());
        }
        work.pause(PAUSE).await?;
    }
    Ok(())
}

fn command(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
    let text = text.strip_suffix('\0')?;
    Some(text.split('\0').map(str::to_owned).collect())
}
