//! A folder.

use std::collections::BTreeSet;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_bootstrap::audit;
use slipway_bootstrap::material::FINGERPRINT;
use slipway_bootstrap::preflight::{EtcdData, way_out_of_etcd_data};
use slipway_resource::provider::{PlanItem, Planned};
use slipway_resource::{Attribute, Path, ProviderError, ResourceType, Type, Value};

use super::form::{self, memorise, recall};
use super::{Kind, Place, Work, etcd_restore};
use crate::attributes::Attributes;
use crate::disk::Access;
use crate::error::{conflict, permanent};
use crate::host::Host;
use crate::ledger::{Entry, Found};
use crate::{etcd_data, purge};

/// A folder. A deletion leaves a folder that existed before. It removes our folder when it is empty, or with
/// its contents if `purge` asks for that: then new contents of a folder that existed before are removed, and
/// its old contents stay. In the folders of etcd's data and of the audit log, only the files that these
/// programs write are removed.
///
/// A purged folder with the data of an etcd that is not ours is refused, because no member may start on that
/// data. The data of another member than the one of this node is not ours either, and stays when the folder
/// is deleted.
pub(crate) struct Directory;

/// The name of the type, as the ledger has it.
const KIND: &str = "directory";

/// The name of the folder for the data of this node's etcd, as a cluster's resources have it.
const ETCD_DATA: &str = "etcd-data";

/// Identifies the folder that was made. Device numbers change with a restart, inode numbers do not.
#[derive(Serialize, Deserialize)]
struct Memory {
    inode: u64,
    /// The contents of a purged folder before it was ours; unknown for folders of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<BTreeSet<String>>,
    /// The etcd member whose data is in the folder, as hexadecimal digits, once it has answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    member: Option<String>,
    /// User and group of the folder before it was given to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    former: Option<(u32, u32)>,
}

/// Records in the folders of this node that they have the data of this etcd member.
pub(super) fn remember_member(work: &Work, member: &str) -> Result<(), ProviderError> {
    let (ledger, disk) = (&work.host().ledger, &work.host().disk);
    for mut entry in ledger.all()?.into_values().filter(|entry| entry.address.kind() == KIND) {
        let wanted = Attributes(&entry.wanted);
        if !wanted.flag("purge") {
            continue;
        }
        let data = etcd_data::read(&disk.target(wanted.text("path")?)?);
        let ids = data.and_then(|data| data.ids);
        let Some(memory) = recall::<Memory>(&entry.memory) else { continue };
        if ids.is_some_and(|ids| format!("{:x}", ids.member) == member)
            && memory.member.as_deref() != Some(member)
        {
            entry.memory = memorise(&Memory { member: Some(member.to_owned()), ..memory })?;
            ledger.put(&entry)?;
        }
    }
    Ok(())
}

/// Whether a folder has the data of an etcd, or was made for it.
fn is_of_etcd(work: &Work, entry: &Entry) -> Result<bool, ProviderError> {
    let is_asked = entry.wanted.get(FINGERPRINT).is_some_and(|asked| !asked.is_null());
    let has_member = recall::<Memory>(&entry.memory).is_some_and(|memory| memory.member.is_some());
    let is_named = entry.address.name().ends_with(ETCD_DATA);
    let place = work.host().disk.target(work.identity())?;
    Ok(is_asked || has_member || is_named || etcd_data::read(&place).is_some())
}

/// Whether an entry of a folder that is purged was written by the program of that folder.
fn is_ours(path: &str, is_of_etcd: bool, name: &str) -> bool {
    match path {
        // etcd has one folder in the folder of its data, beside those that were set aside after a recovery.
        _ if is_of_etcd => name == "member" || name.starts_with(etcd_restore::OLD),
        // The log, and the older ones that the API server has rotated.
        audit::FOLDER => name.starts_with("audit"),
        _ => true,
    }
}

