//! The members of etcd on a cluster's control planes, as far as these answer.

use std::time::Duration;

use futures_util::future::join_all;
use serde::Serialize;
use serde_json::Value as Json;
use slipway_resource::{ProviderError, Value};

use super::super::{Taker, number_of, run, text};
use super::Begun;
use crate::error::Error;
use crate::opened::Opened;

/// The operations of a member of etcd: what a recovery needs to know, and one stage of it.
const INSPECT: &str = "inspect";
pub(super) const RECOVER: &str = "recover";

/// How long one machine may take to answer.
const ANSWERS: Duration = Duration::from_secs(60);

/// A control plane, as it was found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ControlPlane {
    /// The machine.
    pub machine: String,
    /// Why the machine does not answer, or has no member of etcd.
    pub unreachable: Option<String>,
    /// The URL by which other members reach its member.
    pub peer_url: Option<String>,
    /// The name of its member.
    pub member: Option<String>,
    /// What its member says.
    pub status: Option<MemberStatus>,
    /// Why its member does not answer.
    pub silent: Option<String>,
    /// The data of its member, which is read without etcd.
    pub data: Option<MemberData>,
    /// Why its data is of no use.
    pub damage: Option<String>,
    /// Whether a recovery has begun here, and has replaced the data.
    pub is_replaced: bool,
    /// The recovery that has begun here.
    #[serde(skip)]
    pub begun: Option<Begun>,
}

/// What a member says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemberStatus {
    /// Whether a majority of the members answers it.
    pub has_majority: bool,
    /// Its greatest revision.
    pub revision: i64,
    /// Its Raft term.
    pub term: i64,
}

/// The data of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemberData {
    /// The id of its etcd cluster, in hexadecimal digits.
    pub cluster_id: String,
    /// The id of the member, in hexadecimal digits.
    pub member_id: String,
    /// The greatest revision of the database.
    pub revision: i64,
    /// The size of the database in bytes.
    pub size: i64,
    /// The Raft term.
    pub term: i64,
    /// The last index of the log of which the member knew that a majority has it.
    pub commit: i64,
    /// The last index of the log.
    pub last: i64,
    /// Requests of the log of which the member never learnt that a majority has them.
    pub unconfirmed: u64,
    /// When it was last written (RFC 3339).
    pub written: Option<String>,
}

/// Asks all control planes.
///
/// # Errors
/// When the cluster does not exist, or its state has no member of etcd that can be recovered.
pub(super) async fn survey(opened: &Opened) -> Result<Vec<ControlPlane>, Error> {
    let members = members(opened)?;
    let answers = members.iter().map(|member| run(opened, member, (INSPECT, Value::Null), ANSWERS));
    let answers = join_all(answers).await;
    Ok(members.iter().zip(answers).map(|(member, answer)| found(&member.machine, answer)).collect())
}

/// The members of etcd in the state of a cluster.
pub(super) fn members(opened: &Opened) -> Result<Vec<Taker<'_>>, Error> {
    opened.check_exists("etcd")?;
    let records = opened
        .prior()
        .into_iter()
        .flat_map(|prior| prior.resources.iter().map(|(address, record)| (&prior.uid, address, record)));
    let members: Vec<Taker<'_>> = records
        .filter_map(|(uid, address, record)| {
            let (_, handle, kind) = opened.providers().of_type(address.kind())?;
            let is_member = kind.operations.contains_key(INSPECT) && kind.operations.contains_key(RECOVER);
            let machine = address.name().split('/').next().unwrap_or_default().to_owned();
            is_member.then(|| Taker {
                uid,
                machine,
                address,
                identity: &record.identity,
                session: &*handle.session,
            })
        })
        .collect();
    if members.is_empty() {
        let cluster = opened.spec.cluster.name.to_string();
        return Err(Error::NothingToRecover {
            cluster,
            missing: vec!["its state has no member of etcd on a listed host".to_owned()],
        });
    }
    Ok(members)
}

fn found(machine: &str, answer: Result<Value, ProviderError>) -> ControlPlane {
    let machine = machine.to_owned();
    let answer = match answer {
        Ok(answer) => answer.to_json(),
        Err(error) => {
            return ControlPlane { machine, unreachable: Some(error.message), ..ControlPlane::default() };
        }
    };
    ControlPlane {
        machine,
        unreachable: None,
        peer_url: text(&answer, "peer_url"),
        member: text(&answer, "name"),
        status: answer.get("status").and_then(status),
        silent: text(&answer, "silent"),
        data: answer.get("data").and_then(data),
        damage: text(&answer, "damage"),
        is_replaced: flag(&answer, "is_swapped"),
        begun: text(&answer, "note").and_then(|note| serde_json::from_str(&note).ok()),
    }
}

fn status(answer: &Json) -> Option<MemberStatus> {
    Some(MemberStatus {
        has_majority: flag(answer, "has_majority"),
        revision: number_of(answer, "revision")?,
        term: number_of(answer, "term")?,
    })
}

fn data(answer: &Json) -> Option<MemberData> {
    let number = |name: &str| number_of(answer, name);
    let written = number("written").and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    Some(MemberData {
        cluster_id: text(answer, "cluster_id")?,
        member_id: text(answer, "member_id")?,
        revision: number("revision")?,
        size: number("size")?,
        term: number("term")?,
        commit: number("commit")?,
        last: number("last")?,
        unconfirmed: number("unconfirmed").and_then(|count| u64::try_from(count).ok()).unwrap_or_default(),
        written: written.map(|written| written.to_string()),
    })
}

fn flag(answer: &Json, name: &str) -> bool {
    answer.get(name).and_then(Json::as_bool).unwrap_or_default()
}
