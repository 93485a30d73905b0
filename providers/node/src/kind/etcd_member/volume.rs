//! A member whose data is on a volume that outlives the machine.
//!
//! On the next machine it is the same member: its name and its id stay, and the other members learn its address before it
//! starts. When the volume was lost, the machine joins as a new member, and the old one of the same name is removed before.

use std::fs;
use std::time::Duration;

use slipway_bootstrap::preflight::EtcdIds;
use slipway_resource::ProviderError;
use tokio::time::Instant;

use super::super::{Work, etcd_restore};
use super::join::{Patience, expel, initial_cluster};
use super::{Memory, connect};
use crate::attributes::Attributes;
use crate::disk::Access;
use crate::error::of_path;
use crate::etcd::{Etcd, Member, Refusal};
use crate::etcd_data;

/// The attribute with the folder on the volume.
pub(super) const DATA_DIR: &str = "data_dir";
/// The attribute with the names of all members on volumes.
pub(super) const ON_VOLUMES: &str = "members_on_volumes";
/// How long a member does not answer whose machine is gone, and how often it is asked.
const SILENT: Duration = Duration::from_secs(15);
const AGAIN: Duration = Duration::from_secs(1);
/// A file in that folder with the URLs under which a member was announced that may never have started, one in each line.
const ANNOUNCED: &str = "slipway-announced";

/// The folder on the volume; `None` where the data is on the disk of the machine.
pub(super) fn folder(wanted: Attributes<'_>) -> Result<Option<&str>, ProviderError> {
    wanted.optional_text(DATA_DIR)
}

/// The member whose data is on the volume; `None` without a volume, and when there is no data on it.
pub(super) fn data(work: &Work, wanted: Attributes<'_>) -> Result<Option<EtcdIds>, ProviderError> {
    let Some(folder) = folder(wanted)? else { return Ok(None) };
    let folder = work.host().disk.target(folder)?;
    Ok(etcd_data::read(&folder).and_then(|data| data.ids))
}

/// Whether a member is the one whose data is on the volume.
pub(super) fn is_ours(work: &Work, wanted: Attributes<'_>, member: &Member) -> Result<bool, ProviderError> {
    Ok(data(work, wanted)?.is_some_and(|ids| id_of(ids) == member.id()))
}

fn id_of(ids: EtcdIds) -> String {
    format!("{:x}", ids.member)
}

/// Continues the member whose data is on the volume: the others learn its address. `None` when etcd does not have this member.
pub(super) async fn continued(work: &Work, ids: EtcdIds) -> Result<Option<Memory>, ProviderError> {
    let wanted = work.wanted();
    let own = wanted.texts("peer_urls");
    let etcd = connect(work, wanted)?;
    let id = id_of(ids);
    let mut patience = Patience::of_the_step(work);
    loop {
        let (cluster, members) = match etcd.cluster().await {
            Ok(found) => found,
            Err(error) => {
                patience.wait(&format!("waits for etcd: {error}")).await?;
                continue;
            }
        };
        let is_same = cluster.is_none_or(|cluster| cluster == ids.cluster);
        let Some(member) = members.iter().find(|member| is_same && member.id() == id) else {
            return Ok(None);
        };
        if has_urls(member, &own) {
            let initial_cluster = initial_cluster(&members, work.identity(), &own);
            return Ok(Some(Memory { member_id: id, initial_cluster, has_left: false }));
        }
        moved(work, &etcd, member, &mut patience).await?;
    }
}

/// Tells the other members the address of a member that moved to this machine.
pub(super) async fn moved(
    work: &Work,
    etcd: &Etcd,
    member: &Member,
    patience: &mut Patience<'_>,
) -> Result<(), ProviderError> {
    let own = work.wanted().texts("peer_urls");
    if has_urls(member, &own) {
        return Ok(());
    }
    loop {
        work.host().disk.at("move member");
        let why = match etcd.update(member, &own).await {
            Ok(()) => {
                work.tell(format!("continues the member {} ({}) of etcd", work.identity(), member.id()));
                return Ok(());
            }
            // The next list says so.
            Err(Refusal::Gone) => return Ok(()),
            Err(Refusal::Later(why)) => {
                format!("waits until etcd takes the address of {}: {why}", work.identity())
            }
            // The address of a machine that is gone may be given to another one before its own member has moved.
            Err(Refusal::Already) => {
                format!("waits until no other member of etcd has the address {}", own.join(", "))
            }
            Err(refusal) => return Err(refusal.into()),
        };
        patience.wait(&why).await?;
    }
}

fn has_urls(member: &Member, own: &[String]) -> bool {
    let (mut found, mut wanted) = (member.peer_urls.clone(), own.to_vec());
    found.sort();
    wanted.sort();
    found == wanted
}

