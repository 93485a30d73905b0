//! Programs whose watch was killed.

use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use slipway_resource::ProviderError;

use crate::disk::Disk;

/// Kills what is left of the process group of a dead watch. Only to be called while nobody holds the lock.
///
/// The number of a process group is not given away again while one of its processes lives, so that what is found in it is
/// ours, unless there is a process of that very number: then all of ours were gone before it came.
pub(super) fn kill(disk: &Disk, folder: &str) -> Result<(), ProviderError> {
    let Some(text) = disk.read_text(&format!("{folder}/pid"))? else { return Ok(()) };
    let Ok(group) = text.trim().parse::<i32>() else { return Ok(()) };
    if group <= 1 || group_of(group).is_some() {
        return Ok(());
    }
    for pid in processes() {
        if group_of(pid) != Some(group) {
            continue;
        }
        let Some(process) = Pid::from_raw(pid) else { continue };
        let Ok(process) = pidfd_open(process, PidfdFlags::empty()) else { continue };
        if group_of(pid) == Some(group) {
            // It may end by itself in this moment.
            let _ = pidfd_send_signal(&process, Signal::KILL);
        }
    }
    Ok(())
}

fn processes() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The process group of a process (proc_pid_stat(5)): the third field behind the name, which may hold anything.
fn group_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(2)?.parse().ok()
}