/// Removes our contents from a folder, except its old contents, and reports files of others. Returns whether
/// there are files of others.
fn purge_ours(work: &Work, entry: &Entry, before: &BTreeSet<String>) -> Result<bool, ProviderError> {
    let (disk, path) = (&work.host().disk, work.identity());
    let is_of_etcd = is_of_etcd(work, entry)?;
    let (mut kept, mut foreign) = (before.clone(), Vec::new());
    for name in disk.list(path)? {
        if !before.contains(&name) && !is_ours(path, is_of_etcd, &name) {
            foreign.push(format!("{path}/{name}"));
            kept.insert(name);
        }
    }
    purge::but(disk, path, &kept)?;
    if !foreign.is_empty() {
        work.tell(format!("this cluster did not write {}: it stays as it is", foreign.join(", ")));
    }
    Ok(!foreign.is_empty())
}

/// The data in a folder that another member of etcd has written than the one that this node had.
fn data_of_others(host: &Host, path: &str, memory: &Memory) -> Result<Option<EtcdData>, ProviderError> {
    let Some(member) = &memory.member else { return Ok(None) };
    let data = etcd_data::read(&host.disk.target(path)?);
    Ok(data.filter(|data| data.ids.is_some_and(|ids| format!("{:x}", ids.member) != *member)))
}

/// Refuses a folder with the data of an etcd.
fn refuse_data(host: &Host, path: &str) -> Result<(), ProviderError> {
    let Some(data) = etcd_data::read(&host.disk.target(path)?) else { return Ok(()) };
    Err(conflict(format!("{path} has {data}, which this cluster did not write"))
        .with_hint(way_out_of_etcd_data(path)))
}

#[async_trait]
impl Kind for Directory {
    fn resource_type(&self) -> ResourceType {
        let mut directory = form::resource_type(
            "A folder.",
            5,
            [
                ("path", form::path()),
                ("mode", form::mode("0755")),
                ("owner", form::owner()),
                ("group", form::group()),
                (
                    "purge",
                    Attribute::optional(Type::Bool).write_only().describe(
                        "Whether deleting it removes what is in it, but for what was in it before Slipway came; else it \
                         is removed when it is empty. A folder with the data of another etcd is refused. Beside the data \
                         of etcd and beside the audit log, files of others stay.",
                    ),
                ),
                (
                    FINGERPRINT,
                    Attribute::optional_computed(Type::String).own_form().describe(
                        "The id of the etcd cluster whose data is in it. It is asked for as `etcd`, and there once etcd has \
                         written something.",
                    ),
                ),
            ],
        );
        directory.irreplaceable = Some(form::irreplaceable());
        directory
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        form::checked_path(desired, "path").map(str::to_owned)
    }

    fn plan(&self, item: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        form::plan_path(planned, "path")?;
        form::plan_mode(planned, "mode")?;
        let is_asked = planned.normalised.get(FINGERPRINT).is_some_and(|asked| !asked.is_null());
        if let Some(observed) = &item.observed {
            // The data that etcd has written stays.
            let kept = observed.get(FINGERPRINT).cloned().unwrap_or_default();
            planned.normalised.set(&Path::key(FINGERPRINT), kept);
        } else if is_asked {
            planned.normalised.set(&Path::key(FINGERPRINT), Value::Unknown);
        }
        Ok(())
    }

    async fn look(&self, work: &Work) -> Result<Found, ProviderError> {
        work.blocking(|work| match work.host().disk.status(work.identity())? {
            None => Ok(Found::Nothing),
            Some(status) if status.is_directory() => {
                if work.wanted().flag("purge") {
                    refuse_data(work.host(), work.identity())?;
                }
                Ok(Found::Kept)
            }
            Some(_) => Err(conflict(format!("{} is there, and no folder", work.identity()))),
        })
        .await
    }

