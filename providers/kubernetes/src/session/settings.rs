//! Settings of nodes that change in place.
//!
//! A ConfigMap with the label [`SETTINGS_OF`] has the settings of a pool. When they change, the machines of the pool get them
//! first, in turns: one machine, then a tenth of the pool at a time. Each machine reads the new settings from the same
//! ConfigMap, under another key, and reports in an annotation of its Node. A machine that does not run well with them stops the
//! step; it and the machines before it get the previous ones back. The object is then still as it was, and the next plan shows the
//! change again.

mod report;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value as Json, json};
use slipway_bootstrap::boot::{
    NEXT_SETTINGS, SETTINGS, SETTINGS_OF, WANTED_SETTINGS, changed_settings, settings_digest,
};
use slipway_provider_sdk::Ticket;
use slipway_resource::provider::{ApplyEvent, ApplyRequest, EventSink};
use slipway_resource::{ErrorClass, ProviderError};
use tokio::time::Instant;

use super::KubernetesSession;
use super::wait::Patience;
use crate::api::{Connection, Request, Selector};
use report::{Progress, Seen};

/// The manager of the fields that only exist while machines change.
const MANAGER: &str = "slipway-settings";
/// How long a machine may take: its kubelet is started, watched, and started again with the previous settings if need be.
const LONGEST: Duration = Duration::from_secs(600);
/// How long a machine may take to report the previous settings, which it has put back by itself.
const BACK: Duration = Duration::from_secs(60);
/// How many nodes are named in the reasons of a change.
const NAMED: usize = 10;

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
    pub connection: &'a Connection,
    /// The path of the ConfigMap.
    pub path: String,
    pub events: &'a EventSink,
    pub ticket: &'a Ticket<'a>,
}

impl Settings {
    /// The settings in a manifest; `None` in any other manifest.
    pub(super) fn of(manifest: &Json) -> Option<Self> {
        let is_map = manifest.get("kind").and_then(Json::as_str) == Some("ConfigMap");
        let pool = manifest.pointer("/metadata/labels").filter(|_| is_map)?.get(SETTINGS_OF)?.as_str()?;
        let text = manifest.pointer("/data")?.get(SETTINGS)?.as_str()?;
        Some(Self { pool: pool.to_owned(), text: text.to_owned(), digest: settings_digest(text) })
    }

