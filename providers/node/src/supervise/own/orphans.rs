//! Programs whose watch was killed.

use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use slipway_resource::ProviderError;

use crate::disk::Disk;
use crate::error::permanent;
use crate::process;

/// How long a killed process may take to end: the kernel ends it in milliseconds, unless a disk does not answer.
const END: Duration = Duration::from_secs(10);

/// How long to wait before looking at a killed process again.
const PAUSE: Duration = Duration::from_millis(5);

/// Kills the remaining processes in the process group of a dead watch, and waits for their end. Only to be
/// called while the lock of the service is free.
///
/// # Errors
/// When a file cannot be read, or a process does not end.
pub(super) fn kill(disk: &Disk, folder: &str) -> Result<(), ProviderError> {
    let file = format!("{folder}/pid");
    let Some(text) = disk.read_text(&file)? else { return Ok(()) };
    let Ok(group) = text.trim().parse::<u32>() else { return Ok(()) };
    if group <= 1 || is_reused(disk, &file, group)? {
        return Ok(());
    }
    let members: Vec<u32> =
        process::all().filter(|pid| *pid != group && process::group(*pid) == Some(group)).collect();
    for pid in &members {
        let Some(handle) = i32::try_from(*pid).ok().and_then(Pid::from_raw) else { continue };
        let Ok(handle) = pidfd_open(handle, PidfdFlags::empty()) else { continue };
        if process::group(*pid) == Some(group) {
            // The process may end by itself in this moment.
            let _ = pidfd_send_signal(&handle, Signal::KILL);
        }
    }
    let begun = Instant::now();
    while let Some(pid) = members.iter().find(|pid| lives(**pid, group)) {
        if begun.elapsed() > END {
            return Err(permanent(format!("process {pid} of {folder} does not end, although it was killed")));
        }
        sleep(PAUSE);
    }
    Ok(())
}

/// Whether another process got the number of the watch. Then no process of the watch's group is left: the kernel does not
/// reuse the number of a process group that has members.
///
/// The watch itself may still exist as a process that has ended and that its parent has not waited for.
fn is_reused(disk: &Disk, file: &str, group: u32) -> Result<bool, ProviderError> {
    if process::start(group).is_some() {
        return Ok(true);
    }
    let Some(started) = process::started_after(group) else { return Ok(false) };
    let written = std::fs::metadata(disk.target(file)?).and_then(|metadata| metadata.modified());
    Ok(written.is_ok_and(|written| SystemTime::UNIX_EPOCH + started > written))
}

fn lives(pid: u32, group: u32) -> bool {
    process::start(pid).is_some() && process::group(pid) == Some(group)
}
