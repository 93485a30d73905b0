//! Defragmentation of the database of a member.

use std::time::Duration;

use slipway_resource::{ProviderError, Value};

use super::super::Work;
use super::super::form::recall;
use super::{Memory, connect, find, join};
use crate::attributes::Attributes;
use crate::error::not_found;
use crate::etcd::maintenance::NO_SPACE;
use crate::etcd::{self, Etcd};

/// How long etcd may take to write a database again. A usual database has less than 8 GB.
const ANSWER: Duration = Duration::from_secs(600);

/// Releases the free space in the database of this node's member. The member answers no requests meanwhile: if it leads, another member
/// leads before. Returns the sizes in bytes, and whether an alarm was cleared.
pub(super) async fn run(work: &Work) -> Result<Value, ProviderError> {
    let disk = &work.host().disk;
    let asked = etcd::asked(disk, work.place.wanted())?;
    let asked = asked.ok_or_else(|| not_found("this node has no member of etcd"))?;
    let wanted = Attributes(&asked);
    let members = connect(work, wanted)?.members().await?;
    let memory = recall::<Memory>(work.place.memory()).unwrap_or_default();
    let by_id = members.iter().find(|member| member.id() == memory.member_id);
    let member = by_id.or_else(|| find(&members, work.identity(), &wanted.texts("peer_urls")));
    let member = member.ok_or_else(|| not_found("etcd has no member of this node"))?;
    let etcd = Etcd::connect_for(disk, wanted, member.client_urls.clone(), ANSWER)?;
    let before = etcd.status().await?;
    let has_space = !before.alarms.iter().any(|alarm| alarm.starts_with(NO_SPACE));
    if !has_space {
        work.tell("removes old revisions, because etcd has no space");
        // They may have been removed for another member already.
        if let Err(error) = etcd.compact(before.revision).await {
            work.tell(format!("old revisions were not removed: {error}"));
        }
    }
    let why = format!("{} is defragmented", member.name);
    join::hand_over(work, wanted, &members, (member, why.as_str())).await;
    work.tell("defragments its database");
    etcd.defragment().await?;
    let after = etcd.status().await?;
    let clears = before.alarms.contains(&format!("{NO_SPACE} of member {}", member.id()));
    if clears {
        etcd.clear_no_space(member).await?;
    }
    Ok(Value::map([
        ("before", Value::Integer(before.size)),
        ("after", Value::Integer(after.size)),
        ("cleared", clears.into()),
    ]))
}
