//! What a recovery needs to know about the member of this control plane. Changes nothing.

use std::path::Path as FilePath;

use slipway_resource::{Path, ProviderError, Value};

use super::super::Work;
use super::member::Member;
use super::recover;
use crate::attributes::Attributes;
use crate::etcd::{self, Etcd};
use crate::{etcd_backup, etcd_data};

/// How often a database is read that its member writes meanwhile.
const ATTEMPTS: usize = 3;

/// The status of the member, its data, and the recovery that has begun here.
pub(in super::super) async fn inspect(work: &Work) -> Result<Value, ProviderError> {
    let disk = &work.host().disk;
    let member = Member::read(disk)?;
    let mut answer = Value::map([("name", member.name.as_str()), ("peer_url", member.peer_url.as_str())]);
    let mut set = |name: &str, value: Value| {
        answer.set(&Path::key(name), value);
    };
    set("is_swapped", member.is_swapped(disk)?.into());
    if let Some(begun) = recover::begun(disk)? {
        set("recovery", begun.recovery.into());
        set("note", begun.note.into());
    }
    match status(work, &member).await {
        Ok(status) => set("status", status),
        Err(error) => set("silent", error.message.into()),
    }
    let folder = disk.target(&member.data)?;
    let data = work.blocking(move |_| Ok(data(&folder))).await?;
    match data {
        Ok(data) => set("data", data),
        Err(why) => set("damage", why.into()),
    }
    Ok(answer)
}

/// What the member says, if it serves clients.
async fn status(work: &Work, member: &Member) -> Result<Value, ProviderError> {
    let disk = &work.host().disk;
    let asked = etcd::asked(disk, work.place.wanted())?.unwrap_or(Value::Null);
    let etcd = Etcd::connect(disk, Attributes(&asked), vec![member.client_url.clone()])?;
    let status = etcd.status().await?;
    // A follower knows a leader for a moment after it was lost. A majority answers this question.
    let has_majority = status.has_leader && etcd.members().await.is_ok();
    let mut value = Value::map([("has_majority", has_majority)]);
    value.set(&Path::key("revision"), Value::Integer(status.revision));
    value.set(&Path::key("term"), integer(status.term));
    Ok(value)
}

/// The position of the data in a folder, or why it is of no use.
fn data(folder: &FilePath) -> Result<Value, String> {
    let found = etcd_data::read(folder).ok_or("its data folder is empty")?;
    let ids = found.ids.ok_or("its log cannot be read")?;
    let database = folder.join("member").join("snap").join("db");
    let position = (1..ATTEMPTS)
        .find_map(|_| etcd_backup::position(&database).ok())
        .map_or_else(|| etcd_backup::position(&database), Ok)?;
    let reach = etcd_data::log(folder).reach(position.applied);
    let mut value = Value::map([
        ("cluster_id", format!("{:x}", ids.cluster)),
        ("member_id", format!("{:x}", ids.member)),
    ]);
    let mut set = |name: &str, number: Value| {
        value.set(&Path::key(name), number);
    };
    set("revision", Value::Integer(position.revision));
    set("size", integer(position.size));
    set("applied", integer(position.applied));
    set("term", integer(reach.term));
    set("commit", integer(reach.commit));
    set("last", integer(reach.last));
    set("unapplied", integer(reach.unapplied));
    set("unconfirmed", integer(reach.unconfirmed));
    if let Some(written) = found.written {
        set("written", Value::Integer(written));
    }
    Ok(value)
}

fn integer(number: u64) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}
