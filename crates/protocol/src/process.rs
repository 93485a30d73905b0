//! The process of a provider: its start, announcement, supervision and end.
//!
//! The process ends when its standard input closes, which happens however the engine ends. It has a separate
//! process group, so that an interrupt on the terminal reaches only the engine. When the provider ends, the
//! processes that it has started are killed.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use slipway_trust::ProcessEnvironment;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::group::Group;
use crate::handshake::{ANNOUNCEMENT_BYTES, Announcement, DIRECTORY, NONCE};
use crate::life::Record;
use crate::{Error, Life};

/// The longest path that a unix socket can have on every system, in bytes.
const SOCKET_PATH: usize = 103;

/// How long to wait for the last output of a dead process.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The command of a provider's process.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The provider's name; the process must announce the same.
    pub name: String,
    /// The executable.
    pub executable: PathBuf,
    /// Its arguments; none in production.
    pub arguments: Vec<OsString>,
    /// The part of this process's environment that it gets.
    pub environment: ProcessEnvironment,
    /// Further variables; none in production.
    pub variables: Vec<(OsString, OsString)>,
    /// Timeout of the announcement.
    pub timeout: Duration,
    /// Timeout of the end, after its standard input has closed.
    pub grace: Duration,
}

impl Launch {
    /// Starts an executable without arguments: ten seconds to announce itself, fifteen to end.
    #[must_use]
    pub fn new(name: &str, executable: &Path) -> Self {
        Self {
            name: name.to_owned(),
            executable: executable.to_owned(),
            arguments: Vec::new(),
            environment: ProcessEnvironment::default(),
            variables: Vec::new(),
            timeout: Duration::from_secs(10),
            grace: Duration::from_secs(15),
        }
    }
}

/// A running provider. Dropping it kills the process and those that it has started; [`Process::end`] lets it finish.
#[derive(Debug)]
pub struct Process {
    announcement: Announcement,
    life: Life,
    grace: Duration,
    stdin: Option<ChildStdin>,
    kill: Option<oneshot::Sender<()>>,
    keeper: JoinHandle<()>,
    /// Removed with the socket in it.
    _directory: TempDir,
}

