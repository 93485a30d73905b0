//! A service: a program that is kept running.

mod change;
mod seen;
mod version;

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_resource::provider::{Applied, Disruption, PlanItem, Planned};
use slipway_resource::schema::{Part, Role};
use slipway_resource::{Attribute, Digest, Path, ProviderError, ResourceType, Type, Value};
use tokio::time::Instant;

use super::form::{self, memorise, recall};
use super::{Kind, Place, Work};
use crate::attributes::Attributes;
use crate::error::invalid;
use crate::ledger::{Entry, Found, Stage};
use crate::ready::{self, Condition, VERIFY};
use crate::steady::{self, Steady};
use crate::supervise::{self, Definition, State};
use crate::{previous, process};
use change::{Changed, is_change};
use seen::Seen;

/// How long it may take until the process of a started program is seen.
const SEEN: Duration = Duration::from_secs(10);

/// How long the watch may take to record a process that it has just started.
const NOTED: Duration = Duration::from_secs(1);

/// A service of the node's init system or, without one, of Slipway's own watch.
pub(crate) struct Service;

/// What was running at the end of the last step.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Memory {
    /// The digest of the definition and triggers with which it was started.
    started_with: Option<String>,
    /// The files that it had read then.
    #[serde(default)]
    seen: Seen,
    /// Whether the service existed before, such as one of a package, and whether it was enabled then.
    found_enabled: Option<bool>,
    /// The definition with which it last ran well.
    #[serde(default)]
    definition: Option<Definition>,
}

