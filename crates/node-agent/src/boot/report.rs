//! Messages of a booting machine: on its console, on standard error (the journal of its unit), and in a
//! status file.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;
use slipway_limits::replace::{self, Readers};

/// Where the status is.
pub const STATUS: &str = "/var/lib/slipway/boot/status.json";

/// The progress of the boot of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// The machine waits for something.
    Waiting,
    /// The machine's plan is being carried out.
    Applying,
    /// An attempt failed, and another one follows.
    Retrying,
    /// The boot stopped, and only a change by the operator lets it continue.
    Refused,
    /// The machine is a node.
    Done,
}

/// The content of the status file.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    phase: Phase,
    message: &'a str,
    /// Since when this is so.
    since: Timestamp,
    cluster: &'a str,
    pool: &'a str,
    node: &'a str,
    /// The digest of the bootstrap document.
    document: &'a str,
    /// Settings of the document that have no effect.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    without_effect: &'a [String],
}

/// The messages of one boot. A message is written once, when it becomes true.
pub struct Report<'a> {
    notice: &'a dyn Fn(&str),
    console: PathBuf,
    status: PathBuf,
    last: Option<(Phase, String)>,
    /// The names of cluster and pool; empty before the document was read.
    pub names: (String, String),
    /// The name of the node; empty before it is known.
    pub node: String,
    /// The digest of the document.
    pub document: String,
    /// Settings of the document that have no effect.
    pub without_effect: Vec<String>,
}

impl<'a> Report<'a> {
    /// Reports on this console and in this file.
    pub fn new(notice: &'a dyn Fn(&str), console: &Path, status: &Path) -> Self {
        Self {
            notice,
            console: console.to_owned(),
            status: status.to_owned(),
            last: None,
            names: Default::default(),
            node: String::new(),
            document: String::new(),
            without_effect: Vec::new(),
        }
    }

    /// Reports the progress. A place that cannot be written to does not stop the boot.
    pub fn say(&mut self, phase: Phase, message: &str) {
        let now = (phase, message.to_owned());
        if self.last.as_ref() == Some(&now) {
            return;
        }
        self.last = Some(now);
        (self.notice)(message);
        if let Err(error) = self.on_console(message) {
            tracing::debug!(%error, "the console is not written to");
        }
        if let Err(error) = self.in_file(phase, message) {
            tracing::warn!(%error, path = %self.status.display(), "the status is not written");
        }
    }

    fn on_console(&self, message: &str) -> std::io::Result<()> {
        use std::os::unix::fs::OpenOptionsExt as _;
        // The console must not hold up the boot when its reader is slow, and must not become the terminal of
        // this process.
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let mut options = std::fs::OpenOptions::new();
        let mut console = options.append(true).custom_flags(flags).open(&self.console)?;
        let message = slipway_limits::text::visible(message);
        console.write_all(format!("slipway: {message}\r\n").as_bytes())
    }

    fn in_file(&self, phase: Phase, message: &str) -> std::io::Result<()> {
        let (cluster, pool) = &self.names;
        let status = Status {
            phase,
            message,
            since: Timestamp::now(),
            cluster,
            pool,
            node: &self.node,
            document: &self.document,
            without_effect: &self.without_effect,
        };
        let mut text = serde_json::to_string_pretty(&status).map_err(std::io::Error::other)?;
        text.push('\n');
        std::fs::create_dir_all(self.status.parent().unwrap_or(Path::new("/")))?;
        replace::write(&self.status, text.as_bytes(), Readers::AsUsual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_written_once_to_console_and_status() {
        let folder = tempfile::tempdir().unwrap();
        let (console, status) = (folder.path().join("console"), folder.path().join("boot/status.json"));
        std::fs::write(&console, "").unwrap();
        let silent = |_: &str| {};
        let mut report = Report::new(&silent, &console, &status);
        report.names = ("a.example.com".to_owned(), "nodes".to_owned());
        report.say(Phase::Waiting, "waits for a network address");
        report.say(Phase::Waiting, "waits for a network address");
        report.say(Phase::Done, "n1 is a node of a.example.com");
        let said = std::fs::read_to_string(&console).unwrap();
        assert_eq!(
            said,
            "slipway: waits for a network address\r\nslipway: n1 is a node of a.example.com\r\n"
        );
        let status: serde_json::Value = serde_json::from_slice(&std::fs::read(&status).unwrap()).unwrap();
        assert_eq!((&status["phase"], &status["pool"]), (&"done".into(), &"nodes".into()));
    }

    #[test]
    fn a_boot_goes_on_without_a_console() {
        let folder = tempfile::tempdir().unwrap();
        let status = folder.path().join("status.json");
        let none = folder.path().join("none");
        Report::new(&|_: &str| {}, &none, &status).say(Phase::Applying, "is applied");
        assert!(status.exists() && !none.exists());
    }
}
