//! Settings of nodes that change in place.
//!
//! A ConfigMap with the label [`SETTINGS_OF`] has the settings of a pool. When they change, the machines of the pool get them
//! first, in turns: one machine, then a tenth of the pool at a time. Each machine reads the new settings from the same
//! ConfigMap, under another key, and reports in an annotation of its Node. A machine that does not run well with them stops the
//! step; it and the machines before it get the settings that the ConfigMap has. The object is then still as it was, and the next
//! plan shows the change again.
//!
//! Some fields change what a node has for pods. Before they change, the nodes of a turn are cordoned and drained. Afterwards they
//! take pods again.
//!
//! The Node of a machine with such settings has the label as well, so that a roll lists the nodes of its pool alone.

mod emptied;
mod outdated;
mod report;
mod turns;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value as Json, json};
use slipway_bootstrap::boot::{
    NEXT_SETTINGS, SETTINGS, SETTINGS_OF, WANTED_SETTINGS, changed_settings, needs_drain, settings_digest,
};
use slipway_provider_sdk::Ticket;
use slipway_resource::provider::{ApplyEvent, ApplyRequest, EventSink};
use slipway_resource::{ErrorClass, ProviderError};
use tokio::time::Instant;

use super::KubernetesSession;
use super::wait::Patience;
use crate::api::{Connection, Request};
pub(super) use outdated::Reporting;
use report::{Progress, Seen};
pub(super) use turns::estimate_ms;

/// The manager of the fields that only exist while machines change.
const MANAGER: &str = "slipway-settings";
/// How long machines may take to report the previous settings, in milliseconds. They have put them back by themselves.
const BACK_MS: u64 = 60_000;

/// The settings of a pool, as a ConfigMap has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// The pool.
    pool: String,
    /// The text.
    text: String,
    /// The digest of the text.
    digest: String,
}

/// What a roll of settings is done with.
pub(super) struct Way<'a> {
    pub session: &'a KubernetesSession,
    pub connection: &'a Connection,
    /// The path of the ConfigMap.
    pub path: String,
    pub events: &'a EventSink,
    pub ticket: &'a Ticket<'a>,
}

/// The ConfigMap before a roll.
struct Before {
    /// The digest of the settings that new machines get.
    digest: Option<String>,
    /// Whether a node with these settings is drained before it gets the new ones.
    drains: bool,
    /// Whether it still has the settings that an earlier roll was bringing to machines.
    has_next: bool,
}

/// Why a turn of a roll has failed.
struct Failure {
    message: String,
    /// The nodes whose machines had not reported the settings.
    open: Vec<Seen>,
}

impl Settings {
    /// The settings in a manifest; `None` in any other manifest.
    pub(super) fn of(manifest: &Json) -> Option<Self> {
        let is_map = manifest.get("kind").and_then(Json::as_str) == Some("ConfigMap");
        let pool = manifest.pointer("/metadata/labels").filter(|_| is_map)?.get(SETTINGS_OF)?.as_str()?;
        let text = manifest.pointer("/data")?.get(SETTINGS)?.as_str()?;
        Some(Self { pool: pool.to_owned(), text: text.to_owned(), digest: settings_digest(text) })
    }

    /// Brings the settings to the machines of the pool that run with others. A machine that comes meanwhile is changed, too.
    ///
    /// # Errors
    /// `permanent` when a machine does not run well with them, or does not report in time; `cancelled`.
    pub(super) async fn roll(&self, way: &Way<'_>, request: &ApplyRequest) -> Result<(), ProviderError> {
        let mut limit = Patience::new(request.timeout_ms);
        let before = self.before(way).await?;
        let mut passed: Vec<Seen> = Vec::new();
        loop {
            let mut behind = self.behind(way.connection).await?;
            let names: BTreeSet<&str> = passed.iter().map(|seen| seen.name.as_str()).collect();
            behind.retain(|seen| !names.contains(seen.name.as_str()));
            if behind.is_empty() {
                break;
            }
            if passed.is_empty() {
                self.offer(way, Some(&self.text)).await?;
            }
            let all = passed.len() + behind.len();
            while !behind.is_empty() {
                let size = turns::size(all, passed.len());
                let rest = behind.split_off(size.min(behind.len()));
                if let Some(failure) = self.turn(way, &before, &behind, &mut limit).await? {
                    self.undo(way, &before, &failure, &[behind.as_slice(), passed.as_slice()]).await?;
                    return Err(failure.into_error(rest.len()));
                }
                passed.append(&mut behind);
                behind = rest;
            }
        }
        if before.drains {
            // A run that was killed has left nodes cordoned whose machines have the settings already.
            let labels = format!("{SETTINGS_OF}={}", self.pool);
            emptied::open(way, &Seen::all(way.connection, &labels).await?).await?;
        }
        if passed.is_empty() && !before.has_next { Ok(()) } else { self.offer(way, None).await }
    }