#[async_trait]
impl Kind for Service {
    fn resource_type(&self) -> ResourceType {
        let optional = |kind, text: &str| Attribute::optional(kind).describe(text);
        let mut service = form::resource_type(
            "A program that is kept running.",
            2_000,
            [
                ("name", Attribute::required(Type::String).immutable().describe("Its name, as kubelet.")),
                (
                    "command",
                    optional(
                        Type::list(Type::String),
                        "The program and its arguments, for a node without an init system.",
                    )
                    .write_only(),
                ),
                (
                    "environment",
                    optional(
                        Type::map(Type::String),
                        "Variables of its environment, for a node without an init system.",
                    )
                    .write_only(),
                ),
                (
                    "unit",
                    optional(
                        Type::String,
                        "The text of its unit for systemd, or of its script for OpenRC; without, one is there.",
                    ),
                ),
                ("running", optional(Type::Bool, "Whether it runs.").default_to(true)),
                ("enabled", optional(Type::Bool, "Whether it starts with the machine.").default_to(true)),
                (
                    "restart_triggers",
                    optional(
                        Type::map(Type::String),
                        "What it is restarted for when it changes. One that is called by a path is a file that it reads \
                         when it starts, with its digest: it is restarted when it runs with another content, too.",
                    )
                    .write_only(),
                ),
                (
                    "current",
                    optional(
                        Type::Bool,
                        "Whether what runs has read its files as they are wanted, as far as that can be told. Not to be set.",
                    )
                    .default_to(true),
                ),
                ("pid", Attribute::computed(Type::Integer).describe("The number of its process.")),
                (
                    version::WANTED,
                    optional(
                        Type::String,
                        "The version that the program has to have, as 1.34.4. With `steady_node`, the node has to report it after a \
                         change.",
                    )
                    .write_only(),
                ),
                (
                    version::RUNNING,
                    Attribute::computed(Type::String).describe(
                        "The version of the program that runs: what it prints for `--version`. Read of a service with \
                         `steady_node` only.",
                    ),
                ),
            ],
        );
        service.attributes.extend(ready::attributes().map(|(name, attribute)| (name.to_owned(), attribute)));
        service.attributes.extend(steady::attributes().map(|(name, attribute)| (name.to_owned(), attribute)));
        service.roles.push(Role::of(Part::Kubelet, "kubelet"));
        service.operations.insert(VERIFY.to_owned(), ready::operation());
        service
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        let name = desired.text("name")?;
        let is_plain = !name.is_empty()
            && name.len() < 200
            && !name.starts_with(['.', '-'])
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte));
        if is_plain {
            Ok(name.to_owned())
        } else {
            Err(invalid(format!("`{name}` is not a name of a service")))
        }
    }

    fn plan(&self, item: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        let Some(observed) = &item.observed else { return Ok(()) };
        // Its process may be another one afterwards.
        planned.normalised.set(&Path::key("pid"), Value::Unknown);
        planned.normalised.set(&Path::key(version::RUNNING), Value::Unknown);
        let runs = planned.normalised.get("running").and_then(Value::as_bool).unwrap_or(true);
        if runs && observed.get("current").and_then(Value::as_bool) == Some(false) {
            planned.disruption = Disruption::Brief;
            planned
                .reasons
                .push("it is restarted: it may have read its files before they were corrected".to_owned());
        }
        version::explain(observed, planned);
        Ok(())
    }

    async fn look(&self, work: &Work) -> Result<Found, ProviderError> {
        let state = supervise::of(work.host()).state(work.host(), work.identity()).await?;
        Ok(if state.is_some() { Found::Kept } else { Found::Nothing })
    }

    async fn foresee(&self, work: &Work) -> Result<Json, ProviderError> {
        let mut memory: Memory = recall(work.place.memory()).unwrap_or_default();
        if work.place.entry.as_ref().is_some_and(|entry| entry.found == Found::Kept)
            && memory.found_enabled.is_none()
        {
            let state = supervise::of(work.host()).state(work.host(), work.identity()).await?;
            memory.found_enabled = Some(state.is_some_and(|state| state.enabled));
        }
        memorise(&memory)
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        let wanted = work.wanted();
        let definition = definition(wanted)?;
        let (running, enabled) = (
            wanted.optional_flag("running").unwrap_or(true),
            wanted.optional_flag("enabled").unwrap_or(true),
        );
        let mut memory: Memory = recall(work.place.memory()).unwrap_or_default();
        let with = started_with(&definition, wanted)?;
        let supervisor = supervise::of(work.host());
        let is_change = is_change(work);
        let unit =
            supervisor.definition_path(work.identity()).filter(|_| is_change && definition.unit.is_some());
        if let Some(path) = unit.clone() {
            work.blocking(move |work| previous::keep(&work.host().disk, &path)).await?;
        }
        let was_defined = supervisor.define(work, &definition).await?;
        supervisor.enable(work, enabled).await?;
        let state = supervisor.state(work.host(), work.identity()).await?;
        let is_running = state.as_ref().is_some_and(|state| state.running);
        let pid = state.and_then(|state| state.pid);
        let is_current = !was_defined
            && memory.started_with.as_deref() == Some(with.as_str())
            && memory.seen.is_current(&work.host().disk, wanted, pid)?
            && version::is_wanted(
                wanted,
                version::of_running(work.identity(), wanted, pid).await?.as_deref(),
            )?;
        let seen = Seen::now(&work.host().disk, wanted)?;
        let changed = Changed { steady: Steady::of(wanted)?, unit, before: memory.definition.clone() };
        let starts = running && !(is_running && is_current);
        let was_ready =
            starts && is_change && is_running && changed.steady.is_node_ready(&work.host().disk).await;
        let begun = Timestamp::now();
        match (running, is_running) {
            (false, true) => supervisor.stop(work).await?,
            (false, false) => {}
            (true, false) => supervisor.start(work, &definition).await?,
            (true, true) if is_current => {}
            (true, true) => supervisor.restart(work, &definition).await?,
        }
        if starts {
            memory.seen = seen.by(started(work).await?);
        }
        if starts && is_change && !changed.steady.is_empty() {
            changed.runs_well(work, begun, was_ready).await?;
        } else if running {
            Condition::of(wanted)?.wait(work).await?;
        }
        changed.is_done(work).await?;
        memory.definition = Some(definition);
        memory.started_with = Some(with);
        memorise(&memory)
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        let supervisor = supervise::of(work.host());
        let state = supervisor.state(work.host(), work.identity()).await?;
        // A program may outlive its watch, and then shows as not running.
        if supervisor.is_ours() || state.is_some_and(|state| state.running) {
            supervisor.stop(work).await?;
        }
        let memory: Memory = recall(work.place.memory()).unwrap_or_default();
        if !memory.found_enabled.unwrap_or(false) {
            supervisor.enable(work, false).await?;
        }
        supervisor.forget(work, work.place.wanted().0.get("unit").is_some()).await
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        let state = settled(place).await?;
        let wanted = place.wanted();
        let State { running, enabled, unit, pid } = match (state, &place.entry) {
            (Some(state), _) => state,
            // Without an init system nothing is left of a service that does not run but the ledger's word.
            (None, Some(entry)) if supervise::of(&place.host).is_ours() && entry.stage != Stage::Creating => {
                State::stopped()
            }
            _ => return Ok(None),
        };
        let memory: Memory = recall(place.memory()).unwrap_or_default();
        // After an interrupted step, it is not known whether the running program is the desired one.
        let has_ended = place.entry.as_ref().is_none_or(Entry::has_ended);
        let version = version::of_running(place.identity.as_str(), wanted, pid).await?;
        let current = !running
            || (has_ended
                && version::is_wanted(wanted, version.as_deref())?
                && memory.seen.is_current(&place.host.disk, wanted, pid)?);
        let mut value = Value::map([
            ("name", Value::from(place.identity.as_str())),
            ("running", running.into()),
            ("current", current.into()),
            ("pid", pid.map_or(Value::Null, |pid| Value::Integer(i64::from(pid)))),
            (version::RUNNING, version.into()),
        ]);
        let own = supervise::of(&place.host).is_ours();
        let enabled = if own { wanted.optional_flag("enabled").unwrap_or(true) } else { enabled };
        value.set(&Path::key("enabled"), enabled.into());
        let unit = if own { wanted.optional_text("unit")?.map(str::to_owned) } else { unit };
        // A unit that the spec does not name belongs to a package.
        if own || wanted.0.get("unit").is_some() || place.entry.is_none() {
            value.set(&Path::key("unit"), unit.map_or(Value::Null, Value::from));
        }
        Ok(Some(value))
    }

    async fn operate(&self, work: &Work, name: &str, arguments: &Value) -> Result<Applied, ProviderError> {
        if name != VERIFY {
            return Err(invalid(format!("a service has no operation {name}")));
        }
        let of_arguments = Condition::of(Attributes(arguments))?;
        if of_arguments.is_empty() {
            Condition::of(work.place.wanted())?.wait(work).await?;
        } else {
            of_arguments.wait(work).await?;
        }
        Ok(Applied::new(work.place.identity.clone(), Value::Null))
    }
}

