//! Slipway's own watch over services, on nodes without an init system: a shell that restarts the program
//! whenever it ends, as `Restart=always` does.
//!
//! A watch is found by a lock that the shell holds as long as it runs. A process number would not do, since
//! another process may have it later. The lock is taken before the shell is started and passed to it, so that
//! there is never a second watch.

mod orphans;

use std::fs::{File, OpenOptions};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use slipway_resource::{ErrorClass, ProviderError};
use tokio::time::Instant;

use super::{Definition, State};
use crate::disk::Disk;
use crate::error::{invalid, of_path, permanent, transient};
use crate::host::Host;
use crate::kind::Work;
use crate::program;

/// Where the lock, the numbers of processes and the logs are.
const STATE: &str = "/var/lib/slipway/services";
const LOGS: &str = "/var/log/slipway";

/// A log that is longer when the service starts gives way to a new one.
const LONGEST_LOG: u64 = 16 << 20;

/// How long a service may take to end before it is killed.
const GRACE: Duration = Duration::from_secs(30);

/// The watch. Its arguments: the folder of its state, then the program and its arguments. Its standard input is the lock.
const WATCH: &str = include_str!("own/watch.sh");

fn folder(name: &str) -> String {
    format!("{STATE}/{name}")
}

/// The process of the watch; `None` when there is none.
fn watcher(disk: &Disk, name: &str) -> Result<Option<Watcher>, ProviderError> {
    let path = format!("{}/lock", folder(name));
    if disk.status(&path)?.is_none() {
        return Ok(None);
    }
    let lock = open_lock(disk, name)?;
    if flock(&lock, FlockOperation::NonBlockingLockShared).is_ok() {
        return Ok(None);
    }
    let number = |file: &str| {
        let text = disk.read_text(&format!("{}/{file}", folder(name))).ok().flatten();
        text.and_then(|text| text.trim().parse::<i32>().ok()).filter(|number| *number > 1)
    };
    Ok(Some(Watcher { pid: number("pid"), child: number("child") }))
}

struct Watcher {
    /// The shell; not known in the first moment of its life.
    pid: Option<i32>,
    /// The process of the watched program.
    child: Option<i32>,
}

fn open_lock(disk: &Disk, name: &str) -> Result<File, ProviderError> {
    let place = disk.target(&format!("{}/lock", folder(name)))?;
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&place)
        .map_err(|error| of_path(&place, "open", &error))
}

pub(super) fn state(host: &Host, name: &str) -> Result<Option<State>, ProviderError> {
    let Some(watcher) = watcher(&host.disk, name)? else { return Ok(None) };
    let pid = watcher.child.and_then(|child| u32::try_from(child).ok());
    Ok(Some(State { running: true, enabled: true, unit: None, pid }))
}

pub(super) async fn start(work: &Work, definition: &Definition) -> Result<(), ProviderError> {
    let Some((program, arguments)) = definition.command.split_first() else {
        let text = format!("{}: without an init system a service needs its command", work.identity());
        return Err(invalid(text));
    };
    let host = work.host();
    let program = match program.contains('/') {
        true => PathBuf::from(program),
        false => {
            program::find(host, program).ok_or_else(|| permanent(format!("there is no program {program}")))?
        }
    };
    let shell = program::find(host, "sh").ok_or_else(|| permanent("there is no sh on this node"))?;
    let (arguments, environment) = (arguments.to_vec(), definition.environment.clone());
    let path = host.config.path.clone();
    work.blocking(move |work| {
        let disk = &work.host().disk;
        let folder = folder(work.identity());
        disk.make_directory(&folder, crate::disk::Access::mode(0o700))?;
        let lock = open_lock(disk, work.identity())?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(());
        }
        // The lock was free: the watch has ended, and its program may still run.
        orphans::kill(disk, &folder)?;
        disk.remove(&format!("{folder}/pid"))?;
        disk.remove(&format!("{folder}/child"))?;
        let log = open_log(disk, work.identity())?;
        let copy = log.try_clone().map_err(|error| transient(format!("the log: {error}")))?;
        let mut command = Command::new(&shell);
        command
            .args(["-c", WATCH, "slipway-watch"])
            .arg(disk.target(&folder)?)
            .arg(&program)
            .args(&arguments)
            .env_clear()
            .env(
                "PATH",
                if path.is_empty() {
                    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
                } else {
                    &path
                },
            )
            .env("HOME", "/root")
            .envs(&environment)
            .current_dir("/")
            .stdin(Stdio::from(lock))
            .stdout(Stdio::from(log))
            .stderr(Stdio::from(copy));
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        disk.at("start service");
        let mut watch = command.spawn().map_err(|error| of_path(&shell, "start", &error))?;
        // The watch may outlive this process; while this process lives, it must wait for the watch's end.
        std::thread::spawn(move || watch.wait());
        Ok(())
    })
    .await
}

