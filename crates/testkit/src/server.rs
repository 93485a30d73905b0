//! A server for a test.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// Runs the following command until standard input ends, which happens when the starting process ends for any
/// reason.
const UNTIL_STDIN_ENDS: &str = r#"exec 3<&0
"$@" </dev/null 3<&- &
server=$!
exec >/dev/null 2>&1
cat <&3 >/dev/null
kill -KILL $server
wait $server"#;

/// Number of last lines that are kept for a message.
const KEPT: usize = 40;

/// Timeout until a server listens. Machines of continuous integration are slow at times.
const PATIENCE: Duration = Duration::from_secs(60);

type Lines = Arc<Mutex<VecDeque<String>>>;

/// A running server. It ends when the value is dropped.
#[derive(Debug)]
pub struct Server {
    guard: Child,
    port: u16,
    lines: Lines,
}

impl Server {
    /// Starts a server that prints `http://127.0.0.1:<port>` on one of its outputs when it listens.
    ///
    /// # Errors
    /// When it cannot be started, or ends or prints no such line within a minute; with its output.
    pub fn start(command: &Command) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut guard = Command::new("sh");
        guard.args(["-c", UNTIL_STDIN_ENDS, "sh"]).arg(command.get_program()).args(command.get_args());
        for (key, value) in command.get_envs() {
            match value {
                Some(value) => guard.env(key, value),
                None => guard.env_remove(key),
            };
        }
        if let Some(directory) = command.get_current_dir() {
            guard.current_dir(directory);
        }
        guard.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut guard = guard.spawn().with_context(|| format!("{name} cannot be started"))?;
        let lines = Lines::default();
        let (found, ports) = mpsc::channel();
        if let (Some(out), Some(err)) = (guard.stdout.take(), guard.stderr.take()) {
            follow(out, lines.clone(), found.clone());
            follow(err, lines.clone(), found);
        }
        let mut server = Self { guard, port: 0, lines };
        let until = Instant::now() + PATIENCE;
        match ports.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(port) => server.port = port,
            Err(RecvTimeoutError::Timeout) => bail!("{name} does not listen yet:\n{}", server.log()),
            Err(RecvTimeoutError::Disconnected) => bail!("{name} ended:\n{}", server.log()),
        }
        Ok(server)
    }

    /// The port on the loopback interface.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address: `http://127.0.0.1:<port>`.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Its last output, for messages.
    #[must_use]
    pub fn log(&self) -> String {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

/// Reads an output to its end, so that its writer never blocks, and searches it for the port.
fn follow(output: impl Read + Send + 'static, lines: Lines, found: Sender<u16>) {
    thread::spawn(move || {
        let mut found = Some(found);
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            let port = port_in(&line);
            {
                // Before the port is sent: a caller that knows the port finds its line in the log.
                let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
                lines.push_back(line);
                if lines.len() > KEPT {
                    lines.pop_front();
                }
            }
            if let Some(port) = port
                && let Some(found) = found.take()
            {
                // For a second line the receiver is already dropped.
                let _ = found.send(port);
            }
        }
    });
}

fn port_in(line: &str) -> Option<u16> {
    let (_, rest) = line.split_once("http://127.0.0.1:")?;
    let digits = rest.split(|character: char| !character.is_ascii_digit()).next()?;
    digits.parse().ok().filter(|port| *port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_found_in_what_servers_say() {
        assert_eq!(port_in("Blob service listens on http://127.0.0.1:40123"), Some(40123));
        assert_eq!(port_in(r#"msg="started at http://127.0.0.1:40124/""#), Some(40124));
        assert_eq!(port_in("listening on http://127.0.0.1:0"), None);
        assert_eq!(port_in("http://0.0.0.0:80"), None);
    }

    #[test]
    fn a_server_ends_with_its_value() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo pid $$ http://127.0.0.1:9; exec sleep 1000"]);
        let server = Server::start(&command).unwrap();
        let log = server.log();
        let pid: u32 = log.split_whitespace().nth(1).unwrap().parse().unwrap();
        let is_there = || std::path::Path::new(&format!("/proc/{pid}/stat")).exists();
        assert!(is_there());
        drop(server);
        assert!(!is_there());
    }

    #[test]
    fn a_server_that_ends_at_once_is_told_with_its_last_words() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo no such port >&2; exit 3"]);
        let error = Server::start(&command).unwrap_err().to_string();
        assert!(error.contains("no such port"), "{error}");
    }
}
