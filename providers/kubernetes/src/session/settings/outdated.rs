//! The nodes whose machines run with other settings than those of their pool, in plans.
//!
//! A run that was stopped while it brought settings to machines leaves a mixed pool: the object has the previous settings, and
//! some machines have the next ones. The plan shows these nodes, also when the object does not change.

use slipway_bootstrap::boot::{SETTINGS_OF, changed_settings, needs_drain};
use slipway_resource::provider::{DryRun, PlanItem};
use slipway_resource::{Path, ProviderError, Value};
use tokio::sync::OnceCell;

use super::Settings;
use super::report::Seen;
use crate::api::Connection;
use crate::schema::OUTDATED_NODES;
use crate::session::KubernetesSession;
use crate::session::read::attribute;

/// How many nodes are named in the reasons of a change.
const NAMED: usize = 10;

/// The nodes whose machines report settings, of all pools. They are listed once for a plan, and only if an object has settings.
#[derive(Default)]
pub(in crate::session) struct Reporting(OnceCell<Vec<Seen>>);

impl Reporting {
    async fn nodes(&self, connection: &Connection) -> Result<&[Seen], ProviderError> {
        self.0.get_or_try_init(|| Seen::all(connection, SETTINGS_OF)).await.map(Vec::as_slice)
    }
}

impl Settings {
    /// The sentences of a plan: for each node why it changes, given the settings that the object has.
    fn reasons(&self, before: Option<&Self>, outdated: &[Seen]) -> Vec<String> {
        let changed = before.map(|before| changed_settings(&before.text, &self.text)).unwrap_or_default();
        let is_as_before = |seen: &Seen| before.is_some_and(|before| seen.report.digest == before.digest);
        let how = |seen: &Seen| match is_as_before(seen) && seen.ready && needs_drain(&changed) {
            true => "after a drain",
            false => "without a drain",
        };
        let why = |seen: &Seen| {
            if is_as_before(seen) && !changed.is_empty() {
                changed.join(", ")
            } else if seen.report.digest == self.digest {
                "an earlier run that did not end gives its machine other settings".to_owned()
            } else {
                "its machine has other settings than its pool, as after a run that did not end".to_owned()
            }
        };
        let mut reasons: Vec<String> = outdated
            .iter()
            .take(NAMED)
            .map(|seen| format!("node {} changes in place, {}: {}", seen.name, how(seen), why(seen)))
            .collect();
        if let Some(more) = outdated.len().checked_sub(NAMED).filter(|more| *more > 0) {
            reasons.push(format!("{more} more nodes of the pool {} change in place", self.pool));
        }
        reasons
    }
}

impl KubernetesSession {
    /// Adds the nodes that have to change to the prediction for an object with settings. Other predictions stay as they are.
    ///
    /// # Errors
    /// When the nodes cannot be listed.
    pub(in crate::session) async fn with_outdated_nodes(
        &self,
        mut dry_run: DryRun,
        item: &PlanItem,
        reporting: &Reporting,
    ) -> Result<DryRun, ProviderError> {
        let (Some(observed), Some(desired)) = (&item.observed, &item.desired) else { return Ok(dry_run) };
        let Some(settings) = settings_of(desired) else { return Ok(dry_run) };
        let Some(connection) = self.connector.connection().await? else { return Ok(dry_run) };
        let outdated = settings.outdated(reporting.nodes(&connection).await?.iter().cloned());
        if outdated.is_empty() {
            return Ok(dry_run);
        }
        dry_run.reasons.extend(settings.reasons(settings_of(observed).as_ref(), &outdated));
        let count = i64::try_from(outdated.len()).unwrap_or(i64::MAX);
        let with = |attributes: Option<Value>, before: &Value, count: i64| {
            let mut attributes = attributes.unwrap_or_else(|| before.clone());
            attributes.set(&Path::key(OUTDATED_NODES), count.into());
            Some(attributes)
        };
        dry_run.observed = with(dry_run.observed, observed, count);
        dry_run.desired = with(dry_run.desired, desired, 0);
        Ok(dry_run)
    }
}

/// The settings in the manifest of an object.
fn settings_of(attributes: &Value) -> Option<Settings> {
    let manifest = attribute(attributes, "manifest");
    // Almost no object has any, and manifests are large.
    manifest.get("metadata")?.get("labels")?.get(SETTINGS_OF)?;
    Settings::of(&manifest.to_json())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use slipway_bootstrap::boot::{SETTINGS, SettingsReport};

    use super::*;

    fn settings(text: &str) -> Settings {
        let manifest = json!({"kind": "ConfigMap", "metadata": {"labels": {SETTINGS_OF: "nodes"}},
            "data": {SETTINGS: text}});
        Settings::of(&manifest).unwrap()
    }

    fn seen(name: &str, digest: &str, wanted: &str, ready: bool) -> Seen {
        let report = SettingsReport {
            pool: "nodes".to_owned(),
            digest: digest.to_owned(),
            ..SettingsReport::default()
        };
        Seen { name: name.to_owned(), ready, wanted: Some(wanted.to_owned()), report }
    }

    #[test]
    fn a_mixed_pool_names_the_nodes_that_differ_and_why() {
        let (old, new) = (settings(r#"{"labels":{"a":"1"}}"#), settings(r#"{"labels":{"a":"2"}}"#));
        let nodes = [
            seen("as-before", &old.digest, &old.digest, true),
            seen("as-wanted", &new.digest, &new.digest, true),
            seen("about-to-differ", &new.digest, "sha256:other", true),
            seen("other", "sha256:other", "sha256:other", false),
            // Its machine takes them when it runs.
            seen("off", &old.digest, &new.digest, false),
        ];
        let outdated = new.outdated(nodes);
        assert_eq!(
            new.reasons(Some(&old), &outdated),
            [
                "node about-to-differ changes in place, without a drain: an earlier run that did not end gives its machine other \
                 settings",
                "node as-before changes in place, without a drain: labels.a",
                "node other changes in place, without a drain: its machine has other settings than its pool, as after a run that \
                 did not end",
            ]
        );
        let reserved =
            |cpu: &str| settings(&format!(r#"{{"kubelet":{{"kubeReserved":{{"cpu":"{cpu}"}}}}}}"#));
        let (less, more) = (reserved("1"), reserved("2"));
        let of_it = [seen("a", &less.digest, &less.digest, true)];
        assert_eq!(
            more.reasons(Some(&less), &of_it),
            ["node a changes in place, after a drain: kubelet.kubeReserved"]
        );
        let of_another_pool = seen("a", &old.digest, &old.digest, true);
        let other = Settings { pool: "others".to_owned(), ..new };
        assert!(other.outdated([of_another_pool]).is_empty());
    }
}