/// The state of a service. Between the start of a program and the record of its process, the running program
/// is unknown, which is waited for. A program that has ended and is restarted later has no process.
async fn settled(place: &Place) -> Result<Option<State>, ProviderError> {
    let (supervisor, until) = (supervise::of(&place.host), Instant::now() + NOTED);
    loop {
        let state = supervisor.state(&place.host, place.identity.as_str()).await?;
        let is_settled =
            state.as_ref().is_none_or(|state| !state.running || state.pid.and_then(process::start).is_some());
        if is_settled || !supervisor.is_ours() || Instant::now() >= until {
            return Ok(state);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The process of a started program; `None` when the supervisor does not report processes, when the program does
/// not start, or when it has ended and its unit stays active, as of `Type=oneshot` with `RemainAfterExit=yes`.
async fn started(work: &Work) -> Result<Option<u32>, ProviderError> {
    let (supervisor, until) = (supervise::of(work.host()), Instant::now() + SEEN);
    loop {
        let state = supervisor.state(work.host(), work.identity()).await?;
        let has_ended = state.as_ref().is_some_and(|state| state.running && state.pid.is_none());
        let pid = state.and_then(|state| state.pid);
        let is_final = pid.is_some() || (has_ended && !supervisor.is_ours());
        if is_final || !supervisor.tells_processes(work.host()) || Instant::now() >= until {
            return Ok(pid);
        }
        work.pause(Duration::from_millis(20)).await?;
    }
}

fn definition(wanted: Attributes<'_>) -> Result<Definition, ProviderError> {
    Ok(Definition {
        command: wanted.texts("command"),
        environment: wanted.map("environment")?,
        unit: wanted.optional_text("unit")?.map(str::to_owned),
    })
}

/// A digest of all values whose change restarts the service.
fn started_with(definition: &Definition, wanted: Attributes<'_>) -> Result<String, ProviderError> {
    let triggers: BTreeMap<String, String> = wanted.map("restart_triggers")?;
    let all = (&definition.command, &definition.environment, &definition.unit, triggers);
    let digest = Digest::of(&all).map_err(|error| invalid(error.to_string()))?;
    Ok(digest.as_str().to_owned())
}