/// Keeps data aside of a member that etcd does not have: it was removed, or its cluster never came about. Etcd refuses to join
/// with such data, and must not serve it.
pub(super) async fn set_aside(work: &Work, ids: EtcdIds) -> Result<(), ProviderError> {
    work.blocking(move |work| {
        let disk = &work.host().disk;
        let folder = disk.target(work.wanted().text(DATA_DIR)?)?;
        let to = folder.join(format!("{}{:x}-{:x}", etcd_restore::OLD, ids.cluster, ids.member));
        work.tell(format!(
            "etcd has no member {:x} of the cluster {:x}, whose data is on the volume: the data is kept in {}",
            ids.member,
            ids.cluster,
            to.display()
        ));
        disk.at("set data aside");
        fs::rename(folder.join("member"), &to).map_err(|error| of_path(&to, "replace", &error))
    })
    .await
}

/// Removes an earlier member of this volume's name, one that was announced for this volume and never started, or one that was lost with
/// the disk of its machine. Returns whether the list of members is another one now, or has to be looked at again.
pub(super) async fn cleared(
    work: &Work,
    etcd: &Etcd,
    members: &[Member],
    patience: &mut Patience<'_>,
) -> Result<bool, ProviderError> {
    let wanted = work.wanted();
    let Some(folder) = folder(wanted)? else { return Ok(false) };
    let own = wanted.texts("peer_urls");
    let announced = announced(work, folder)?;
    let never_started =
        |member: &&Member| !member.has_started() && member.is_at(&announced) && !member.is_at(&own);
    if let Some(member) = members.iter().find(never_started) {
        work.tell(format!(
            "removes the member {} from etcd, which never started on this volume",
            member.id()
        ));
        expel(work, etcd, member).await?;
        return Ok(true);
    }
    let Some(former) = members.iter().find(|member| member.name == work.identity()) else {
        return lost_with_its_disk(work, etcd, members).await;
    };
    let (name, id) = (&former.name, former.id());
    if !stays_silent(work, former).await? {
        let why = format!("waits until the member {name} ({id}) of etcd stops, which another machine serves");
        patience.wait(&why).await?;
        return Ok(true);
    }
    work.tell(format!(
        "removes the member {name} ({id}) from etcd, whose volume was lost, and joins as a new one"
    ));
    expel(work, etcd, former).await?;
    Ok(true)
}

/// Removes a member that is not on a volume and does not answer: the machine that had its data on its disk was replaced by one with a
/// volume. The others have a majority without it, since they have listed the members.
async fn lost_with_its_disk(work: &Work, etcd: &Etcd, members: &[Member]) -> Result<bool, ProviderError> {
    let on_volumes = work.wanted().texts(ON_VOLUMES);
    if on_volumes.is_empty() {
        return Ok(false);
    }
    for member in members.iter().filter(|member| member.has_started() && !on_volumes.contains(&member.name)) {
        if !stays_silent(work, member).await? {
            continue;
        }
        let (name, id) = (&member.name, member.id());
        work.tell(format!(
            "removes the member {name} ({id}) from etcd, which was lost with the disk of its machine"
        ));
        expel(work, etcd, member).await?;
        return Ok(true);
    }
    Ok(false)
}

/// Whether a member does not answer for a while.
async fn stays_silent(work: &Work, member: &Member) -> Result<bool, ProviderError> {
    let until = Instant::now() + SILENT;
    while !serves(work, member).await {
        if Instant::now() >= until {
            return Ok(true);
        }
        work.pause(AGAIN).await?;
    }
    Ok(false)
}

/// Whether a member answers.
async fn serves(work: &Work, member: &Member) -> bool {
    if member.client_urls.is_empty() {
        return false;
    }
    let client = Etcd::connect(&work.host().disk, work.wanted(), member.client_urls.clone());
    match client {
        Ok(etcd) => etcd.health().await.is_ok(),
        Err(_) => false,
    }
}

/// Remembers on the volume under which URLs a member is announced, before it is.
pub(super) fn remember(work: &Work, own: &[String]) -> Result<(), ProviderError> {
    let Some(folder) = folder(work.wanted())? else { return Ok(()) };
    let path = format!("{folder}/{ANNOUNCED}");
    work.host().disk.write(&path, own.join("\n").as_bytes(), Access::mode(0o600))
}

fn announced(work: &Work, folder: &str) -> Result<Vec<String>, ProviderError> {
    let text = work.host().disk.read_text(&format!("{folder}/{ANNOUNCED}"))?.unwrap_or_default();
    Ok(text.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_moved_when_any_url_differs() {
        let member = Member::known("ff", "a", &["https://b:2380".to_owned(), "https://a:2380".to_owned()]);
        let urls = |urls: &[&str]| urls.iter().map(|url| (*url).to_owned()).collect::<Vec<_>>();
        assert!(has_urls(&member, &urls(&["https://a:2380", "https://b:2380"])));
        assert!(!has_urls(&member, &urls(&["https://a:2380"])));
        assert_eq!(id_of(EtcdIds { member: 255, cluster: 1 }), member.id());
    }
}
