//! Identifies the process that holds a cluster, and checks whether a process of this host is still alive.

use std::fs;

use serde::{Deserialize, Serialize};

/// A process, identified among all processes of all hosts and times as far as the system allows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// The name of the host, for messages.
    pub host: String,
    /// Identifies one boot of one kernel (`/proc/sys/kernel/random/boot_id`); empty where the system has no
    /// such id.
    pub boot: String,
    /// The namespace of the process id (`/proc/self/ns/pid`): each container of a host has its own.
    pub namespace: String,
    /// The process id.
    pub pid: u32,
    /// The start time of the process, in clock ticks since boot: ids are reused, pairs of id and time are
    /// not.
    pub started: u64,
}

/// The name of this host. Opens no file.
pub fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

impl Process {
    /// This process.
    pub fn current() -> Self {
        let pid = std::process::id();
        Self {
            host: host(),
            boot: read_trimmed("/proc/sys/kernel/random/boot_id"),
            namespace: namespace(),
            pid,
            started: status(pid).map_or(0, |status| status.started),
        }
    }

    /// Whether this is certainly a dead process of the running system. In doubt the answer is "no": another
    /// host, another boot, another container, a system without `/proc`.
    pub fn is_surely_dead(&self) -> bool {
        self.is_dead_as_seen_by(&Self::current())
    }

    fn is_dead_as_seen_by(&self, here: &Self) -> bool {
        let same_system = !self.boot.is_empty()
            && !self.namespace.is_empty()
            && self.host == here.host
            && self.boot == here.boot
            && self.namespace == here.namespace;
        if !same_system || self.started == 0 {
            return false;
        }
        match status(self.pid) {
            Some(status) => status.started != self.started || status.is_zombie,
            // `/proc` may hide processes of other users; a signal that is never sent sees them.
            None => !exists(self.pid),
        }
    }
}

/// The operator and the operation of a writer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The person or the robot, as `user@host` in messages.
    pub who: String,
    /// The operation: `apply`, `delete`, …
    pub operation: String,
    /// The process.
    pub process: Process,
}

impl Identity {
    /// This process, for `user` and `operation`.
    pub fn current(user: &str, operation: impl Into<String>) -> Self {
        let process = Process::current();
        Self { who: format!("{user}@{}", process.host), operation: operation.into(), process }
    }
}

struct Status {
    started: u64,
    is_zombie: bool,
}

/// Fields of `/proc/<pid>/stat` (proc_pid_stat(5)): the state is the 3rd, the number of threads the 20th, the
/// start time the 22nd. The 2nd is in parentheses and may contain any characters.
fn status(pid: u32) -> Option<Status> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let state = *fields.first()?;
    let threads: u64 = fields.get(17)?.parse().ok()?;
    let started = fields.get(19)?.parse().ok()?;
    // A killed process whose parent has not yet waited for it. With more threads only the first one has
    // ended.
    Some(Status { started, is_zombie: matches!(state, "Z" | "X" | "x") && threads <= 1 })
}

fn exists(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return true;
    };
    rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
}

fn namespace() -> String {
    fs::read_link("/proc/self/ns/pid").map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
}

fn read_trimmed(path: &str) -> String {
    fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_that_is_surely_gone_is_dead() {
        let here = Process::current();
        assert!(here.started > 0 && !here.boot.is_empty() && !here.namespace.is_empty(), "{here:?}");
        assert!(!here.is_surely_dead());
        assert!(
            Process { started: here.started + 1, ..here.clone() }.is_surely_dead(),
            "the id was used again"
        );

        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let started = status(child.id()).unwrap().started;
        let process = Process { pid: child.id(), started, ..here.clone() };
        assert!(!process.is_surely_dead());
        child.kill().unwrap();
        while !process.is_surely_dead() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(process.is_surely_dead());

        for doubtful in [
            Process { host: "elsewhere".into(), ..process.clone() },
            Process { boot: "earlier".into(), ..process.clone() },
            Process { boot: String::new(), ..process.clone() },
            Process { namespace: "pid:[1]".into(), ..process.clone() },
            Process { started: 0, ..process.clone() },
        ] {
            assert!(!doubtful.is_surely_dead(), "{doubtful:?}");
        }
    }
}
