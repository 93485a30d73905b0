//! The service of installed programs: restarted with them, and with the previous ones if it does not run well.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use slipway_resource::{ErrorClass, ProviderError};
use tokio::time::Instant;

use super::places::Places;
use super::{Memory, UNIT, UNIT_PATH, places};
use crate::attributes::Attributes;
use crate::cri::Runtime;
use crate::disk::Access;
use crate::error::{conflict, invalid};
use crate::kind::Work;
use crate::previous;
use crate::steady::{self, Steady};
use crate::supervise::{self, Definition, Supervisor};

/// The socket of containerd.
const SOCKET: &str = "/run/containerd/containerd.sock";

/// How long the runtime may take until it answers.
const ANSWERS: Duration = Duration::from_secs(60);

/// How long no process of it may be there meanwhile: a process that ends at once is hardly ever seen.
const ABSENT: Duration = Duration::from_secs(10);

/// A service before its programs change.
pub(super) struct Before {
    steady: Steady,
    was_ready: bool,
}

impl Before {
    /// The service of a work; `None` for programs that no service runs.
    pub(super) async fn of(work: &Work) -> Result<Option<Self>, ProviderError> {
        if work.wanted().optional_text(UNIT)?.is_none() {
            return Ok(None);
        }
        supervisor(work)?;
        let steady = Steady::of(work.wanted())?.of_any_version();
        let places = work.blocking(places).await?;
        let is_begun = places.is_begun();
        let was_ready = was_ready(work, &steady, places, is_begun).await?;
        Ok(Some(Self { steady, was_ready }))
    }

    /// Writes the unit and starts the service with its new programs. If it does not run well, the previous programs and the previous
    /// unit come back, and the service is started with them; the step fails all the same.
    pub(super) async fn restart(&self, work: &Work, names: &BTreeSet<String>) -> Result<(), ProviderError> {
        work.blocking(write).await?;
        let begun = Timestamp::now();
        let Err(why) = self.runs_well(work, begun, self.was_ready).await? else { return Ok(()) };
        let name = work.identity();
        let said = supervise::of(work.host()).said(work.host(), name, begun.as_second()).await;
        let said = match steady::last_errors(&said) {
            text if text.is_empty() => String::new(),
            text => format!(". It said: {text}"),
        };
        let came_back = self.put_back(work, names).await?;
        let text = format!("{name} does not run well with its new programs: {why}{said}. {came_back}");
        Err(ProviderError::new(ErrorClass::Permanent, text).with_hint(
            "correct the file in `assets.programs` and apply again; machines behind this one were not changed",
        ))
    }

    async fn put_back(&self, work: &Work, names: &BTreeSet<String>) -> Result<String, ProviderError> {
        let name = work.identity();
        work.tell(format!("the previous programs of {name} come back"));
        let names = names.clone();
        let is_defined = work
            .blocking(move |work| {
                let (disk, path) = (&work.host().disk, work.wanted().text(UNIT_PATH)?);
                previous::put_back(disk, path)?;
                places(work)?.put_back(&names, &Memory::ours(&work.place))?;
                Ok(is_addition(path) || disk.status(path)?.is_some())
            })
            .await?;
        if !is_defined {
            let removed = "What was installed was removed";
            return Ok(match supervise::of(work.host()).stop(work).await {
                Ok(()) => removed.to_owned(),
                Err(error) => format!("{removed}, and {name} could not be stopped: {}", error.message),
            });
        }
        Ok(match self.runs_well(work, Timestamp::now(), self.was_ready).await? {
            Ok(()) => format!("The previous programs were put back, and {name} runs well with them"),
            Err(why) => {
                format!(
                    "The previous programs were put back, and {name} does not run well with them either: {why}"
                )
            }
        })
    }

    /// Restarts the service. Returns why it does not run well.
    async fn runs_well(
        &self,
        work: &Work,
        begun: Timestamp,
        with_node: bool,
    ) -> Result<Result<(), String>, ProviderError> {
        let supervisor = supervise::of(work.host());
        let started = match supervisor.enable(work, true).await {
            Ok(()) => supervisor.restart(work, &Definition::default()).await,
            Err(error) => Err(error),
        };
        match started {
            Err(error) if error.class == ErrorClass::Cancelled => return Err(error),
            Err(error) => return Ok(Err(error.message)),
            Ok(()) => {}
        }
        if let Err(why) = answers(work).await? {
            return Ok(Err(why));
        }
        self.steady.hold(work, begun, with_node).await
    }
}

