//! The state of a provider's process, and its last output.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use slipway_limits::{size, text::shorten};
use tokio::sync::watch;

const LINES: usize = 20;

/// The facts about a provider's process for error messages.
#[derive(Clone, Debug)]
pub struct Life {
    name: Arc<str>,
    ended: watch::Receiver<Option<String>>,
    stderr: Arc<Mutex<VecDeque<String>>>,
}

/// The writing end of a [`Life`], for the task that keeps the process.
#[derive(Debug)]
pub(crate) struct Record {
    ended: watch::Sender<Option<String>>,
    stderr: Arc<Mutex<VecDeque<String>>>,
}

impl Life {
    /// The life of a provider whose process is not kept by this one.
    #[must_use]
    pub fn unattended(name: &str) -> Self {
        Self::attended(name).0
    }

    pub(crate) fn attended(name: &str) -> (Self, Record) {
        let (sender, receiver) = watch::channel(None);
        let stderr = Arc::new(Mutex::new(VecDeque::new()));
        let record = Record { ended: sender, stderr: Arc::clone(&stderr) };
        let life = Self { name: name.into(), ended: receiver, stderr };
        (life, record)
    }

    /// The provider's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How the process ended, as `signal: 9 (SIGKILL)`; `None` while it runs.
    #[must_use]
    pub fn ended(&self) -> Option<String> {
        self.ended.borrow().clone()
    }

    /// The last lines that it wrote to its standard error, oldest first.
    #[must_use]
    pub fn last_words(&self) -> Vec<String> {
        let lines = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }

    /// Waits until the end is noticed, at most `patience`.
    pub(crate) async fn obituary(&self, patience: Duration) -> Option<String> {
        tokio::time::timeout(patience, self.wait_for_end()).await.ok()?
    }

    /// Waits until the process has ended. Returns how it ended, with its last output; `None` if no task
    /// watches the process.
    pub async fn wait_for_end(&self) -> Option<String> {
        let mut ended = self.ended.clone();
        let how = ended.wait_for(Option::is_some).await.ok()?.clone()?;
        let mut text = format!("provider {} ended ({how})", self.name);
        let words = self.last_words();
        if !words.is_empty() {
            text.push_str("; it last wrote:");
            for line in words {
                text.push_str("\n  ");
                text.push_str(&line);
            }
        }
        Some(text)
    }
}

impl Record {
    pub(crate) fn line(&self, line: &str) {
        let line = shorten(line, size::MESSAGE);
        let mut lines = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(line.into_owned());
    }

    pub(crate) fn ended(&self, how: String) {
        self.ended.send_replace(Some(how));
    }
}