    /// Whether all machines of the pool run with the settings.
    ///
    /// # Errors
    /// As the API says.
    pub(super) async fn is_everywhere(&self, connection: &Connection) -> Result<bool, ProviderError> {
        Ok(self.behind(connection).await?.is_empty())
    }

    /// The nodes of the pool whose machines run with other settings, in the order in which they change.
    async fn behind(&self, connection: &Connection) -> Result<Vec<Seen>, ProviderError> {
        let labels = format!("{SETTINGS_OF}={}", self.pool);
        Ok(self.outdated(Seen::all(connection, &labels).await?))
    }

    /// Those of some nodes that belong to the pool and whose machines run with other settings, in the order in which they change.
    fn outdated(&self, nodes: impl IntoIterator<Item = Seen>) -> Vec<Seen> {
        let is_behind = |seen: &Seen| seen.report.pool == self.pool && seen.is_outdated(&self.digest);
        let mut outdated: Vec<Seen> = nodes.into_iter().filter(is_behind).collect();
        // A node that is not ready is no proof for the others.
        outdated.sort_by(|one, other| (!one.ready, &one.name).cmp(&(!other.ready, &other.name)));
        outdated
    }

    /// Lets machines read the settings before new machines get them; with `None`, the object has them.
    async fn offer(&self, way: &Way<'_>, text: Option<&str>) -> Result<(), ProviderError> {
        let patch = json!({ "data": { NEXT_SETTINGS: text } });
        let path = format!("{}?fieldManager={MANAGER}", way.path);
        way.connection.ask(&Request::merge(path, &patch)).await?.found().map(drop)
    }

    /// Changes some nodes at once, drained before if need be, and waits for all of them. `None` when they run well with the settings.
    async fn turn(
        &self,
        way: &Way<'_>,
        before: &Before,
        nodes: &[Seen],
        limit: &mut Patience,
    ) -> Result<Option<Failure>, ProviderError> {
        let drained: Vec<&Seen> = nodes.iter().filter(|seen| before.drains(seen)).collect();
        let changed = match emptied::empty(way, &drained).await {
            Ok(()) => self.change(way, nodes, limit).await,
            Err(error) => Err(error),
        };
        // Also those that an interrupted run has cordoned.
        let opened = emptied::open(way, nodes).await;
        let failure = changed?;
        opened.map(|()| failure)
    }

    /// Changes some nodes at once, and waits for all of them. `None` when they run well with the settings.
    async fn change(
        &self,
        way: &Way<'_>,
        nodes: &[Seen],
        limit: &mut Patience,
    ) -> Result<Option<Failure>, ProviderError> {
        let mut open = Vec::new();
        for seen in nodes {
            let now = want(way.connection, &seen.name, &self.digest).await?;
            way.events.send(ApplyEvent::Progress(format!("node {} gets the new settings", seen.name)));
            // The kubelet of a node that was not ready before tells nothing about the settings. Its machine gets them when it runs.
            open.extend(now.as_ref().and_then(Seen::of).filter(|seen| seen.ready));
        }
        let begun = Instant::now();
        let longest = Duration::from_millis(turns::LONGEST_MS);
        while let Some(seen) = open.last() {
            let message = match Seen::look(way.connection, &seen.name, &self.digest).await? {
                Progress::Done => {
                    open.pop();
                    continue;
                }
                Progress::Failed(why) => {
                    format!("node {} does not run well with the new settings: {why}", seen.name)
                }
                Progress::Open(missing) => {
                    if begun.elapsed() < longest && limit.pause(way.ticket).await? {
                        continue;
                    }
                    format!("node {} did not take the new settings in time: {missing}", seen.name)
                }
            };
            return Ok(Some(Failure { message, open }));
        }
        Ok(None)
    }

