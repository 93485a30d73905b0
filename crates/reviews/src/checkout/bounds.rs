//! The ends of calls of git that do not end by themselves: git works on trees of others.

use std::io::{self, Read};
use std::process::{Child, ChildStdout, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use slipway_limits::{Exceeded, Size, size};

use crate::error::Error;

/// The longest wait between two looks whether a call has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// Ends calls of git early. Clones belong together.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Ends the calls that run, and those that begin later.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How a call ended.
pub(super) struct Ended<T> {
    pub(super) status: ExitStatus,
    /// What was made of its output.
    pub(super) output: T,
    /// What it printed as errors; nothing if that is too long.
    pub(super) errors: Vec<u8>,
}

/// When a call is ended.
pub(super) struct Bounds<'a> {
    /// The command of git, for messages.
    pub(super) command: &'a str,
    /// The longest time that it may take.
    pub(super) longest: Duration,
    /// Ends it early.
    pub(super) interrupt: &'a Interrupt,
}

impl Bounds<'_> {
    /// Waits for the end of a call, while another thread reads its output. A call that is not read to the end ends too.
    ///
    /// # Errors
    /// When the call took too long or was interrupted. Its process is gone then.
    pub(super) fn end<T: Send>(
        &self,
        mut child: Child,
        read: impl FnOnce(ChildStdout) -> T + Send,
    ) -> Result<Ended<T>, Error> {
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        std::thread::scope(|scope| {
            let output = scope.spawn(move || output.map(read));
            let errors =
                scope.spawn(move || errors.and_then(|errors| within(errors, size::CONFIGURATION).ok()));
            let status = self.status(&mut child);
            // The pipes end with the process, and the threads with the pipes.
            let (output, errors) = (output.join(), errors.join());
            let status = status?;
            match (output, errors) {
                (Ok(Some(output)), Ok(errors)) => {
                    Ok(Ended { status, output, errors: errors.unwrap_or_default() })
                }
                _ => Err(Error::NoGit(io::Error::other("its output was not read"))),
            }
        })
    }

    fn status(&self, child: &mut Child) -> Result<ExitStatus, Error> {
        let begun = Instant::now();
        let mut pause = Duration::from_millis(1);
        let refused = loop {
            if self.interrupt.is_raised() {
                break Error::Interrupted { command: self.command.to_owned() };
            }
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if begun.elapsed() >= self.longest => {
                    break Error::TooSlow { command: self.command.to_owned(), limit: self.longest };
                }
                Ok(None) => {}
                Err(error) => break Error::NoGit(error),
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE);
        };
        // It may have ended in this moment.
        let _ = child.kill();
        let _ = child.wait();
        Err(refused)
    }
}

/// The bytes of a stream.
///
/// # Errors
/// When it cannot be read, or has more than allowed.
pub(super) fn within(stream: impl Read, limit: Size) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(limit.bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit.bytes {
        return Err(Exceeded::TooLarge { limit }.into());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    const SMALL: Size = Size { what: "an answer", bytes: 1_000 };

    /// Runs a command of a shell within bounds, and returns its status and output.
    fn run(
        script: &str,
        longest: Duration,
        interrupt: &Interrupt,
    ) -> Result<Ended<io::Result<Vec<u8>>>, Error> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let bounds = Bounds { command: "merge-tree", longest, interrupt };
        bounds.end(command.spawn().unwrap(), |output| within(output, SMALL))
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_call_is_read_to_its_end() {
        let ended = run("echo out; echo err >&2; exit 3", LONG, &Interrupt::default()).unwrap();
        assert_eq!(ended.status.code(), Some(3));
        assert_eq!(
            (ended.output.unwrap().as_slice(), ended.errors.as_slice()),
            (&b"out\n"[..], &b"err\n"[..])
        );
    }

    #[test]
    fn a_call_that_never_ends_is_ended() {
        let short = Duration::from_millis(50);
        let Err(error) = run("exec sleep 600", short, &Interrupt::default()) else { panic!("it ended") };
        assert!(matches!(error, Error::TooSlow { .. }), "{error}");
        assert_eq!(error.code(), Some("FORGE0013"));

        let interrupt = Interrupt::default();
        let other = interrupt.clone();
        let raise = std::thread::spawn(move || {
            std::thread::sleep(short);
            other.raise();
        });
        let Err(error) = run("exec sleep 600", LONG * 5, &interrupt) else { panic!("it ended") };
        assert!(matches!(error, Error::Interrupted { .. }), "{error}");
        raise.join().unwrap();
    }

    #[test]
    fn a_call_that_prints_without_an_end_is_ended() {
        for script in ["exec cat /dev/zero", "exec cat /dev/zero >&2"] {
            let ended = run(script, LONG, &Interrupt::default()).unwrap();
            assert!(!ended.status.success(), "{script}");
            assert!(ended.output.is_ok_and(|bytes| bytes.is_empty()) == script.ends_with("&2"), "{script}");
            assert!(ended.errors.is_empty(), "{script}");
        }
    }
}
