//! How a member joins and leaves.

use std::time::Duration;

use slipway_resource::{ErrorClass, ProviderError};
use tokio::time::Instant;

use super::super::{Work, etcd_restore};
use super::{Memory, connect, find, volume};
use crate::attributes::Attributes;
use crate::error::conflict;
use crate::etcd::{Etcd, Member, Refusal};
use crate::etcd_data;

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(500);
/// How often the reason of a wait is reported.
const TELL: Duration = Duration::from_secs(10);

/// The usual folder of etcd's data. A preflight check looks into the folder of the spec.
const DATA: &str = "/var/lib/etcd";

/// A member with its URLs, as `--initial-cluster` has it.
pub(super) fn initial(name: &str, peer_urls: &[String]) -> String {
    peer_urls.iter().map(|url| format!("{name}={url}")).collect::<Vec<_>>().join(",")
}

/// The same for all members; the one that has not started yet is ours.
pub(super) fn initial_cluster(members: &[Member], name: &str, peer_urls: &[String]) -> String {
    let one = |member: &Member| {
        let called = if member.is_at(peer_urls) {
            name.to_owned()
        } else if member.has_started() {
            member.name.clone()
        } else {
            member.id()
        };
        initial(&called, &member.peer_urls)
    };
    members.iter().map(one).collect::<Vec<_>>().join(",")
}

/// Waits, tells why, and ends when the time is over.
pub(super) struct Patience<'a> {
    work: &'a Work,
    until: Instant,
    reported: Option<Instant>,
}

impl<'a> Patience<'a> {
    fn new(work: &'a Work, wanted: Attributes<'_>) -> Self {
        Self { work, until: Instant::now() + wanted.seconds("timeout_seconds", 120), reported: None }
    }

    /// Waits in the queue of joining members, whose length is not known: as long as the step may take.
    pub(super) fn of_the_step(work: &'a Work) -> Self {
        Self { work, until: work.deadline, reported: None }
    }

    pub(super) async fn wait(&mut self, why: &str) -> Result<(), ProviderError> {
        if self.reported.is_none_or(|reported| reported.elapsed() >= TELL) {
            self.work.tell(why);
            self.reported = Some(Instant::now());
        }
        if Instant::now() + PAUSE >= self.until {
            let text = format!("{}: {why}", self.work.identity());
            return Err(ProviderError::new(ErrorClass::Permanent, text));
        }
        self.work.pause(PAUSE).await
    }
}

/// The first member: it exists when it answers.
pub(super) async fn first(work: &Work) -> Result<Memory, ProviderError> {
    let wanted = work.wanted();
    let own = wanted.texts("peer_urls");
    let mut patience = Patience::new(work, wanted);
    loop {
        // Its certificates may be written a moment later.
        let asked = match connect(work, wanted) {
            Ok(etcd) => {
                let members = etcd.members().await;
                members.map(|members| (etcd, members))
            }
            Err(error) => Err(error),
        };
        match asked {
            Ok((etcd, members)) => {
                let on_volume = volume::folder(wanted)?.is_some();
                let named = members.iter().find(|member| member.name == work.identity());
                // The address of this machine may be one that the member of another volume had.
                let member = named.filter(|_| on_volume).or_else(|| find(&members, work.identity(), &own));
                let member = member.or(named);
                if let Some(member) = member {
                    if on_volume {
                        volume::moved(work, &etcd, member, &mut patience).await?;
                    }
                    let initial_cluster = initial(work.identity(), &own);
                    return Ok(Memory { member_id: member.id(), initial_cluster, has_left: false });
                }
                let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
                let text = format!(
                    "etcd answers, and {} is not among its members: {}",
                    work.identity(),
                    names.join(", ")
                );
                return Err(conflict(text));
            }
            Err(error) => patience.wait(&format!("waits for etcd: {error}")).await?,
        }
    }
}

/// Whether a started member is an earlier one of this machine, which has lost its disks: it has the machine's name and
/// address, the machine has no data of it, and nothing answers for it.
pub(super) async fn is_lost(work: &Work, wanted: Attributes<'_>, member: &Member) -> bool {
    let own = wanted.texts("client_urls");
    if !member.has_started() || member.name != work.identity() || own.is_empty() {
        return false;
    }
    let disk = &work.host().disk;
    let folder = volume::folder(wanted).ok().flatten().unwrap_or(DATA);
    let has_data = disk.target(folder).is_ok_and(|folder| etcd_data::read(&folder).is_some());
    let silent = match Etcd::connect(disk, wanted, own) {
        Ok(etcd) => etcd.health().await.is_err(),
        Err(_) => false,
    };
    silent && !has_data
}

