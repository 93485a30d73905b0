//! The loop of a controller: starts jobs when they are due, and takes their results.

mod results;
mod starts;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use jiff::Timestamp;
use slipway_controller::{Health, Metrics as Registry, Served, process_identity, serve};
use slipway_engine::StopSignal;
use slipway_operations::Environment;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::board::Board;
use crate::configuration::Configuration;
use crate::entry::Entry;
use crate::error::Error;
use crate::job::{self, Content, Running};
use crate::members::{Members, Seen};
use crate::metrics::Metrics;
use crate::shared::Shared;
use crate::source::Reader;

/// How many changes of sources wait to be taken.
const CHANGES: usize = 1024;

/// The longest sleep of the loop.
const NAP: Duration = Duration::from_secs(60);

/// A source may have changed, as a webhook says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The name of the source.
    pub source: String,
}

/// Tells a controller from outside that a source may have changed: the place where webhooks are connected. Such a hint only
/// lets the source be read earlier than its interval would; nothing in it is trusted.
#[derive(Clone, Debug)]
pub struct Handle(mpsc::Sender<Changed>);

impl Handle {
    /// Lets a source be read now. A hint that finds the queue full is dropped, since the queue has others.
    pub fn changed(&self, source: impl Into<String>) {
        let _ = self.0.try_send(Changed { source: source.into() });
    }
}

/// A controller. See the crate's documentation.
pub struct Controller {
    shared: Shared,
    /// The identity of this replica.
    me: String,
    since: Timestamp,
    sources: Vec<SourceState>,
    clusters: BTreeMap<String, Entry>,
    board: Board,
    members: Members,
    /// The seen replicas; none while a beat runs.
    seen: Option<Seen>,
    next_beat: Instant,
    /// Until when this replica counts as one that lives, by [`Shared::elapsed`].
    valid_until: Duration,
    recall: Recall,
    /// Why the state store cannot be used now.
    store_problem: Option<String>,
    running: FuturesUnordered<Running>,
    busy: usize,
    changes: mpsc::Receiver<Changed>,
    handle: Handle,
    is_stopping: bool,
    served: Option<Served>,
    served_stop: CancellationToken,
    /// Keeps the data folder for this process.
    _lock: std::fs::File,
}

/// A source as the controller knows it.
struct SourceState {
    /// The reader; none while a job reads the source.
    reader: Option<Reader>,
    place: String,
    content: Option<Content>,
    /// Why the last read failed.
    failed: Option<Error>,
    failures: u32,
    due: Instant,
}

/// Whether the statuses of earlier processes were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recall {
    Due(Instant),
    Runs,
    Done,
}

impl Controller {
    /// Prepares a controller: takes the data folder and the address for metrics and health. Nothing is read or planned yet.
    ///
    /// # Errors
    /// When the environment has no state store, the data folder is used by another process, or the address cannot be used.
    pub async fn new(configuration: Configuration, environment: Environment) -> Result<Self, Error> {
        let (registry, health) = (Registry::default(), Health::default());
        let metrics = Metrics::new(&registry);
        let lock = take_folder(&configuration.data)?;
        let address = configuration.listen;
        let served_stop = CancellationToken::new();
        health.waits("state store", "it was not read yet");
        let served = serve(address, health.clone(), registry, served_stop.clone())
            .await
            .map_err(|source| Error::Listen { address, source })?;
        let shared = Shared::new(configuration, environment, (metrics, health))?;
        let now = Instant::now();
        let source = |source| {
            let reader = Reader::new(source, &shared.configuration.data.join("sources"));
            let place = reader.place();
            SourceState { reader: Some(reader), place, content: None, failed: None, failures: 0, due: now }
        };
        let sources = shared.configuration.sources.iter().map(source).collect();
        let (sender, changes) = mpsc::channel(CHANGES);
        let me = process_identity().map_err(|source| Error::File {
            what: "the identity of the process",
            path: "/dev/urandom".into(),
            source,
        })?;
        Ok(Self {
            shared,
            me,
            since: Timestamp::now(),
            sources,
            clusters: BTreeMap::new(),
            board: Board::default(),
            members: Members::default(),
            seen: Some(Seen::default()),
            next_beat: now,
            valid_until: Duration::ZERO,
            recall: Recall::Due(now),
            store_problem: None,
            running: FuturesUnordered::new(),
            busy: 0,
            changes,
            handle: Handle(sender),
            is_stopping: false,
            served: Some(served),
            served_stop,
            _lock: lock,
        })
    }

