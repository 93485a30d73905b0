//! What the Node of a machine says about its settings.

use serde_json::Value as Json;
use slipway_bootstrap::boot::{SETTINGS_REPORT, SettingsReport, WANTED_SETTINGS};
use slipway_resource::ProviderError;

use crate::api::{Connection, Request, Selector};
use crate::object::text;

/// A node whose machine reports its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// Its name.
    pub name: String,
    /// Whether its kubelet reports it as ready.
    pub ready: bool,
    /// The digest of the settings that its machine has to run with; `None` before it or a plan has named them.
    pub wanted: Option<String>,
    /// What its machine says.
    pub report: SettingsReport,
}

/// How far a machine is with settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It runs well with them, or is gone.
    Done,
    /// It does not: the part that is missing.
    Open(String),
    /// It did not run well with them: the reason.
    Failed(String),
}

impl Seen {
    /// The report of a node; `None` when there is none.
    pub(super) fn of(node: &Json) -> Option<Self> {
        let annotation = |name: &str| node.pointer("/metadata/annotations")?.get(name)?.as_str();
        Some(Self {
            name: text(node, "/metadata/name")?.to_owned(),
            ready: is_ready(node),
            wanted: annotation(WANTED_SETTINGS).map(str::to_owned),
            report: serde_json::from_str(annotation(SETTINGS_REPORT)?).ok()?,
        })
    }

    /// The nodes with labels whose machines report settings.
    ///
    /// # Errors
    /// As the API says.
    pub(super) async fn all(connection: &Connection, labels: &str) -> Result<Vec<Self>, ProviderError> {
        let nodes = connection.list_all("/api/v1/nodes", ("v1", "Node"), Selector::Labels(labels)).await?;
        Ok(nodes.iter().filter_map(Self::of).collect())
    }

    /// Whether a plan has to bring settings to the machine. A machine that does not run takes those that its Node names when it
    /// runs again.
    pub(super) fn is_outdated(&self, digest: &str) -> bool {
        match &self.wanted {
            Some(wanted) if wanted == digest => self.ready && self.report.digest != digest,
            Some(_) => true,
            None => self.report.digest != digest,
        }
    }

    /// How far a machine is with the settings of a digest.
    ///
    /// # Errors
    /// As the API says, when repeating does not help.
    pub(super) async fn look(
        connection: &Connection,
        name: &str,
        digest: &str,
    ) -> Result<Progress, ProviderError> {
        match connection.ask(&Request::get(format!("/api/v1/nodes/{name}"))).await {
            Ok(answer) => Ok(answer.found()?.map_or(Progress::Done, |node| progress(&node, digest))),
            // The API may be away for a moment.
            Err(error) if error.class.is_retryable() => Ok(Progress::Open(error.message)),
            Err(error) => Err(error),
        }
    }
}

/// How far the machine of a node is with the settings of a digest.
fn progress(node: &Json, digest: &str) -> Progress {
    let Some(Seen { ready, report, .. }) = Seen::of(node) else {
        return Progress::Open("its machine reports nothing".to_owned());
    };
    if report.failed.as_deref() == Some(digest) {
        return Progress::Failed(report.message.unwrap_or_else(|| "its machine gives no reason".to_owned()));
    }
    match (report.digest == digest && report.failed.is_none(), ready) {
        (true, true) => Progress::Done,
        (true, false) => Progress::Open("its kubelet is not ready".to_owned()),
        (false, _) => Progress::Open("its machine has not taken them yet".to_owned()),
    }
}

/// Whether the kubelet of a node reports it as ready.
fn is_ready(node: &Json) -> bool {
    let conditions = node.pointer("/status/conditions").and_then(Json::as_array);
    let mut ready =
        conditions.into_iter().flatten().filter(|condition| text(condition, "/type") == Some("Ready"));
    ready.any(|condition| text(condition, "/status") == Some("True"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(ready: &str, report: &Json) -> Json {
        json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": "a", "annotations": {SETTINGS_REPORT: report.to_string()}},
            "status": {"conditions": [{"type": "Ready", "status": ready}]}})
    }

    #[test]
    fn a_machine_is_done_when_it_runs_well_with_the_settings() {
        let report = json!({"pool": "nodes", "digest": "sha256:1"});
        assert_eq!(progress(&node("True", &report), "sha256:1"), Progress::Done);
        assert!(matches!(progress(&node("False", &report), "sha256:1"), Progress::Open(_)));
        assert!(matches!(progress(&node("True", &report), "sha256:2"), Progress::Open(_)));
    }

    #[test]
    fn a_machine_that_went_back_has_failed() {
        let report = json!({"pool": "nodes", "digest": "sha256:1", "failed": "sha256:2", "message": "why"});
        let node = node("True", &report);
        assert_eq!(progress(&node, "sha256:2"), Progress::Failed("why".to_owned()));
        // It still says so while the previous settings are wanted.
        assert!(matches!(progress(&node, "sha256:1"), Progress::Open(_)));
        assert!(Seen::of(&json!({"metadata": {"name": "a"}})).is_none());
    }
}
