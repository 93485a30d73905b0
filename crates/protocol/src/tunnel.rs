//! A provider at the other end of a process's standard input and output, as an agent behind SSH.

use std::process::Stdio;

use slipway_resource::{ErrorClass, ProviderError};
use tokio::process::Command;
use tokio::task::JoinHandle;

use crate::group::Group;
use crate::process::keep_lines;
use crate::{Client, Deadlines, Life};

/// A process that connects to a provider. It is killed when this is dropped.
#[derive(Debug)]
pub struct Tunnel {
    client: Client,
    life: Life,
    keeper: JoinHandle<()>,
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        // The keeper owns the process, which ends with it.
        self.keeper.abort();
    }
}

impl Tunnel {
    /// Starts a process and calls the provider over its standard input and output.
    ///
    /// # Errors
    /// `transient` when it cannot be started, or when its other end does not answer. The message has its
    /// standard error, and [`TunnelError::status`] its exit code.
    pub async fn open(mut command: Command, name: &str, deadlines: Deadlines) -> Result<Self, TunnelError> {
        let failed = |text: String| TunnelError {
            status: None,
            words: Vec::new(),
            error: ProviderError::new(ErrorClass::Transient, text),
        };
        let spawned = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        let program = command.as_std().get_program().display().to_string();
        let mut child =
            spawned.map_err(|error| failed(format!("{name}: {program} cannot be started: {error}")))?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed(format!("{name}: {program} has no standard input and output")));
        };
        let (life, record) = Life::attended(name);
        let (ended, mut end) = tokio::sync::watch::channel(None);
        let named = name.to_owned();
        let group = Group::led_by(&child);
        let keeper = tokio::spawn(async move {
            let _group = group;
            let words = keep_lines(errors, &named, Some(&record));
            let (status, ()) = tokio::join!(child.wait(), words);
            record.ended(match &status {
                Ok(status) => status.to_string(),
                Err(error) => format!("cannot tell how: {error}"),
            });
            // The caller may not wait for the status any more.
            let _ = ended.send(status.ok().and_then(|status| status.code()));
        });
        let opened = Client::over(tokio::io::join(output, input), life.clone(), deadlines).await;
        match opened {
            Ok(client) => Ok(Self { client, life, keeper }),
            Err(error) => {
                // The process ends by itself when the other end refuses. One that does not is killed with the
                // keeper.
                let waited = std::time::Duration::from_secs(5);
                let status = match tokio::time::timeout(waited, end.changed()).await {
                    Ok(Ok(())) => *end.borrow(),
                    _ => None,
                };
                keeper.abort();
                Err(TunnelError { status, words: life.last_words(), error })
            }
        }
    }

    /// The provider at the other end.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Whether the process still runs, and its last output.
    #[must_use]
    pub fn life(&self) -> &Life {
        &self.life
    }
}

/// A tunnel that could not be opened.
#[derive(Clone, Debug)]
pub struct TunnelError {
    /// The exit code of the process, if it ended.
    pub status: Option<i32>,
    /// The last lines of its standard error.
    pub words: Vec<String>,
    /// The error of the connection.
    pub error: ProviderError,
}