/// A further member: the one whose data is on the volume of the machine, or a new one.
pub(super) async fn enter(work: &Work) -> Result<Memory, ProviderError> {
    if let Some(ids) = volume::data(work, work.wanted())? {
        if let Some(memory) = volume::continued(work, ids).await? {
            return Ok(memory);
        }
        volume::set_aside(work, ids).await?;
    }
    announce(work).await
}

/// A new member: added as a learner as soon as etcd accepts one.
async fn announce(work: &Work) -> Result<Memory, ProviderError> {
    let wanted = work.wanted();
    let own = wanted.texts("peer_urls");
    let etcd = connect(work, wanted)?;
    let mut patience = Patience::of_the_step(work);
    loop {
        let members = match etcd.members().await {
            Ok(members) => members,
            Err(error) => {
                patience.wait(&format!("waits for etcd: {error}")).await?;
                continue;
            }
        };
        let listed = find(&members, work.identity(), &own);
        if let Some(lost) = listed
            && is_lost(work, wanted, lost).await
        {
            let id = lost.id();
            work.tell(format!(
                "removes the member {} ({id}) from etcd, whose data this machine has lost, and joins again",
                lost.name
            ));
            expel(work, &etcd, lost).await?;
            continue;
        }
        if let Some(member) = listed {
            let initial_cluster = initial_cluster(&members, work.identity(), &own);
            return Ok(Memory { member_id: member.id(), initial_cluster, has_left: false });
        }
        if volume::cleared(work, &etcd, &members, &mut patience).await? {
            continue;
        }
        volume::remember(work, &own)?;
        work.host().disk.at("announce member");
        match etcd.add(&own, true).await {
            // The list that comes next has it.
            Ok(_) | Err(Refusal::Already) => {}
            Err(Refusal::Later(why)) => {
                let text =
                    queue(&members).unwrap_or_else(|| format!("waits until etcd takes a member: {why}"));
                patience.wait(&text).await?;
            }
            Err(refusal) => return Err(refusal.into()),
        }
    }
}

/// Why a joining member waits, and how to remove a member that never starts; `None` when no learner is in
/// front of it.
fn queue(members: &[Member]) -> Option<String> {
    let learners: Vec<&Member> = members.iter().filter(|member| member.is_learner).collect();
    let named = |member: &&Member| match member.has_started() {
        true => member.name.clone(),
        false => format!("{} (never started)", member.peer_urls.join(", ")),
    };
    let names: Vec<String> = learners.iter().map(named).collect();
    if names.is_empty() {
        return None;
    }
    let mut text = format!("waits in the queue of those that join etcd, behind {}", names.join(", "));
    if let Some(dead) = learners.iter().find(|member| !member.has_started()) {
        let id = dead.id();
        text.push_str(&format!(
            "; start that machine, or remove it from the queue if it will not come: take its host out of the spec and apply, or `etcdctl member remove {id}`"
        ));
    }
    Some(text)
}

/// An existing member: its peer URLs are updated.
pub(super) async fn mend(work: &Work, memory: Memory) -> Result<Memory, ProviderError> {
    let wanted = work.wanted();
    let own = wanted.texts("peer_urls");
    let etcd = connect(work, wanted)?;
    let (cluster, members) = etcd.cluster().await?;
    let Some(member) = members.iter().find(|member| member.id() == memory.member_id) else {
        // The member was removed in the meantime, or etcd was recovered without it.
        if let Some(cluster) = cluster {
            etcd_restore::set_aside(work, &memory.member_id, cluster).await?;
        }
        return if wanted.flag("learner_first") { announce(work).await } else { first(work).await };
    };
    let mut there = member.peer_urls.clone();
    there.sort();
    let mut asked = own.clone();
    asked.sort();
    if there != asked {
        etcd.update(member, &own).await?;
    }
    Ok(memory)
}

/// Leaves etcd, unless it is the last member. `id` proves that the member is ours: a later one with its name
/// stays.
pub(super) async fn leave(work: &Work, wanted: Attributes<'_>, id: &str) -> Result<(), ProviderError> {
    let own = wanted.texts("peer_urls");
    let etcd = match connect(work, wanted) {
        Ok(etcd) => etcd,
        // Without its certificates it never came to be asked.
        Err(error) if id.is_empty() && error.class == ErrorClass::NotFound => return Ok(()),
        Err(error) => return unasked(work, error),
    };
    let members = match etcd.members().await {
        Ok(members) => members,
        Err(error) => {
            return unasked(
                work,
                error.with_hint(
                    "start the members of etcd; if the machines of a majority are gone for ever, `slipway etcd recover` makes a new \
                     etcd of the data that is left",
                ),
            );
        }
    };
    let ours = members.iter().find(|member| match id {
        "" => !member.has_started() && member.is_at(&own),
        id => member.id() == id,
    });
    let Some(member) = ours else { return Ok(()) };
    if members.len() == 1 {
        // The last member cannot leave etcd; its data is removed with its folder.
        return Ok(());
    }
    let why = format!("{} leaves", member.name);
    hand_over(work, wanted, &members, (member, why.as_str())).await;
    // A leaving member stops before it has answered, and never answers again: the remaining members are
    // asked.
    let mut endpoints = of_those_who_stay(&members, member);
    endpoints.extend(super::endpoints(wanted));
    let etcd = Etcd::connect(&work.host().disk, wanted, endpoints)?;
    expel(work, &etcd, member).await
}

