//! `slipway node settings`: brings the settings that the plan of the cluster has set to this machine, and reports.
//!
//! An annotation of the machine's own Node says which settings those are, a ConfigMap has them. A worker reads both with the
//! certificate of its kubelet, a control plane as the administrator, from its own API server. The machine carries its plan out as
//! a boot does, and goes back to the previous settings when its kubelet or a static pod does not run well with the new ones.

use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value as Json, json};
use slipway_bootstrap::boot::{
    NEXT_SETTINGS, NodeBootstrap, SETTINGS, SETTINGS_OF, SETTINGS_REPORT, SettingsReport, WANTED_SETTINGS,
    settings_digest,
};
use slipway_resource::with_causes;

use super::machine::{self, Signals};
use super::settings::{self, Kept};
use super::{Stop, attempt};
use crate::api::Api;
use crate::caller::Caller;
use crate::code;
use crate::error::Error;
use crate::facts::below;
use crate::machine::Machine;
use crate::spec::NodeSpec;

/// The shortest pause between two looks of the machine at its Node.
const PAUSE: Duration = Duration::from_secs(10);
/// How much longer a pause may be, so that the machines of a pool do not ask all at once.
const JITTER: Duration = Duration::from_secs(10);
/// How many characters of a failure are reported.
const LONGEST: usize = 1024;

/// Follows the settings until a signal comes.
pub async fn run(caller: &dyn Caller) -> Result<(), Error> {
    let mut agent = Agent { caller, failed: None, reported: None };
    let mut signals = Signals::new()?;
    caller.leave_signals();
    loop {
        if let Err(error) = agent.look().await {
            let text = error.to_string();
            if agent.reported.as_ref() != Some(&text) {
                caller.report(error);
            }
            agent.reported = Some(text);
        } else {
            agent.reported = None;
        }
        if signals.within(pause()).await {
            return Ok(());
        }
    }
}

/// A pause of a length that differs from machine to machine, and from look to look.
fn pause() -> Duration {
    let random = RandomState::new().hash_one(PAUSE);
    PAUSE + JITTER.mul_f64(f64::from(u32::try_from(random >> 32).unwrap_or_default()) / f64::from(u32::MAX))
}

/// Refuses a machine that has no settings to follow.
fn followed(document: &NodeBootstrap) -> Result<&str, Error> {
    document.settings_name().ok_or_else(|| {
        Error::new(code::POOL_SETTINGS, "the bootstrap document of this machine has all of its settings")
            .hint("`rollout.strategy: inPlaceOrReplace` of its pool puts them into the cluster")
    })
}

/// The agent, with what it remembers between two looks.
struct Agent<'a> {
    caller: &'a dyn Caller,
    /// The digest of settings with which the machine did not run well, and why.
    failed: Option<(String, String)>,
    /// The error that was written last.
    reported: Option<String>,
}

/// The machine and its Node at one look.
struct Here<'a> {
    api: &'a Api,
    /// The path of the Node.
    node: &'a str,
    kept: &'a Kept,
    /// The spec of the last run.
    before: &'a NodeSpec,
    document: &'a NodeBootstrap,
}

