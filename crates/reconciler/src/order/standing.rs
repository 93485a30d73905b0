//! How far a cluster is with the present revision, as those see it that wait for it.

use jiff::Timestamp;

use super::{Member, Order, View};
use crate::status::{Reason, Status};

/// How many characters of a message are passed on.
const LENGTH: usize = 240;

/// How many digits of a revision are shown.
const DIGITS: usize = 12;

/// How far a cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// In line with its spec, and healthy, since this moment.
    Ready(Timestamp),
    /// Not in line yet.
    Open,
    /// Not in line, and its last attempt failed, or it needs a correction.
    Stopped,
}

/// Whether a plan of a cluster is being applied now.
pub(super) fn is_applied(cluster: &str, view: &View<'_>) -> bool {
    view.statuses.get(cluster).is_some_and(|status| status.is(Reason::Applying))
}

impl Order {
    pub(super) fn standing(&self, cluster: &str, member: &Member, view: &View<'_>) -> Standing {
        if member.blocked.is_some() {
            return Standing::Stopped;
        }
        let is_paused = view.board.pause(cluster, view.now).is_some();
        let Some(status) = view.statuses.get(cluster).filter(|status| self.is_present(member, status)) else {
            return Standing::Open;
        };
        match status.ready() {
            Some(ready) if ready.status == "True" && !is_paused => {
                Standing::Ready(ready.last_transition_time.0)
            }
            _ if status.is(Reason::Failed) || is_stalled(status) => Standing::Stopped,
            _ => Standing::Open,
        }
    }

    /// Whether a status is about the spec that the cluster has in the present revision. One that was not changed by the
    /// revision needs no new look.
    fn is_present(&self, member: &Member, status: &Status) -> bool {
        let is_spec = member
            .spec
            .as_ref()
            .is_some_and(|spec| spec.path == status.path && spec.digest == status.spec_digest);
        is_spec && status.source == member.source && status.controller == self.controller
    }

    /// Why a cluster is not in line, in one line.
    pub(super) fn why(&self, cluster: &str, member: &Member, view: &View<'_>) -> String {
        if let Some(blocked) = &member.blocked {
            return line(blocked);
        }
        if let Some(pause) = view.board.pause(cluster, view.now) {
            return line(&pause.to_string());
        }
        let status = view.statuses.get(cluster).copied();
        if let Some(status) = status.filter(|status| status.controller != self.controller) {
            return format!("the controller {} works on it", status.controller);
        }
        let present = status.filter(|status| self.is_present(member, status));
        match present.and_then(|status| status.ready()) {
            Some(ready) if ready.reason == Reason::Failed.word() => {
                line(&format!("the last attempt failed: {}", ready.message))
            }
            Some(ready) => line(&format!("{}: {}", ready.reason, ready.message)),
            None => {
                let revision = member.spec.as_ref().map_or("", |spec| spec.revision.as_str());
                let digits = revision.strip_prefix("sha256:").unwrap_or(revision);
                format!("it was not planned with revision {} yet", digits.get(..DIGITS).unwrap_or(digits))
            }
        }
    }
}

fn is_stalled(status: &Status) -> bool {
    status.conditions.iter().any(|condition| condition.type_ == "Stalled" && condition.status == "True")
}

/// The first line of a message, shortened.
fn line(text: &str) -> String {
    let first = text.trim().lines().next().unwrap_or_default();
    match first.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", first.get(..end).unwrap_or(first).trim_end()),
        None => first.trim_end().to_owned(),
    }
}