    /// Brings the settings to the machines of the pool that run with others. The object still has the old ones.
    ///
    /// # Errors
    /// `permanent` when a machine does not run well with them, or does not report in time; `cancelled`.
    pub(super) async fn roll(&self, way: &Way<'_>, request: &ApplyRequest) -> Result<(), ProviderError> {
        let mut limit = Patience::new(request.timeout_ms);
        let mut passed: Vec<Seen> = Vec::new();
        let mut count = 1;
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
            behind.truncate(count);
            if let Err(error) = self.turn(way, &behind, &mut limit).await {
                if error.class == ErrorClass::Permanent {
                    // The object keeps the previous settings: no machine stays with others that no plan would show.
                    for seen in passed.chunks(count) {
                        self.all_back(way, seen).await?;
                    }
                }
                return Err(untouched(error, all, passed.len(), count));
            }
            passed.append(&mut behind);
            count = all.div_ceil(10);
        }
        if passed.is_empty() { Ok(()) } else { self.offer(way, None).await }
    }

    /// The sentences of a plan that changes the settings: for each node how it changes, and because of which fields.
    pub(super) async fn reasons(
        &self,
        connection: &Connection,
        before: &Self,
    ) -> Result<Vec<String>, ProviderError> {
        let fields = changed_settings(&before.text, &self.text).join(", ");
        let behind = self.behind(connection).await?;
        if fields.is_empty() || behind.is_empty() {
            return Ok(Vec::new());
        }
        let mut reasons: Vec<String> = behind
            .iter()
            .take(NAMED)
            .map(|seen| format!("node {} changes in place, without a drain: {fields}", seen.name))
            .collect();
        if let Some(more) = behind.len().checked_sub(NAMED).filter(|more| *more > 0) {
            reasons.push(format!("{more} more nodes of the pool {} change in place", self.pool));
        }
        Ok(reasons)
    }

    /// The nodes of the pool whose machines run with other settings, by name.
    async fn behind(&self, connection: &Connection) -> Result<Vec<Seen>, ProviderError> {
        let nodes = connection.list_all("/api/v1/nodes", ("v1", "Node"), Selector::All).await?;
        let mut behind: Vec<Seen> = nodes.iter().filter_map(Seen::of).collect();
        behind.retain(|seen| seen.report.pool == self.pool && seen.report.digest != self.digest);
        // A node that is not ready is no proof for the others.
        behind.sort_by(|one, other| (!one.ready, &one.name).cmp(&(!other.ready, &other.name)));
        Ok(behind)
    }

    /// Lets machines read the settings before new machines get them; with `None`, the object has them.
    async fn offer(&self, way: &Way<'_>, text: Option<&str>) -> Result<(), ProviderError> {
        let patch = json!({ "data": { NEXT_SETTINGS: text } });
        let path = format!("{}?fieldManager={MANAGER}", way.path);
        way.connection.ask(&Request::merge(path, &patch)).await?.found().map(drop)
    }

    /// Changes some nodes at once, and waits for all of them.
    async fn turn(&self, way: &Way<'_>, nodes: &[Seen], limit: &mut Patience) -> Result<(), ProviderError> {
        for seen in nodes {
            want(way.connection, &seen.name, &self.digest).await?;
            way.events.send(ApplyEvent::Progress(format!("node {} gets the new settings", seen.name)));
        }
        // The kubelet of a node that was not ready before tells nothing about the settings. Its machine gets them when it runs.
        let mut open: Vec<&Seen> = nodes.iter().filter(|seen| seen.ready).collect();
        let begun = Instant::now();
        let mut failure = None;
        while let (Some(seen), None) = (open.last(), &failure) {
            match Seen::look(way.connection, &seen.name, &self.digest).await? {
                Progress::Done => {
                    open.pop();
                }
                Progress::Failed(why) => {
                    failure =
                        Some(format!("node {} does not run well with the new settings: {why}", seen.name));
                }
                Progress::Open(missing) => {
                    let is_late = begun.elapsed() > LONGEST || !limit.pause(way.ticket).await?;
                    failure = is_late.then(|| {
                        format!("node {} did not take the new settings in time: {missing}", seen.name)
                    });
                }
            }
        }
        let Some(failure) = failure else { return Ok(()) };
        self.all_back(way, nodes).await?;
        Err(ProviderError::new(ErrorClass::Permanent, failure)
            .with_hint("correct the setting in the spec and apply it again"))
    }

    /// Lets machines have their previous settings, and waits until they say that they do.
    async fn all_back(&self, way: &Way<'_>, nodes: &[Seen]) -> Result<(), ProviderError> {
        for seen in nodes {
            way.events.send(ApplyEvent::Progress(format!("node {} gets the previous settings", seen.name)));
            want(way.connection, &seen.name, &seen.report.digest).await?;
        }
        for seen in nodes.iter().filter(|seen| seen.ready) {
            self.is_back(way, seen).await?;
        }
        Ok(())
    }

    /// Waits until a machine says that it has its previous settings, but not long: it takes them by itself.
    async fn is_back(&self, way: &Way<'_>, seen: &Seen) -> Result<(), ProviderError> {
        let begun = Instant::now();
        let mut patience = Patience::new(u64::try_from(BACK.as_millis()).unwrap_or(u64::MAX));
        while begun.elapsed() < BACK {
            let found = Seen::look(way.connection, &seen.name, &seen.report.digest).await?;
            if matches!(found, Progress::Done) || !patience.pause(way.ticket).await? {
                break;
            }
        }
        Ok(())
    }
}

impl KubernetesSession {
    /// The sentences of a plan for the change of an object from one manifest to another, if it has settings of nodes.
    pub(super) async fn settings_reasons(
        &self,
        connection: &Connection,
        before: &Json,
        after: &Json,
    ) -> Result<Vec<String>, ProviderError> {
        match (Settings::of(before), Settings::of(after)) {
            (Some(before), Some(after)) if before != after => after.reasons(connection, &before).await,
            _ => Ok(Vec::new()),
        }
    }
}

/// Says which settings a node has to run with. A node that does not exist any more needs none.
async fn want(connection: &Connection, node: &str, digest: &str) -> Result<(), ProviderError> {
    let patch = json!({ "metadata": { "annotations": { WANTED_SETTINGS: digest } } });
    let path = format!("/api/v1/nodes/{node}?fieldManager={MANAGER}");
    connection.ask(&Request::merge(path, &patch)).await?.found().map(drop)
}

/// Adds to a failure how many nodes were not touched.
fn untouched(error: ProviderError, all: usize, passed: usize, count: usize) -> ProviderError {
    if error.class != ErrorClass::Permanent {
        return error;
    }
    let left = all.saturating_sub(passed + count);
    let message = match left {
        0 => error.message,
        1 => format!("{}. 1 other node was not changed", error.message),
        _ => format!("{}. {left} other nodes were not changed", error.message),
    };
    ProviderError { message, ..error }
}
