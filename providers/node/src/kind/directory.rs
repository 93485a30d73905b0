//! A folder.

use std::collections::BTreeSet;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_bootstrap::preflight::way_out_of_etcd_data;
use slipway_resource::provider::{PlanItem, Planned};
use slipway_resource::{Attribute, ProviderError, ResourceType, Type, Value};

use super::form::{self, memorise, recall};
use super::{Kind, Place, Work};
use crate::attributes::Attributes;
use crate::error::{conflict, permanent};
use crate::host::Host;
use crate::ledger::Found;
use crate::{etcd_data, purge};

/// A folder. One that was there before stays when it is deleted; one of ours is removed when it is empty, or with everything
/// in it when that was asked for: then what came into a folder that was there before is removed, and what was in it stays.
///
/// A folder that is purged and has the data of an etcd that is not ours is refused: no member may start on that.
pub(crate) struct Directory;

/// By which a folder is known to be the one that was made. Numbers of devices change with a restart, those of inodes do
/// not.
#[derive(Serialize, Deserialize)]
struct Memory {
    inode: u64,
    /// What was in the folder before it was ours, where it is purged; nothing is known of folders of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<BTreeSet<String>>,
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
        form::resource_type(
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
                         is removed when it is empty. A folder with the data of another etcd is refused.",
                    ),
                ),
            ],
        )
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        form::checked_path(desired, "path").map(str::to_owned)
    }

    fn plan(&self, _: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        form::plan_path(planned, "path")?;
        form::plan_mode(planned, "mode")
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
            let entry = work.place.entry.as_ref();
            let is_new = recall::<Memory>(work.place.memory()).is_none();
            let is_kept = entry.is_some_and(|entry| entry.found == Found::Kept);
            if !(is_new && is_kept && work.wanted().flag("purge")) {
                return Ok(work.place.memory().clone());
            }
            let disk = &work.host().disk;
            let Some(status) = disk.status(work.identity())? else { return Ok(Json::Null) };
            let before = disk.list(work.identity())?.into_iter().collect();
            memorise(&Memory { inode: status.inode(), before: Some(before) })
        })
        .await
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        work.blocking(|work| {
            let before = recall::<Memory>(work.place.memory()).and_then(|memory| memory.before);
            let disk = &work.host().disk;
            let access = form::access(disk, work.wanted(), "mode", 0o755)?;
            disk.make_directory(work.identity(), access)?;
            let status = disk.status(work.identity())?;
            let status = status.ok_or_else(|| permanent(format!("{} is gone again", work.identity())))?;
            memorise(&Memory { inode: status.inode(), before })
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
            if work.stays() {
                let before = memory.and_then(|memory| memory.before).filter(|_| is_the_same);
                return before.map_or(Ok(()), |before| purge::but(disk, path, &before));
            }
            if !is_the_same {
                work.tell(format!("{path} is another folder than the one that was made, and stays"));
                return Ok(());
            }
            if Attributes(&entry.wanted).flag("purge") {
                return purge::folder(disk, path);
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
            Ok(status.map(|status| {
                let mut value = Value::map([("path", path)]);
                form::read_access(&host.disk, &status, place.wanted(), &mut value);
                value
            }))
        })
        .await
    }
}