/// Handles the error when etcd does not answer: it is ignored when the whole cluster is deleted, since no
/// member remains.
fn unasked(work: &Work, error: ProviderError) -> Result<(), ProviderError> {
    if !work.host().config.leaving {
        return Err(error);
    }
    work.tell(format!(
        "{} is removed without leaving etcd, because no member remains: {error}",
        work.identity()
    ));
    Ok(())
}

/// Has another member lead etcd before the leader stops to answer, for a reason such as `one leaves`. Otherwise etcd has no leader, and
/// refuses writes, until the others have noticed that and elected one. A failure is only reported.
pub(super) async fn hand_over(
    work: &Work,
    wanted: Attributes<'_>,
    members: &[Member],
    (leaving, why): (&Member, &str),
) {
    let disk = &work.host().disk;
    let Ok(etcd) = Etcd::connect(disk, wanted, leaving.client_urls.clone()) else { return };
    if !etcd.status().await.is_ok_and(|status| status.leads) {
        return;
    }
    let others: Vec<&Member> = those_who_stay(members, leaving).collect();
    for other in others {
        let is_healthy = match Etcd::connect(disk, wanted, other.client_urls.clone()) {
            Ok(other) => other.health().await.is_ok(),
            Err(_) => false,
        };
        if !is_healthy {
            continue;
        }
        disk.at("move leader");
        match etcd.move_leader(other).await {
            Ok(()) => {
                work.tell(format!("{} leads etcd now, because {why}", other.name));
                return;
            }
            Err(error) => work.tell(format!("{} does not lead etcd: {error}", other.name)),
        }
    }
}

/// The voting members, except the leaving one.
fn those_who_stay<'a>(members: &'a [Member], leaving: &Member) -> impl Iterator<Item = &'a Member> {
    let id = leaving.id();
    members.iter().filter(move |other| other.id() != id && other.has_started() && !other.is_learner)
}

/// Their client URLs.
fn of_those_who_stay(members: &[Member], leaving: &Member) -> Vec<String> {
    those_who_stay(members, leaving).flat_map(|other| other.client_urls.clone()).collect()
}

pub(super) async fn expel(work: &Work, etcd: &Etcd, member: &Member) -> Result<(), ProviderError> {
    let mut patience = Patience::of_the_step(work);
    loop {
        work.host().disk.at("remove member");
        match etcd.remove(member).await {
            Ok(()) | Err(Refusal::Gone | Refusal::Already) => return Ok(()),
            Err(Refusal::Later(why)) => {
                // The answer may have been lost with the member that gave it.
                let id = member.id();
                if etcd.members().await.is_ok_and(|left| left.iter().all(|left| left.id() != id)) {
                    return Ok(());
                }
                patience.wait(&format!("waits until etcd lets {} go: {why}", member.name)).await?;
            }
            Err(refusal) => return Err(refusal.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_never_started_is_named_with_the_way_to_remove_it() {
        let member = |id: &str, name: &str, is_learner| -> Member {
            let urls = ["https://10.0.0.9:2380"];
            serde_json::from_value(
                serde_json::json!({"ID": id, "name": name, "peerURLs": urls, "isLearner": is_learner}),
            )
            .unwrap()
        };
        assert_eq!(queue(&[member("1", "a", false)]), None);
        let text = queue(&[member("1", "a", false), member("2", "b", true)]).unwrap();
        assert!(text.ends_with("behind b"), "{text}");
        let text = queue(&[member("1", "a", false), member("255", "", true)]).unwrap();
        assert!(text.contains("behind https://10.0.0.9:2380 (never started); "), "{text}");
        assert!(text.contains("`etcdctl member remove ff`"), "{text}");
    }

    #[test]
    fn those_are_asked_who_stay() {
        let member = |id: &str, name: &str, is_learner| -> Member {
            let urls = [format!("https://{name}:2379")];
            let member =
                serde_json::json!({"ID": id, "name": name, "clientURLs": urls, "isLearner": is_learner});
            serde_json::from_value(member).unwrap()
        };
        let members = [
            member("1", "a", false),
            member("2", "b", false),
            member("3", "c", true),
            member("4", "", false),
        ];
        assert_eq!(of_those_who_stay(&members, &members[0]), ["https://b:2379"]);
    }
}