impl Agent<'_> {
    /// Looks at the Node of the machine once, and changes the machine if it has to.
    async fn look(&mut self) -> Result<(), Error> {
        let root = Path::new("/");
        let machine = Machine::open(self.caller, root).await?;
        let spec = machine.spec()?;
        let Some((spec, boot)) = spec.as_ref().and_then(|spec| Some((spec, spec.boot.as_ref()?))) else {
            return Err(Error::new(code::POOL_SETTINGS, "this machine did not boot in a cloud"));
        };
        let document = attempt::document(boot)?;
        let name = followed(&document)?;
        let api = match document.is_control_plane() {
            true => Api::of_administrator_at(root, &spec.configuration.local_endpoint().url())?,
            false => Api::of_file(root, &below(root, "/etc/kubernetes/kubelet.conf"))?,
        };
        let own = format!("/api/v1/nodes/{}", spec.configuration.node.name);
        let kept = Kept::of(root);
        let node = match (api.get(&own).await, kept.unfinished()?) {
            (Ok(answer), _) => answer.body,
            // Settings that a kill has left may be why the API server of this machine does not answer.
            (Err(error), Some(text)) if document.is_control_plane() && error.may_pass() => {
                drop(machine);
                let here = Here { api: &api, node: &own, kept: &kept, before: spec, document: &document };
                return self.change(&here, (&settings_digest(&text), &text)).await;
            }
            (Err(error), _) => return Err(error.into()),
        };
        let current = kept.current()?.unwrap_or_default();
        let annotation = |name: &str| metadata(&node, "annotations", name).map(str::to_owned);
        let (wanted, text) = match annotation(WANTED_SETTINGS) {
            Some(wanted) => (wanted, None),
            // No plan has named settings for this node: it gets those of new machines.
            None => {
                let map = api.get(&settings::path(name)).await?.body;
                let text = settings::text_of(&map, SETTINGS, None).ok_or_else(|| missing(name))?;
                (settings_digest(&text), Some(text))
            }
        };
        let mut digest = settings_digest(&current);
        if self.failed.as_ref().is_some_and(|(failed, _)| *failed != wanted) {
            self.failed = None;
        }
        let is_changing = kept.previous()?.is_some();
        if (digest != wanted || is_changing) && self.failed.is_none() {
            let text = match text {
                Some(text) => text,
                None if digest == wanted => current.clone(),
                None => text_with(&api, name, &wanted, &kept).await?,
            };
            drop(machine);
            let here = Here { api: &api, node: &own, kept: &kept, before: spec, document: &document };
            self.change(&here, (&wanted, &text)).await?;
            digest = settings_digest(&kept.current()?.unwrap_or_default());
        }
        let (failed, message) = self.failed.clone().unzip();
        let report = SettingsReport { pool: document.pool().to_owned(), digest, failed, message };
        let report = serde_json::to_string(&report)
            .map_err(|error| Error::internal("the report cannot be written", &error))?;
        let is_reported = annotation(SETTINGS_REPORT).as_ref() == Some(&report);
        let is_wanted = annotation(WANTED_SETTINGS).is_some();
        if !is_reported || !is_wanted || metadata(&node, "labels", SETTINGS_OF) != Some(document.pool()) {
            let mut annotations = json!({ SETTINGS_REPORT: report });
            if !is_wanted {
                annotations[WANTED_SETTINGS] = wanted.into();
            }
            // A plan finds the nodes of a pool by this label.
            let labels = json!({ SETTINGS_OF: document.pool() });
            let patch = json!({ "metadata": { "annotations": annotations, "labels": labels } });
            api.merge(&own, &patch).await?;
        }
        Ok(())
    }

    /// Carries the plan of the machine out with other settings, and goes back if it does not run well with them.
    async fn change(&mut self, here: &Here<'_>, (digest, text): (&str, &str)) -> Result<(), Error> {
        let kept = here.kept;
        self.caller.message(&format!("The settings {digest} are applied."));
        // Settings that this program cannot read are no reason to touch the machine.
        let tried = match settings::read(text) {
            Ok(_) => {
                kept.change_to(text)?;
                self.apply(here).await?
            }
            Err(error) => Some(with_causes(&error)),
        };
        let Some(why) = tried else {
            label(here, text).await?;
            kept.is_done()?;
            self.caller.message(&format!("This machine runs with the settings {digest}."));
            return Ok(());
        };
        self.caller.message(&format!("The previous settings are applied again: {why}"));
        kept.go_back()?;
        if let Some(why) = self.apply(here).await? {
            return Err(
                Error::new(code::POOL_SETTINGS, "the previous settings cannot be applied either").cause(why)
            );
        }
        kept.is_done()?;
        self.failed = Some((digest.to_owned(), why.chars().take(LONGEST).collect()));
        Ok(())
    }

    /// Carries the plan of the machine out. Returns why steps of it failed.
    async fn apply(&self, here: &Here<'_>) -> Result<Option<String>, Error> {
        let machine = Machine::open(self.caller, Path::new("/")).await?;
        let Some(boot) = &here.before.boot else { return Ok(None) };
        let before = (Some(here.before), None);
        let prepared = attempt::prepare(self.caller, &machine, here.document, boot, before).await;
        let prepared = prepared.map_err(Stop::into_error)?;
        machine::settle(self.caller, machine, prepared).await
    }
}

/// The settings of a digest: those that the machine had before, or those in the cluster.
async fn text_with(api: &Api, name: &str, digest: &str, kept: &Kept) -> Result<String, Error> {
    if let Some(previous) = kept.previous()?.filter(|text| settings_digest(text) == digest) {
        return Ok(previous);
    }
    let map = api.get(&settings::path(name)).await?.body;
    let found = [SETTINGS, NEXT_SETTINGS].iter().find_map(|key| settings::text_of(&map, key, Some(digest)));
    found.ok_or_else(|| missing(name))
}

fn missing(name: &str) -> Error {
    let text = format!(
        "the ConfigMap {name} in kube-system does not have the settings that this node has to run with"
    );
    Error::new(code::POOL_SETTINGS, text).hint("the next `slipway apply` writes them")
}

/// Gives the node the labels of its new settings, as far as its kubelet may: a kubelet does so only when it registers. The plan of
/// a control plane has the labels of its node.
async fn label(here: &Here<'_>, text: &str) -> Result<(), Error> {
    if here.document.is_control_plane() {
        return Ok(());
    }
    let Some(before) = here.kept.previous()? else { return Ok(()) };
    let (before, after) = (settings::read(&before)?, settings::read(text)?);
    let (before, after) = (before.permitted_labels(), after.permitted_labels());
    if before == after {
        return Ok(());
    }
    let mut labels: serde_json::Map<String, Json> =
        before.keys().map(|name| ((*name).to_owned(), Json::Null)).collect();
    labels.extend(after.iter().map(|(name, value)| ((*name).to_owned(), Json::from(*value))));
    here.api.merge(here.node, &json!({ "metadata": { "labels": labels } })).await?;
    Ok(())
}

/// A label or an annotation of a node.
fn metadata<'a>(node: &'a Json, part: &str, name: &str) -> Option<&'a str> {
    node.get("metadata")?.get(part)?.get(name)?.as_str()
}