    /// The handle for webhooks.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// The address of metrics and health.
    #[must_use]
    pub fn address(&self) -> Option<std::net::SocketAddr> {
        self.served.as_ref().map(|served| served.address)
    }

    /// Works until the stop. Then steps that run are finished, nothing new begins, and the other replicas are told.
    /// `SIGHUP` lets all sources be read and all clusters be planned now.
    ///
    /// # Errors
    /// When the signal cannot be caught.
    pub async fn run(mut self, stop: CancellationToken) -> Result<(), Error> {
        let mut hangup = signal(SignalKind::hangup()).map_err(|source| Error::File {
            what: "the signal SIGHUP",
            path: "/proc/self".into(),
            source,
        })?;
        let sources = self.sources.len();
        tracing::info!(
            controller = self.shared.configuration.name,
            replica = self.me,
            sources,
            "the controller runs"
        );
        while !(self.is_stopping && self.running.is_empty()) {
            if !self.is_stopping {
                self.start_due(Instant::now());
            }
            self.wait(&stop, &mut hangup).await;
        }
        job::leave(&self.shared, &self.me).await;
        self.served_stop.cancel();
        if let Some(served) = self.served.take() {
            served.ended().await;
        }
        tracing::info!("the controller has ended");
        Ok(())
    }

    /// Waits for the first thing that happens, and takes it.
    async fn wait(&mut self, stop: &CancellationToken, hangup: &mut Signal) {
        let wake = self.wakes_at(Instant::now());
        tokio::select! {
            () = stop.cancelled(), if !self.is_stopping => self.stop(),
            Some(done) = self.running.next(), if !self.running.is_empty() => self.take(done, Instant::now()),
            Some(changed) = self.changes.recv(), if !self.is_stopping => self.read_soon(&changed.source),
            Some(()) = hangup.recv(), if !self.is_stopping => self.wake_all(),
            () = tokio::time::sleep_until(wake), if !self.is_stopping => {}
        }
    }

    fn stop(&mut self) {
        let running = self.clusters.values().filter_map(|entry| entry.running.as_ref());
        let count = running.map(StopSignal::raise).count();
        tracing::info!(running = count, "stopping: steps that run are finished");
        self.is_stopping = true;
    }

    fn read_soon(&mut self, name: &str) {
        let sources = self.shared.configuration.sources.iter();
        for (_, state) in sources.zip(&mut self.sources).filter(|(source, _)| source.name == name) {
            state.due = Instant::now();
        }
    }

    fn wake_all(&mut self) {
        let now = Instant::now();
        tracing::info!("SIGHUP: all sources are read and all clusters are planned");
        self.sources.iter_mut().for_each(|state| state.due = now);
        self.clusters.values_mut().for_each(|entry| entry.wake(now));
    }
}

/// Takes the data folder, and removes checkouts of earlier processes.
#[allow(clippy::disallowed_methods, reason = "the operator names the folder")]
fn take_folder(folder: &Path) -> Result<std::fs::File, Error> {
    let failed = |source| Error::File { what: "the data folder", path: folder.to_owned(), source };
    let sources = folder.join("sources");
    std::fs::create_dir_all(&sources).map_err(failed)?;
    let lock = std::fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.join("lock"))
        .map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(std::fs::TryLockError::WouldBlock) => return Err(Error::Locked { path: folder.to_owned() }),
        Err(std::fs::TryLockError::Error(source)) => return Err(failed(source)),
    }
    for source in std::fs::read_dir(&sources).map_err(failed)? {
        let checkouts = source.map_err(failed)?.path().join("checkouts");
        match std::fs::remove_dir_all(checkouts) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
    }
    Ok(lock)
}
