//! The processes of a static pod, for nodes whose container runtime does not answer: those that run the very command of a
//! manifest. One that has ended serves nobody any more.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use slipway_resource::ProviderError;
use tokio::time::Instant;

use super::manifest::Manifest;
use super::running::SEEN;
use crate::kind::Work;

const PAUSE: Duration = Duration::from_millis(200);

/// A process, by its number and the moment of its start (proc_pid_stat(5)): numbers are given away again.
type Process = (u32, String);

/// The processes that run a command of a manifest. None below another root than the machine's: nobody runs pods there.
pub(super) fn of(work: &Work, manifest: &Manifest) -> BTreeSet<Process> {
    if !work.host().disk.root().is_machine() {
        return BTreeSet::new();
    }
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| command(*pid).is_some_and(|command| manifest.commands.contains(&command)))
        .filter_map(|pid| Some((pid, start(pid)?)))
        .collect()
}

/// Waits until these have ended, as long as the kubelet has for it.
pub(super) async fn ended(
    work: &Work,
    manifest: &Manifest,
    processes: BTreeSet<Process>,
) -> Result<(), ProviderError> {
    let until = Instant::now() + SEEN + Duration::from_secs(manifest.grace_seconds);
    let is_there = |(pid, begun): &Process| start(*pid).as_ref() == Some(begun);
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

/// When a process was started; `None` when there is none of that number, or when it has ended and nobody has asked for its
/// end yet.
fn start(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    // The 22nd of all, which is the 20th behind the name.
    (!matches!(state, "Z" | "X")).then(|| fields.nth(18).map(str::to_owned)).flatten()
}
