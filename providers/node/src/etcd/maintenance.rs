//! The status, the leader and the database of a member, and keys that are removed from etcd, by etcd's JSON gateway
//! (`/v3/maintenance/…`, `/v3/kv/…`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use slipway_resource::ProviderError;

use super::{Etcd, Member};
use crate::error::transient;

/// The alarm of a member whose database has reached its quota.
pub(crate) const NO_SPACE: &str = "NOSPACE";

/// The status of a member, as the member itself has it. It needs no majority.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Status {
    /// The greatest revision of its database.
    pub(crate) revision: i64,
    /// Its Raft term.
    pub(crate) term: u64,
    /// Whether it knows a leader.
    pub(crate) has_leader: bool,
    /// Whether it is the leader.
    pub(crate) leads: bool,
    /// The alarms of all members, as `NOSPACE of member 8e9e05c52164694d`.
    pub(crate) alarms: Vec<String>,
    /// The size of its database in bytes, free space included.
    pub(crate) size: i64,
    /// Its version, as `3.6.5`.
    pub(crate) version: String,
}

/// In the JSON of etcd's gateway, numbers of 64 bits are texts, and zeros are absent.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Said {
    header: Header,
    leader: String,
    #[serde(rename = "raftTerm")]
    raft_term: String,
    errors: Vec<String>,
    #[serde(rename = "dbSize")]
    size: String,
    version: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Header {
    member_id: String,
    revision: String,
}

impl Etcd {
    /// The status of the member behind the first endpoint.
    pub(crate) async fn status(&self) -> Result<Status, ProviderError> {
        let said: Said = self.call("maintenance/status", &json!({})).await.and_then(|answer| {
            serde_json::from_value(answer).map_err(|error| transient(format!("etcd's status: {error}")))
        })?;
        let has_leader = !matches!(said.leader.as_str(), "" | "0");
        Ok(Status {
            revision: said.header.revision.parse().unwrap_or_default(),
            term: said.raft_term.parse().unwrap_or_default(),
            has_leader,
            leads: has_leader && said.leader == said.header.member_id,
            alarms: said.errors.iter().filter_map(|error| alarm(error)).collect(),
            size: said.size.parse().unwrap_or_default(),
            version: said.version,
        })
    }

    /// Has another voting member lead. The first endpoint must be that of the leader.
    pub(crate) async fn move_leader(&self, to: &Member) -> Result<(), ProviderError> {
        self.call("maintenance/transfer-leadership", &json!({"targetID": to.id})).await.map(drop)
    }

    /// Has the member behind the first endpoint release the free space in its database. It answers no other requests meanwhile.
    pub(crate) async fn defragment(&self) -> Result<(), ProviderError> {
        self.call("maintenance/defragment", &json!({})).await.map(drop)
    }

    /// Removes what keys had before a revision, and waits until the member behind the first endpoint has freed the space. Needs a
    /// majority.
    pub(crate) async fn compact(&self, revision: i64) -> Result<(), ProviderError> {
        let request = json!({"revision": revision.to_string(), "physical": true});
        self.call("kv/compaction", &request).await.map(drop)
    }

    /// Clears the alarm of a member that its database has reached its quota. Needs a majority.
    pub(crate) async fn clear_no_space(&self, member: &Member) -> Result<(), ProviderError> {
        let request = json!({"action": "DEACTIVATE", "memberID": member.id, "alarm": NO_SPACE});
        self.call("maintenance/alarm", &request).await.map(drop)
    }

    /// Removes all keys with a prefix. Needs a majority.
    pub(crate) async fn remove_keys(&self, prefix: &str) -> Result<(), ProviderError> {
        let request = json!({"key": STANDARD.encode(prefix), "range_end": STANDARD.encode(end(prefix))});
        self.call("kv/deleterange", &request).await.map(drop)
    }

    /// Asks the first endpoint.
    pub(super) async fn call(&self, verb: &str, document: &Json) -> Result<Json, ProviderError> {
        let endpoint = self.endpoints.first().map(String::as_str).unwrap_or_default();
        let url = format!("{}/v3/{verb}", endpoint.trim_end_matches('/'));
        let answer = self.client.post(&url, document).await;
        let answer = answer.map_err(|error| transient(format!("{url}: {error}")))?;
        if answer.status != 200 {
            let text = String::from_utf8_lossy(&answer.body);
            return Err(transient(format!("{url} answers {}: {}", answer.status, text.trim())));
        }
        serde_json::from_slice(&answer.body).map_err(|error| transient(format!("{url}: {error}")))
    }
}

/// The alarm among the errors of a status, which are texts such as `memberID:10276657743932975437 alarm:NOSPACE`.
fn alarm(error: &str) -> Option<String> {
    let field = |name: &str| error.split_whitespace().find_map(|part| part.strip_prefix(name));
    let kind = field("alarm:")?;
    let member = field("memberID:").and_then(|id| id.parse::<u64>().ok());
    Some(member.map_or_else(|| kind.to_owned(), |id| format!("{kind} of member {id:x}")))
}

/// The first key behind all those with a prefix, as etcd's clients compute it.
pub(super) fn end(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    vec![0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_ends_behind_its_prefix() {
        assert_eq!(end("/registry/masterleases/"), b"/registry/masterleases0");
        assert_eq!(end(""), [0]);
    }

    #[test]
    fn alarms_are_told_from_other_errors() {
        let alarm_of = |error: &str| alarm(error).unwrap_or_default();
        assert_eq!(
            alarm_of("memberID:10276657743932975437 alarm:NOSPACE "),
            "NOSPACE of member 8e9e05c52164694d"
        );
        assert_eq!(alarm_of("alarm:CORRUPT"), "CORRUPT");
        assert_eq!(alarm_of("etcdserver: no leader"), "");
    }
}
