//! Programs whose watch was killed.

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use slipway_resource::ProviderError;

use crate::disk::Disk;
use crate::process;

/// Kills what is left of the process group of a dead watch. Only to be called while nobody holds the lock.
///
/// The number of a process group is not given away again while one of its processes lives, so that what is found in it is
/// ours, unless there is a process of that very number: then all of ours were gone before it came.
pub(super) fn kill(disk: &Disk, folder: &str) -> Result<(), ProviderError> {
    let Some(text) = disk.read_text(&format!("{folder}/pid"))? else { return Ok(()) };
    let Ok(group) = text.trim().parse::<u32>() else { return Ok(()) };
    if group <= 1 || process::group(group).is_some() {
        return Ok(());
    }
    for pid in process::all().filter(|pid| process::group(*pid) == Some(group)) {
        let Some(handle) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { continue };
        let Ok(handle) = pidfd_open(handle, PidfdFlags::empty()) else { continue };
        if process::group(pid) == Some(group) {
            // It may end by itself in this moment.
            let _ = pidfd_send_signal(&handle, Signal::KILL);
        }
    }
    Ok(())
}
