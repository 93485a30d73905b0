//! A process of a test's own that writes its log to a file.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// Runs the command that follows until standard input ends, which it does when the starting process is gone,
/// whatever it died of. The first argument is its log.
const UNTIL_STDIN_ENDS: &str = r#"trap '' INT HUP
log=$1
shift
exec 3<&0
"$@" </dev/null 3<&- >>"$log" 2>&1 &
process=$!
echo $process
exec >/dev/null 2>&1
cat <&3 >/dev/null
kill -KILL $process
wait $process"#;

/// Maximum length of the end of a log in a message.
const REPORTED: usize = 2000;

/// A running process. It is killed with its value.
#[derive(Debug)]
pub struct Process {
    guard: Child,
    id: u32,
    name: String,
    log: PathBuf,
}

impl Process {
    /// Starts a command; its output is appended to the file.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(command: &Command, log: &Path) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut guard = Command::new("sh");
        guard
            .args(["-c", UNTIL_STDIN_ENDS, "sh"])
            .arg(log)
            .arg(command.get_program())
            .args(command.get_args());
        // As machines have it: the programs of Go collect less often.
        guard.env("GOGC", "400");
        for (key, value) in command.get_envs() {
            match value {
                Some(value) => guard.env(key, value),
                None => guard.env_remove(key),
            };
        }
        guard.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut guard = guard.spawn().with_context(|| format!("{name} cannot be started"))?;
        let mut line = String::new();
        if let Some(said) = guard.stdout.take() {
            BufReader::new(said).read_line(&mut line)?;
        }
        let id = line.trim().parse().with_context(|| format!("{name} cannot be started"))?;
        Ok(Self { guard, id, name, log: log.to_owned() })
    }

    /// Its number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Whether it runs.
    ///
    /// # Errors
    /// When it has ended, with the end of its log.
    pub fn running(&self) -> Result<()> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id)).unwrap_or_default();
        let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
        if matches!(state, None | Some('Z' | 'X')) {
            bail!("{} ended:\n{}", self.name, self.log());
        }
        Ok(())
    }

    /// The end of its log, for messages.
    #[must_use]
    pub fn log(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(REPORTED)..]).into_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use crate::wait::until;

    #[test]
    fn a_process_ends_with_its_value() {
        let scratch = Scratch::new("process").unwrap();
        let process = Process::start(Command::new("sleep").arg("1000"), &scratch.path().join("log")).unwrap();
        let stat = format!("/proc/{}/stat", process.id());
        process.running().unwrap();
        drop(process);
        assert!(!Path::new(&stat).exists());
    }

    #[test]
    fn a_process_that_ended_is_told_with_its_last_words() {
        let scratch = Scratch::new("process").unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo no such port >&2; exit 3"]);
        let process = Process::start(&command, &scratch.path().join("log")).unwrap();
        until("the process ends", || Ok(process.running().is_err().then_some(()))).unwrap();
        let error = process.running().unwrap_err().to_string();
        assert!(error.contains("no such port"), "{error}");
    }
}
