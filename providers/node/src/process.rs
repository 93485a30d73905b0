//! Processes of this machine, as `/proc` has them (proc_pid_stat(5)).

use std::fs;
use std::time::Duration;

use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, Timespec, clock_gettime};
use serde::{Deserialize, Serialize};

/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;

/// The identity of a process. Numbers of processes are used again, also after a restart of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Process {
    /// The id of the machine's boot.
    boot: String,
    pid: u32,
    /// When it was started, in ticks since the boot.
    started: u64,
}

impl Process {
    /// The process that has a number now; none when it has ended.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(Self { boot: boot.trim().to_owned(), pid, started: start(pid)? })
    }

    /// The last moment at which it may have been started, in nanoseconds of the wall clock. A file that was
    /// not changed later has the content that the process has read.
    pub(crate) fn started_before(&self) -> i64 {
        wall_clock(self.started.saturating_add(1))
    }
}

/// The moment that is this many ticks after the start of the machine, in nanoseconds of the clock on the wall.
fn wall_clock(ticks: u64) -> i64 {
    let tick = SECOND / i64::try_from(clock_ticks_per_second().max(1)).unwrap_or(SECOND);
    let since_boot = i64::try_from(ticks).unwrap_or(i64::MAX).saturating_mul(tick);
    let age = nanoseconds(&clock_gettime(ClockId::Boottime)).saturating_sub(since_boot);
    nanoseconds(&clock_gettime(ClockId::Realtime)).saturating_sub(age)
}

fn nanoseconds(time: &Timespec) -> i64 {
    time.tv_sec.saturating_mul(SECOND).saturating_add(time.tv_nsec)
}

/// When a process was started, in ticks; `None` when there is no process with that number, or when it is a
/// zombie.
pub(crate) fn start(pid: u32) -> Option<u64> {
    let fields = fields(pid)?;
    let is_gone = fields.first().is_none_or(|state| matches!(state.as_str(), "Z" | "X"));
    // The 22nd field of all, which is the 20th after the name.
    if is_gone { None } else { fields.get(19)?.parse().ok() }
}

/// The first moment at which the process may have been started, since 1970; also for a zombie. `None` when
/// there is no process with that number.
pub(crate) fn started_after(pid: u32) -> Option<Duration> {
    let started = wall_clock(fields(pid)?.get(19)?.parse().ok()?);
    u64::try_from(started).ok().map(Duration::from_nanos)
}

/// The process group of a process.
pub(crate) fn group(pid: u32) -> Option<u32> {
    fields(pid)?.get(2)?.parse().ok()
}

/// The numbers of all processes.
pub(crate) fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The fields behind the name, which may hold anything.
fn fields(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_process_is_known_again_until_it_ends() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process::of(child.id()).unwrap();
        let started = u64::try_from(process.started_before()).unwrap();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let started = Duration::from_nanos(started);
        assert!(now + Duration::from_millis(20) > started, "{now:?} {started:?}");
        assert!(now.saturating_sub(started) < Duration::from_secs(60), "{now:?} {started:?}");
        assert_eq!(Process::of(child.id()).as_ref(), Some(&process));
        assert_ne!(Process::of(std::process::id()).as_ref(), Some(&process));
        assert!(all().any(|pid| pid == child.id()));
        assert_eq!(group(child.id()), group(std::process::id()));
        child.kill().unwrap();
        while start(child.id()).is_some() {
            std::thread::yield_now();
        }
        assert_eq!(Process::of(child.id()), None, "nobody has asked for its end yet");
        child.wait().unwrap();
    }
}