    /// The ConfigMap before a roll.
    async fn before(&self, way: &Way<'_>) -> Result<Before, ProviderError> {
        let live = way.connection.ask(&Request::get(way.path.clone())).await?.found()?.unwrap_or_default();
        let data = |key: &str| live.get("data")?.get(key)?.as_str();
        Ok(Before {
            digest: data(SETTINGS).map(settings_digest),
            drains: data(SETTINGS).is_some_and(|text| needs_drain(&changed_settings(text, &self.text))),
            has_next: data(NEXT_SETTINGS).is_some(),
        })
    }

    /// Lets the machines of a roll have the settings that the object has, in the order of `changed`, which has the nodes of the
    /// failed turn and those before it.
    async fn undo(
        &self,
        way: &Way<'_>,
        before: &Before,
        failure: &Failure,
        changed: &[&[Seen]],
    ) -> Result<(), ProviderError> {
        let Some(digest) = before.digest.as_deref().filter(|digest| *digest != self.digest) else {
            // The object has the settings already, and the next plan shows the nodes that do not. They keep those that they have.
            let kept: Vec<(&Seen, &str)> =
                failure.open.iter().map(|seen| (seen, seen.report.digest.as_str())).collect();
            return back(way, &kept).await;
        };
        let all: usize = changed.iter().map(|nodes| nodes.len()).sum();
        for nodes in changed {
            for turn in nodes.chunks(turns::size(all, 1)) {
                let turn: Vec<(&Seen, &str)> = turn.iter().map(|seen| (seen, digest)).collect();
                back(way, &turn).await?;
            }
        }
        Ok(())
    }
}

impl Before {
    /// Whether a node is drained before it changes. A node that is not ready runs no pods that could be saved.
    fn drains(&self, seen: &Seen) -> bool {
        self.drains && seen.ready && self.digest.as_deref() == Some(seen.report.digest.as_str())
    }
}

impl Failure {
    /// The error of the step, with the number of nodes that were not touched.
    fn into_error(self, left: usize) -> ProviderError {
        let message = match left {
            0 => self.message,
            1 => format!("{}. 1 other node was not changed", self.message),
            _ => format!("{}. {left} other nodes were not changed", self.message),
        };
        ProviderError::new(ErrorClass::Permanent, message)
            .with_hint("correct the setting in the spec and apply it again")
    }
}

/// Lets machines have settings that they had, and waits until they say that they do, but not long: they take them by themselves.
async fn back(way: &Way<'_>, nodes: &[(&Seen, &str)]) -> Result<(), ProviderError> {
    for (seen, digest) in nodes {
        way.events.send(ApplyEvent::Progress(format!("node {} gets the previous settings", seen.name)));
        want(way.connection, &seen.name, digest).await?;
    }
    let mut patience = Patience::new(BACK_MS);
    for (seen, digest) in nodes.iter().filter(|(seen, _)| seen.ready) {
        loop {
            let found = Seen::look(way.connection, &seen.name, digest).await?;
            if matches!(found, Progress::Done) || !patience.pause(way.ticket).await? {
                break;
            }
        }
    }
    Ok(())
}

/// Says which settings a node has to run with. Returns the node; one that does not exist any more needs none.
async fn want(connection: &Connection, node: &str, digest: &str) -> Result<Option<Json>, ProviderError> {
    let patch = json!({ "metadata": { "annotations": { WANTED_SETTINGS: digest } } });
    let path = format!("/api/v1/nodes/{node}?fieldManager={MANAGER}");
    connection.ask(&Request::merge(path, &patch)).await?.found()
}