/// Waits until the runtime tells its pods. Returns why it does not.
async fn answers(work: &Work) -> Result<Result<(), String>, ProviderError> {
    let begun = Instant::now();
    let mut seen = begun;
    loop {
        let state = supervise::of(work.host()).state(work.host(), work.identity()).await?;
        if state.is_some_and(|state| state.pid.is_some()) {
            seen = Instant::now();
        }
        if seen.elapsed() >= ABSENT {
            return Ok(Err("it ends again and again".to_owned()));
        }
        let why = match Runtime::of(&work.host().disk, Some(SOCKET)).await {
            Some(mut runtime) => match runtime.pods().await {
                Ok(_) => return Ok(Ok(())),
                Err(error) => error.message,
            },
            None => format!("nothing listens on {SOCKET}"),
        };
        if begun.elapsed() >= ANSWERS {
            return Ok(Err(format!("it did not answer within {} s: {why}", ANSWERS.as_secs())));
        }
        work.pause(Duration::from_millis(250)).await?;
    }
}

/// Whether the node was ready before its service changes. After an interruption, the change itself may be why it is not ready now.
async fn was_ready(
    work: &Work,
    steady: &Steady,
    places: Places,
    is_begun: bool,
) -> Result<bool, ProviderError> {
    let known = places.clone();
    let remembered = work.blocking(move |_| Ok(known.was_ready())).await?;
    if let Some(was_ready) = remembered.filter(|_| is_begun) {
        return Ok(was_ready);
    }
    let is_ready = steady.is_node_ready(&work.host().disk).await;
    work.blocking(move |_| places.remember_ready(is_ready)).await?;
    Ok(is_ready)
}

/// Writes the unit, and keeps the previous one.
fn write(work: &Work) -> Result<(), ProviderError> {
    let (path, text) = (work.wanted().text(UNIT_PATH)?, work.wanted().text(UNIT)?);
    let disk = &work.host().disk;
    previous::keep(disk, path)?;
    if disk.read_text(path)?.as_deref() != Some(text) {
        disk.write(path, text.as_bytes(), Access::mode(0o644))?;
    }
    Ok(())
}

/// Forgets the previous unit.
pub(super) fn forget(work: &Work) -> Result<(), ProviderError> {
    match work.wanted().optional_text(UNIT_PATH)? {
        Some(path) => previous::forget(&work.host().disk, path),
        None => Ok(()),
    }
}

/// Has the service run without the programs that are removed next: with those of the host, or not at all.
///
/// # Errors
/// When the host is a node and has no such service of its own, or when that one does not run well: then nothing is changed.
pub(super) async fn without(work: &Work) -> Result<(), ProviderError> {
    let wanted: Attributes<'_> = work.place.wanted();
    let Some(path) = wanted.optional_text(UNIT_PATH)?.map(str::to_owned) else { return Ok(()) };
    let supervisor = supervisor(work)?;
    let name = work.identity();
    let is_node = work.blocking(|work| work.host().ledger.get("service", "kubelet")).await?.is_some();
    if !is_addition(&path) {
        if is_node {
            let text = format!("the kubelet of this host needs {name}, and the host has none of its own");
            let hint =
                format!("list {name} in `assets.programs` again, or install it on the host as a package");
            return Err(conflict(text).with_hint(hint));
        }
        if supervisor.state(work.host(), name).await?.is_some() {
            supervisor.stop(work).await?;
            supervisor.enable(work, false).await?;
        }
        return work.blocking(move |work| work.host().disk.remove(&path).map(drop)).await;
    }
    let steady = Steady::of(wanted)?.of_any_version();
    let (folder, unit) = (wanted.text("folder")?.to_owned(), path.clone());
    let (places, is_begun) = work
        .blocking(move |work| {
            let disk = &work.host().disk;
            let places = Places::new(disk.target(&folder)?, work.identity());
            Ok((places, disk.status(&unit)?.is_none()))
        })
        .await?;
    let was_ready = was_ready(work, &steady, places, is_begun).await?;
    let before = Before { steady, was_ready };
    let unit = path.clone();
    work.blocking(move |work| {
        previous::keep(&work.host().disk, &unit)?;
        work.host().disk.remove(&unit).map(drop)
    })
    .await?;
    let begun = Timestamp::now();
    match before.runs_well(work, begun, before.was_ready).await? {
        Err(why) if is_node => {
            work.blocking(move |work| previous::put_back(&work.host().disk, &path).map(drop)).await?;
            supervisor.restart(work, &Definition::default()).await?;
            let text = format!("{name} of the host does not run well: {why}. That of the spec was put back");
            Err(ProviderError::new(ErrorClass::Permanent, text)
                .with_hint(format!("list {name} in `assets.programs` again, or repair that of the host")))
        }
        // Nothing needs it here any more.
        _ => work.blocking(move |work| previous::forget(&work.host().disk, &path)).await,
    }
}

/// Whether a file adds to a unit that the host brought.
fn is_addition(path: &str) -> bool {
    path.contains(".service.d/")
}

/// The init system of the node, which restarts the service.
fn supervisor(work: &Work) -> Result<Supervisor, ProviderError> {
    match supervise::of(work.host()) {
        Supervisor::Systemd => Ok(Supervisor::Systemd),
        Supervisor::OpenRc | Supervisor::Own => {
            Err(invalid(format!("only systemd can run {} from `assets.programs`", work.identity())))
        }
    }
}