    async fn foresee(&self, work: &Work) -> Result<Json, ProviderError> {
        work.blocking(|work| {
            let known = recall::<Memory>(work.place.memory());
            let is_kept = work.place.entry.as_ref().is_some_and(|entry| entry.found == Found::Kept);
            let disk = &work.host().disk;
            let status = disk.status(work.identity())?;
            let is_given = work.wanted().optional_text("owner")?.is_some();
            let former = status.as_ref().filter(|_| is_given).map(|status| (status.owner(), status.group()));
            if let Some(known) = known {
                let former = known.former.or(former);
                return memorise(&Memory { former, ..known });
            }
            if !(is_kept && work.wanted().flag("purge")) {
                return Ok(work.place.memory().clone());
            }
            let Some(status) = status else { return Ok(Json::Null) };
            let before = disk.list(work.identity())?.into_iter().collect();
            memorise(&Memory { inode: status.inode(), before: Some(before), member: None, former })
        })
        .await
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        work.blocking(|work| {
            let known = recall::<Memory>(work.place.memory());
            let (before, member, former) =
                known.map_or((None, None, None), |known| (known.before, known.member, known.former));
            let disk = &work.host().disk;
            let access = form::access(disk, work.wanted(), "mode", 0o755)?;
            disk.make_directory(work.identity(), access)?;
            let status = disk.status(work.identity())?;
            let status = status.ok_or_else(|| permanent(format!("{} is gone again", work.identity())))?;
            memorise(&Memory { inode: status.inode(), before, member, former })
        })
        .await
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        work.blocking(|work| {
            let path = work.identity();
            let disk = &work.host().disk;
            let Some(entry) = &work.place.entry else { return Ok(()) };
            let Some(status) = disk.status(path)? else { return Ok(()) };
            let memory = recall::<Memory>(&entry.memory);
            let is_the_same = memory.as_ref().is_none_or(|memory| memory.inode == status.inode());
            let foreign = match &memory {
                Some(memory) => data_of_others(work.host(), path, memory)?,
                None => None,
            };
            if let Some(data) = foreign {
                work.tell(format!("{path} has {data}, which this cluster did not write: it stays as it is"));
                return Ok(());
            }
            if work.stays() {
                if let Some((owner, group)) = memory.as_ref().and_then(|memory| memory.former) {
                    // The account that it was given to may be deleted with the cluster.
                    let access = Access { mode: status.mode(), owner: Some(owner), group: Some(group) };
                    disk.set_access(path, access)?;
                }
                let before = memory.and_then(|memory| memory.before).filter(|_| is_the_same);
                let Some(before) = before else { return Ok(()) };
                return purge_ours(work, entry, &before).map(drop);
            }
            if !is_the_same {
                work.tell(format!("{path} is another folder than the one that was made, and stays"));
                return Ok(());
            }
            if Attributes(&entry.wanted).flag("purge") {
                return match purge_ours(work, entry, &BTreeSet::new())? {
                    true => Ok(()),
                    false => purge::folder(disk, path),
                };
            }
            if purge::if_empty(disk, path)? {
                return Ok(());
            }
            work.tell(format!("{path} is not empty and stays"));
            Ok(())
        })
        .await
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        Place::blocking(place, |place, host| {
            let path = place.identity.as_str();
            let status = host.disk.status(path)?.filter(|status| status.is_directory());
            let Some(status) = status else { return Ok(None) };
            let mut value = Value::map([("path", path)]);
            form::read_access(&host.disk, &status, place.wanted(), &mut value);
            if place.wanted().flag("purge")
                && let Some(data) = etcd_data::read(&host.disk.target(path)?)
            {
                let text = match data.ids {
                    Some(ids) => format!("etcd cluster {:x}", ids.cluster),
                    None => "etcd cluster of unknown id".to_owned(),
                };
                value.set(&Path::key(FINGERPRINT), text.into());
            }
            Ok(Some(value))
        })
        .await
    }
}