impl Process {
    /// Starts a process and waits until it has announced itself.
    ///
    /// # Errors
    /// When it cannot be started, or its announcement is missing or invalid.
    pub async fn start(launch: &Launch) -> Result<Self, Error> {
        let start_error = |source| Error::Start {
            provider: launch.name.clone(),
            executable: launch.executable.clone(),
            source,
        };
        let directory = private_directory().map_err(start_error)?;
        let nonce = nonce().map_err(start_error)?;
        let mut child = Command::new(&launch.executable)
            .args(&launch.arguments)
            // A provider gets neither the keys of the state nor variables that it does not declare.
            .env_clear()
            .envs(launch.environment.of_this_process())
            .envs(launch.variables.iter().map(|(name, value)| (name, value)))
            .env(NONCE, &nonce)
            .env(DIRECTORY, directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(start_error)?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        let (life, record) = Life::attended(&launch.name);
        let (kill, killed) = oneshot::channel();
        let (first, line) = oneshot::channel();
        let name = launch.name.clone();
        let keeper = tokio::spawn(async move {
            let errors = async {
                if let Some(stderr) = stderr {
                    keep_lines(stderr, &name, Some(&record)).await;
                }
            };
            let output = async {
                if let Some(stdout) = stdout {
                    let mut stdout = BufReader::new(stdout);
                    // The caller may have given up.
                    let _ = first.send(first_line(&mut stdout).await);
                    keep_lines(stdout, &name, None).await;
                }
            };
            keep(child, killed, errors, output, &record).await;
        });
        match announced(launch, &life, line)
            .await
            .and_then(|line| Announcement::parse(&line, &launch.name, &nonce, directory.path()))
        {
            Ok(announcement) => Ok(Self {
                announcement,
                life,
                grace: launch.grace,
                stdin,
                kill: Some(kill),
                keeper,
                _directory: directory,
            }),
            Err(error) => {
                // The keeper may have ended already, or failed; then the process is dead, too.
                let _ = kill.send(());
                let _ = keeper.await;
                Err(error)
            }
        }
    }

    /// The announcement of the process.
    #[must_use]
    pub fn announcement(&self) -> &Announcement {
        &self.announcement
    }

    /// Whether it still runs, and its last output.
    #[must_use]
    pub fn life(&self) -> &Life {
        &self.life
    }

    /// Closes its standard input and waits for its end; kills it after the timeout.
    ///
    /// Returns whether it ended by itself.
    pub async fn end(mut self) -> bool {
        drop(self.stdin.take());
        let ended = tokio::time::timeout(self.grace, &mut self.keeper).await.is_ok();
        if !ended {
            self.kill().await;
        }
        ended
    }

    /// Kills it and waits for its end.
    pub async fn kill(&mut self) {
        if let Some(kill) = self.kill.take() {
            // The keeper may have ended already.
            let _ = kill.send(());
        }
        // A keeper that failed has dropped the process, which kills it.
        if !self.keeper.is_finished() {
            let _ = (&mut self.keeper).await;
        }
    }
}

async fn announced(
    launch: &Launch,
    life: &Life,
    line: oneshot::Receiver<std::io::Result<String>>,
) -> Result<String, Error> {
    let refused = |reason: String| Error::Handshake { provider: launch.name.clone(), reason };
    match tokio::time::timeout(launch.timeout, line).await {
        Ok(Ok(Ok(line))) if !line.is_empty() => Ok(line),
        Ok(Ok(Err(error))) => Err(refused(error.to_string())),
        Ok(_) => {
            let end = life.obituary(Duration::from_secs(2)).await;
            let silent = || "it closed its standard output without an announcement".to_owned();
            Err(refused(end.unwrap_or_else(silent)))
        }
        Err(_) => Err(refused(format!("no announcement within {} s", launch.timeout.as_secs()))),
    }
}

/// Waits for the end of a process, and records it after its last output.
async fn keep(
    mut child: Child,
    killed: oneshot::Receiver<()>,
    errors: impl Future<Output = ()>,
    output: impl Future<Output = ()>,
    record: &Record,
) {
    let group = Group::led_by(&child);
    let streams = async { tokio::join!(errors, output) };
    tokio::pin!(streams, killed);
    let mut streaming = true;
    let mut may_be_killed = true;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            _ = &mut streams, if streaming => streaming = false,
            // Kill was requested, or the sender was dropped.
            _ = &mut killed, if may_be_killed => {
                may_be_killed = false;
                group.kill();
            }
        }
    };
    // A process that the child started may keep the streams open; this kills it.
    drop(group);
    if streaming && tokio::time::timeout(LAST_WORDS, &mut streams).await.is_err() {
        tracing::debug!("the streams of a dead provider stay open");
    }
    record.ended(match status {
        Ok(status) => status.to_string(),
        Err(error) => format!("cannot tell how: {error}"),
    });
}

async fn first_line(output: &mut (impl AsyncBufReadExt + Unpin)) -> std::io::Result<String> {
    let mut line = Vec::new();
    let limit = u64::try_from(ANNOUNCEMENT_BYTES).unwrap_or(u64::MAX);
    output.take(limit).read_until(b'\n', &mut line).await?;
    if line.len() == ANNOUNCEMENT_BYTES && !line.ends_with(b"\n") {
        return Err(std::io::Error::other(format!(
            "its announcement is longer than {ANNOUNCEMENT_BYTES} bytes"
        )));
    }
    String::from_utf8(line).map_err(std::io::Error::other)
}

/// Reads a stream to its end, so that its writer never blocks. Endless lines are cut.
pub(crate) async fn keep_lines(stream: impl AsyncRead + Unpin, provider: &str, record: Option<&Record>) {
    const LINE: u64 = 16 << 10;
    let mut stream = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        match (&mut stream).take(LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        tracing::debug!(provider, "{text}");
        if let Some(record) = record {
            record.line(text);
        }
    }
}

/// A directory that no other user may enter, with a path short enough for a socket in it.
fn private_directory() -> std::io::Result<TempDir> {
    use std::os::unix::fs::PermissionsExt;

    let parent = std::env::temp_dir();
    let parent = if parent.as_os_str().len() + "/slipway-000000/provider.sock".len() > SOCKET_PATH {
        PathBuf::from("/tmp")
    } else {
        parent
    };
    tempfile::Builder::new()
        .prefix("slipway-")
        .permissions(std::fs::Permissions::from_mode(0o700))
        .tempdir_in(parent)
}

fn nonce() -> std::io::Result<String> {
    let mut bytes = [0_u8; 16];
    // From the kernel: the generator of the cryptography library takes 30 ms for its first number.
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(slipway_resource::hexadecimal(&bytes))
}
