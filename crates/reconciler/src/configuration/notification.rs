//! Notifications: where the controller tells what became of clusters.

use std::path::PathBuf;

use serde::Deserialize;
use slipway_resource::pattern::matches;

use crate::notify::{Template, place_of};
use crate::status::Reason;

/// A receiver of notifications.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Notification {
    /// Its name, in logs and metrics.
    pub name: String,
    /// The form of the messages.
    pub kind: NotificationKind,
    /// The URL to which messages are posted.
    pub url: Option<String>,
    /// The file with this URL, where the URL itself is a secret.
    pub url_file: Option<PathBuf>,
    /// The file with a token, which is sent as `Authorization: Bearer`.
    pub token_file: Option<PathBuf>,
    /// Whether plain HTTP is allowed to a host that is not this machine.
    #[serde(default)]
    pub insecure_http: bool,
    /// The clusters: names, in which `*` matches any characters.
    #[serde(default = "everything")]
    pub clusters: Vec<String>,
    /// The reasons of the condition `Ready` for which a notification is sent.
    #[serde(default = "usual_reasons")]
    pub reasons: Vec<String>,
    /// The text, with fields such as `{cluster}`.
    #[serde(default = "usual_template")]
    pub template: String,
}

/// Forms of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NotificationKind {
    /// A JSON object of the fields.
    Json,
    /// `{"text": …}`, as Slack, Mattermost and others take it.
    Slack,
    /// A CloudEvent 1.0 in structured mode, with the fields as its data.
    CloudEvents,
}

fn everything() -> Vec<String> {
    vec!["*".to_owned()]
}

fn usual_reasons() -> Vec<String> {
    Reason::ALL
        .iter()
        .filter(|reason| reason.is_told_by_default())
        .map(|reason| reason.word().to_owned())
        .collect()
}

fn usual_template() -> String {
    "{cluster}: {reason}: {message}".to_owned()
}

impl Notification {
    /// Whether a notification is sent for a reason of a cluster.
    pub(crate) fn wants(&self, cluster: &str, reason: &str) -> bool {
        self.reasons.iter().any(|known| known == reason)
            && self.clusters.iter().any(|name| matches(name, cluster))
    }

    /// Why the table cannot be used; `None` if it can.
    pub(super) fn problem(&self) -> Option<String> {
        match (&self.url, &self.url_file) {
            (Some(url), None) => {
                if let Err(reason) = place_of(url, self.insecure_http) {
                    return Some(format!("`url` {reason}"));
                }
            }
            (None, Some(_)) => {}
            _ => return Some("it has one of `url` and `url-file`".to_owned()),
        }
        let is_told = |word: &String| Reason::ALL.iter().any(|known| known.word() == word && known.is_told());
        if let Some(unknown) = self.reasons.iter().find(|word| !is_told(word)) {
            return Some(format!("`reasons` has `{unknown}`, which is no reason of a notification"));
        }
        Template::parse(&self.template).err()
    }
}
