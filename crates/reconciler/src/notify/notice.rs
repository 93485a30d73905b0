//! The content of a notification.

use jiff::Timestamp;
use serde_json::{Value as Json, json};
use slipway_limits::text::visible;
use slipway_state_store::Digest;

use super::Template;
use crate::configuration::NotificationKind;
use crate::status::Status;

/// The content of a notification about a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub cluster: String,
    pub reason: String,
    pub message: String,
    pub code: String,
    pub hints: Vec<String>,
    pub controller: String,
    pub source: String,
    pub path: String,
    pub revision: String,
    /// The digest of the last plan.
    pub plan: String,
    /// The last plan in numbers.
    pub changes: String,
    pub when: Timestamp,
}

impl Notice {
    /// The present reason of a cluster.
    pub fn of(status: &Status, when: Timestamp) -> Self {
        let ready = status.ready();
        let problem = status.problem.as_ref();
        let plan = status.plan.as_ref();
        Self {
            cluster: status.cluster.clone(),
            reason: ready.map(|ready| ready.reason.clone()).unwrap_or_default(),
            message: ready.map(|ready| visible(&ready.message).into_owned()).unwrap_or_default(),
            code: problem.and_then(|problem| problem.code.clone()).unwrap_or_default(),
            hints: problem.map(|problem| problem.hints.clone()).unwrap_or_default(),
            controller: status.controller.clone(),
            source: status.source.clone(),
            path: status.path.clone(),
            revision: status.revision.clone(),
            plan: plan.map(|plan| plan.digest.clone()).unwrap_or_default(),
            changes: plan.map(|plan| plan.facts.to_string()).unwrap_or_default(),
            when,
        }
    }

    pub(super) fn field(&self, name: &str) -> String {
        match name {
            "cluster" => &self.cluster,
            "reason" => &self.reason,
            "message" => &self.message,
            "code" => &self.code,
            "hint" => return self.hints.join("; "),
            "controller" => &self.controller,
            "source" => &self.source,
            "path" => &self.path,
            "revision" => &self.revision,
            "plan" => &self.plan,
            "changes" => &self.changes,
            _ => return String::new(),
        }
        .clone()
    }

    /// The type and the content of the request for a receiver.
    pub fn body(&self, kind: NotificationKind, template: &Template) -> (&'static str, Json) {
        let text = template.render(|name| self.field(name));
        match kind {
            NotificationKind::Json => ("application/json", self.data(&text)),
            // Texts of others mention nobody: https://docs.slack.dev/messaging/formatting-message-text, "Escaping text".
            NotificationKind::Slack => {
                let escaped = template.render(|name| {
                    self.field(name).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
                });
                ("application/json", json!({ "text": escaped }))
            }
            // CloudEvents 1.0, JSON event format, structured mode.
            NotificationKind::CloudEvents => (
                "application/cloudevents+json",
                json!({
                    "specversion": "1.0",
                    "id": self.id(),
                    "source": format!("/slipway/controllers/{}", self.controller),
                    "type": "dev.slipway.cluster.ready",
                    "subject": self.cluster,
                    "time": self.when.to_string(),
                    "datacontenttype": "application/json",
                    "data": self.data(&text),
                }),
            ),
        }
    }

    fn data(&self, text: &str) -> Json {
        json!({
            "cluster": self.cluster,
            "reason": self.reason,
            "message": self.message,
            "code": self.code,
            "hints": self.hints,
            "controller": self.controller,
            "source": self.source,
            "path": self.path,
            "revision": self.revision,
            "plan": self.plan,
            "changes": self.changes,
            "time": self.when.to_string(),
            "text": text,
        })
    }

    /// The same for each attempt to send it.
    fn id(&self) -> String {
        let text = [&self.cluster, &self.reason, &self.message, &self.when.to_string()]
            .map(String::as_str)
            .join("\0");
        Digest::of(text.as_bytes()).to_hex()
    }
}