fn open_log(disk: &Disk, name: &str) -> Result<File, ProviderError> {
    disk.make_directory(LOGS, crate::disk::Access::mode(0o755))?;
    let place = disk.target(&format!("{LOGS}/{name}.log"))?;
    if std::fs::metadata(&place).is_ok_and(|log| log.len() > LONGEST_LOG) {
        let older = place.with_extension("log.1");
        std::fs::rename(&place, &older).map_err(|error| of_path(&place, "put aside", &error))?;
    }
    let log = OpenOptions::new().append(true).create(true).open(&place);
    log.map_err(|error| of_path(&place, "open", &error))
}

/// The end of a service's log.
pub(super) fn said(host: &Host, name: &str) -> Option<String> {
    let text = host.disk.read_text(&format!("{LOGS}/{name}.log")).ok()??;
    let lines: Vec<&str> = text.lines().collect();
    Some(lines.get(lines.len().saturating_sub(60)..).unwrap_or_default().join("\n"))
}

pub(super) async fn stop(work: &Work) -> Result<(), ProviderError> {
    let begun = Instant::now();
    let mut asked = false;
    loop {
        let Some(watcher) = watcher(&work.host().disk, work.identity())? else {
            let folder = folder(work.identity());
            return work.blocking(move |work| orphans::kill(&work.host().disk, &folder)).await;
        };
        let pid = watcher.pid.and_then(Pid::from_raw);
        if let Some(pid) = pid
            && (!asked || begun.elapsed() > GRACE)
        {
            let signal = if asked { Signal::KILL } else { Signal::TERM };
            signal_watcher(work, pid, signal)?;
            asked = true;
        }
        if begun.elapsed() > GRACE * 2 {
            let text = format!("{} does not end, not even when it is killed", work.identity());
            return Err(ProviderError::new(ErrorClass::Permanent, text));
        }
        work.pause(Duration::from_millis(25)).await?;
    }
}

/// Sends a signal to the watch, if the handle still is its process and not a later one with the same number.
fn signal_watcher(work: &Work, pid: Pid, signal: Signal) -> Result<(), ProviderError> {
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return Ok(()) };
    let now = watcher(&work.host().disk, work.identity())?;
    if now.and_then(|watcher| watcher.pid) != Some(pid.as_raw_nonzero().get()) {
        return Ok(());
    }
    work.host().disk.at("signal service");
    match pidfd_send_signal(&process, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(permanent(format!("{} cannot be stopped: {error}", work.identity()))),
    }
}

/// Ends the program of another service; its watch starts it again.
pub(super) fn bounce(work: &Work, name: &str) -> Result<(), ProviderError> {
    let child = |disk: &Disk| Ok::<_, ProviderError>(watcher(disk, name)?.and_then(|watcher| watcher.child));
    let Some(pid) = child(&work.host().disk)? else { return Ok(()) };
    let Some(handle) = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
        return Ok(());
    };
    if child(&work.host().disk)? == Some(pid) {
        // A program that has just ended is restarted all the same.
        let _ = pidfd_send_signal(&handle, Signal::TERM);
    }
    Ok(())
}

pub(super) fn forget(work: &Work) -> Result<(), ProviderError> {
    crate::purge::folder(&work.host().disk, &folder(work.identity()))
}
