//! The recorded system calls of a process and its children.

use std::fs;
use std::path::Path;

/// The system calls that are recorded. Those with a question mark do not exist on every machine.
pub const CALLS: &str = "?open,openat,?openat2,?creat,execve,?execveat,connect,bind,sendto,?mkdir,mkdirat,?rename,?renameat,\
renameat2,?unlink,unlinkat,?link,linkat,?symlink,symlinkat,truncate,ftruncate,?chmod,fchmodat,mknodat,?mknod";

/// Files that every process opens for reading: libraries, and the kernel's files for the runtime.
const SYSTEM: [&str; 9] = [
    "/lib/",
    "/lib64/",
    "/usr/lib/",
    "/usr/share/",
    "/etc/ld.so",
    "/proc/self/",
    "/sys/fs/cgroup",
    "/sys/devices/system/cpu",
    "/dev/null",
];

/// A record of system calls.
#[derive(Debug)]
pub struct Record {
    lines: Vec<String>,
}

impl Record {
    pub fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_default();
        Self { lines: text.lines().map(str::to_owned).collect() }
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The names of the programs that were started, without the first, which is the program itself.
    pub fn programs(&self) -> Vec<String> {
        let calls = self.lines.iter().filter_map(|line| line.split_once(' '));
        let started = calls.filter(|(_, call)| call.trim_start().starts_with("execve"));
        let paths = started.skip(1).map(|(_, call)| call.split('"').nth(1).unwrap_or_default());
        paths.map(|path| path.rsplit('/').next().unwrap_or_default().to_owned()).collect()
    }

    /// The connections to other machines.
    pub fn connections(&self) -> Vec<&str> {
        let lines = self.lines.iter().map(String::as_str);
        lines.filter(|line| line.contains("connect(") && line.contains("sa_family=AF_INET")).collect()
    }

    /// The violations of the policy for a plan in this place.
    pub fn problems(&self, place: &Path) -> Vec<String> {
        let place = place.to_str().unwrap();
        let (repo, state) = (format!("{place}/repo"), format!("{place}/state"));
        let mut problems = Vec::new();
        let mut executed = 0;
        for line in &self.lines {
            // `1234 openat(AT_FDCWD, "path", O_RDONLY) = 3`, cut in two where another thread came between.
            let Some((_, call)) = line.split_once(' ') else { continue };
            let call = call.trim_start();
            let Some((name, arguments)) = call.split_once('(') else { continue };
            let path = arguments.split('"').nth(1).unwrap_or_default();
            match name {
                "execve" | "execveat" => {
                    executed += 1;
                    // The first is the program itself.
                    if executed > 1 {
                        problems.push(format!("executed {path}"));
                    }
                }
                "connect" | "bind" | "sendto" => {
                    // A pair of sockets with which a process wakes itself has no address.
                    if name != "sendto" || arguments.contains("sa_family") {
                        problems.push(format!("{name}: {arguments}"));
                    }
                }
                "open" | "openat" | "openat2" => {
                    let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"]
                        .iter()
                        .any(|flag| arguments.contains(flag));
                    if writes && path != "/dev/null" && path != "/dev/tty" {
                        problems.push(format!("opened {path} to write"));
                    }
                    // The kernel follows links, so the target of the name counts.
                    let named = Path::new(&repo).join(path);
                    let real = fs::canonicalize(&named).unwrap_or(named);
                    let is_allowed = real.starts_with(&repo)
                        || real.starts_with(&state)
                        || SYSTEM.iter().any(|system| path.starts_with(system) || real.starts_with(system));
                    if !is_allowed || path.ends_with("/environ") {
                        problems.push(format!("opened {path}"));
                    }
                }
                "resumed>" => {}
                _ => problems.push(format!("{name}: {arguments}")),
            }
        }
        if executed == 0 {
            problems.push("nothing was recorded".to_owned());
        }
        problems
    }
}
