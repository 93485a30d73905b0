//! The loop of a controller: starts jobs when they are due, and takes their results.

mod handle;
mod heads;
mod order;
mod results;
mod review_state;
mod share;
mod source_state;
mod starts;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use jiff::Timestamp;
use slipway_controller::{Health, Metrics as Registry, Served, process_identity, serve};
use slipway_engine::StopSignal;
use slipway_operations::Environment;
use tokio::runtime::Handle as Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::board::Board;
use crate::configuration::{Configuration, Source};
use crate::entry::Entry;
use crate::error::Error;
use crate::job::{self, Running};
use crate::members::{Members, Seen};
use crate::metrics::Metrics;
use crate::notify::Deliveries;
use crate::objects;
use crate::order::Order;
use crate::plan_archive;
use crate::reviews::Desk;
use crate::shared::Shared;
use crate::source::Reader;
use crate::watches;
use crate::webhooks::{self, Endpoint};
use review_state::ReviewState;
use source_state::SourceState;

pub use handle::Handle;
pub(crate) use handle::Hint;

/// The longest sleep of the loop.
const NAP: Duration = Duration::from_secs(60);

/// How long the end of a controller waits for objects in Kubernetes. The lease of requests is given back in less.
const LAST_OBJECTS: Duration = Duration::from_secs(30);

/// A controller. See the crate's documentation.
pub struct Controller {
    shared: Shared,
    /// The identity of this replica.
    me: String,
    since: Timestamp,
    sources: Vec<SourceState>,
    /// The reviews of pull requests, by the number of their source.
    reviews: BTreeMap<usize, ReviewState>,
    clusters: BTreeMap<String, Entry>,
    /// The order among the clusters, if a source has one.
    order: Option<Arc<Order>>,
    board: Board,
    members: Members,
    /// The seen replicas; none while a beat runs.
    seen: Option<Seen>,
    next_beat: Instant,
    /// The last cluster whose head the last poll looked at.
    last_watched: String,
    /// Until when this replica counts as one that lives, by [`Shared::elapsed`].
    valid_until: Duration,
    /// Whether the last sign of life came too late.
    is_late: bool,
    recall: Recall,
    /// Why the state store cannot be used now.
    store_problem: Option<String>,
    running: FuturesUnordered<Running>,
    busy: usize,
    handle: Handle,
    is_stopping: bool,
    /// Whether runs are ended at once.
    is_ending: bool,
    /// Ends looks at pull requests early.
    ending: CancellationToken,
    /// The tasks that send notifications.
    deliveries: Option<Deliveries>,
    served: Option<Served>,
    /// The endpoint of webhooks.
    webhooks: Option<Served>,
    /// The archives of plans that wait.
    plans: Option<Served>,
    served_stop: CancellationToken,
    /// Keeps the data folder for this process.
    _lock: std::fs::File,
}

/// Whether the statuses of earlier processes were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recall {
    Due(Instant),
    Runs,
    Done,
}

impl Controller {
    /// Prepares a controller: takes the data folder and the addresses for metrics and health, for webhooks, and for plans. No source is
    /// read yet.
    ///
    /// # Errors
    /// When the environment has no state store, the data folder is used by another process, or an address, the secret of a
    /// webhook, or the URL of a receiver of notifications cannot be used.
    pub async fn new(configuration: Configuration, environment: Environment) -> Result<Self, Error> {
        let (registry, health) = (Registry::default(), Health::default());
        let metrics = Metrics::new(&registry);
        let handle = Handle::default();
        let endpoint = Endpoint::new(&configuration, metrics.clone(), &handle)?;
        let lock = take_folder(&configuration.data)?;
        let address = configuration.listen;
        let served_stop = CancellationToken::new();
        health.waits("state store", "it was not read yet");
        let served = serve(address, health.clone(), registry, served_stop.clone())
            .await
            .map_err(|source| Error::Listen { address, source })?;
        let shared = Shared::new(configuration, environment, (metrics, health))?;
        let webhooks = match shared.configuration.webhooks {
            Some(settings) => Some(webhooks::serve(endpoint, settings.listen, served_stop.clone()).await?),
            None => None,
        };
        let settings = shared.configuration.kubernetes.as_ref();
        let plans = match settings.and_then(|settings| settings.plans.as_ref()) {
            Some(settings) => Some(plan_archive::serve(&shared, settings.listen, served_stop.clone()).await?),
            None => None,
        };
        let deliveries = Deliveries::start(&shared.notices, shared.configuration.retry, &shared.metrics)?;
        let now = Instant::now();
        let folder = shared.configuration.data.join("sources");
        let source = |source: &Source| {
            SourceState::new(Reader::new(source, &folder).on(&shared.threads(source).read), now)
        };
        let sources = shared.configuration.sources.iter().map(source).collect();
        let desks = shared.configuration.sources.iter().map(|source| Desk::new(source, &folder)).enumerate();
        let reviews =
            desks.filter_map(|(number, desk)| Some((number, ReviewState::new(desk?, now)))).collect();
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
            reviews,
            clusters: BTreeMap::new(),
            order: None,
            board: Board::default(),
            members: Members::default(),
            seen: Some(Seen::default()),
            next_beat: now,
            last_watched: String::new(),
            valid_until: Duration::ZERO,
            is_late: false,
            recall: Recall::Due(now),
            store_problem: None,
            running: FuturesUnordered::new(),
            busy: 0,
            handle,
            is_stopping: false,
            is_ending: false,
            ending: CancellationToken::new(),
            deliveries: Some(deliveries),
            served: Some(served),
            webhooks,
            plans,
            served_stop,
            _lock: lock,
        })
    }

    /// The handle for hints that a source may have changed.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// The address of metrics and health.
    #[must_use]
    pub fn address(&self) -> Option<std::net::SocketAddr> {
        self.served.as_ref().map(|served| served.address)
    }

    /// The address where webhooks are received.
    #[must_use]
    pub fn webhooks_address(&self) -> Option<std::net::SocketAddr> {
        self.webhooks.as_ref().map(|served| served.address)
    }

    /// Works until the stop. Then planning ends, steps that run are finished, nothing new begins, and the other replicas are
    /// told. `at_once` after the stop abandons the steps too; the next run finds out what became of them.
    /// `SIGHUP` lets all sources be read now, and the clusters of each be planned after that.
    ///
    /// # Errors
    /// When the signal cannot be caught.
    pub async fn run(mut self, stop: CancellationToken, at_once: CancellationToken) -> Result<(), Error> {
        let (shared, replica, ended) = (self.shared.clone(), self.me.clone(), CancellationToken::new());
        // The threads below end also when nobody waits for this any more.
        let _ends_with_this = ended.clone().drop_guard();
        let end = ended.clone();
        let objects = async {
            let Some(settings) = shared.configuration.kubernetes.clone() else { return };
            let runtime = Runtime::current();
            // A credential plugin of a kubeconfig blocks the thread that starts it, and this one renews leases.
            let work = move || runtime.block_on(Box::pin(objects::work(&shared, &settings, &replica, &end)));
            let too_late = async {
                ended.cancelled().await;
                tokio::time::sleep(LAST_OBJECTS).await;
            };
            tokio::select! {
                done = tokio::task::spawn_blocking(work) => if let Err(error) = done {
                    tracing::error!(%error, "objects in Kubernetes are neither written nor served any more");
                },
                () = too_late => tracing::warn!("the last writes of objects in Kubernetes are not waited for"),
            }
        };
        let (configuration, handle) = (self.shared.configuration.clone(), self.handle.clone());
        let watches = async {
            let (targets, retry) = (watches::targets(&configuration), configuration.retry);
            if targets.is_empty() {
                return;
            }
            let runtime = Runtime::current();
            // As for the objects above, and on another thread: what keeps one of them does not keep the other.
            let end = ended.clone();
            let work = move || {
                let follow = Box::pin(watches::follow(&targets, &handle, retry));
                runtime.block_on(end.run_until_cancelled(follow))
            };
            tokio::select! {
                done = tokio::task::spawn_blocking(work) => if let Err(error) = done {
                    tracing::error!(%error, "objects of sources are not watched any more");
                },
                () = ended.cancelled() => {}
            }
        };
        let work = async {
            let result = self.work(&stop, &at_once).await;
            ended.cancel();
            result
        };
        let (result, (), ()) = tokio::join!(work, objects, watches);
        result
    }

    async fn work(&mut self, stop: &CancellationToken, at_once: &CancellationToken) -> Result<(), Error> {
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
            self.wait((stop, at_once), &mut hangup).await;
        }
        job::leave(&self.shared, &self.me).await;
        if let Some(deliveries) = self.deliveries.take() {
            deliveries.end().await;
        }
        self.served_stop.cancel();
        for served in [self.served.take(), self.webhooks.take(), self.plans.take()].into_iter().flatten() {
            served.ended().await;
        }
        tracing::info!("the controller has ended");
        Ok(())
    }

    /// Waits for the first thing that happens, and takes it.
    async fn wait(&mut self, (stop, at_once): (&CancellationToken, &CancellationToken), hangup: &mut Signal) {
        let wake = self.wakes_at(Instant::now());
        tokio::select! {
            () = stop.cancelled(), if !self.is_stopping => self.stop(),
            () = at_once.cancelled(), if self.is_stopping && !self.is_ending => self.stop_at_once(),
            Some(done) = self.running.next(), if !self.running.is_empty() => self.take(done, Instant::now()),
            hints = self.handle.next(), if !self.is_stopping => self.look_soon(&hints),
            Some(()) = hangup.recv(), if !self.is_stopping => self.wake_all(),
            () = tokio::time::sleep_until(wake), if !self.is_stopping => {}
        }
    }

    fn stop(&mut self) {
        let running = self.clusters.values().filter_map(|entry| entry.running.as_ref());
        let count = running.map(StopSignal::raise).count();
        tracing::info!(
            running = count,
            "stopping: planning ends, steps that run are finished; once more to stop at once"
        );
        self.is_stopping = true;
        self.ending.cancel();
    }

    fn stop_at_once(&mut self) {
        let running = self.clusters.values().filter_map(|entry| entry.running.as_ref());
        let count = running.map(StopSignal::raise).count();
        tracing::info!(
            running = count,
            "stopping at once; the next run finds out what became of the open steps"
        );
        self.is_ending = true;
    }

    fn look_soon(&mut self, hints: &BTreeSet<Hint>) {
        let now = Instant::now();
        for hint in hints {
            let (Hint::Source(name) | Hint::PullRequest(name, _)) = hint;
            let mut sources = self.shared.configuration.sources.iter();
            let Some(number) = sources.position(|source| source.name == *name) else { continue };
            match hint {
                Hint::Source(_) => self.sources.get_mut(number).into_iter().for_each(|state| state.ask(now)),
                Hint::PullRequest(_, pull_request) => {
                    self.reviews.get_mut(&number).into_iter().for_each(|state| state.ask(*pull_request, now));
                }
            }
        }
    }

    fn wake_all(&mut self) {
        let now = Instant::now();
        tracing::info!("SIGHUP: all sources are read, and then all clusters are planned");
        self.sources.iter_mut().for_each(|state| state.ask_with_clusters(now));
        self.reviews.values_mut().for_each(|state| state.ask_all(now));
        self.wake_clusters(None, now);
    }

    /// Lets the clusters of a source be planned now; those without a source for `None`.
    fn wake_clusters(&mut self, source: Option<usize>, now: Instant) {
        let is_of_source = |name: &&String| self.source_number(name) == source;
        let names: Vec<String> = self.clusters.keys().filter(is_of_source).cloned().collect();
        for name in names {
            self.clusters.get_mut(&name).into_iter().for_each(|entry| entry.wake(now));
        }
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
