//! A folder.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_resource::provider::{PlanItem, Planned};
use slipway_resource::{Attribute, ProviderError, ResourceType, Type, Value};

use super::form::{self, memorise, recall};
use super::{Kind, Place, Work};
use crate::attributes::Attributes;
use crate::error::{conflict, permanent};
use crate::ledger::Found;
use crate::purge;

/// A folder. One that was there before stays when it is deleted; one of ours goes when it is empty, or with everything
/// in it when that was asked for.
pub(crate) struct Directory;

/// By which a folder is known to be the one that was made. Numbers of devices change with a restart, those of inodes do
/// not.
#[derive(Serialize, Deserialize)]
struct Memory {
    inode: u64,
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
                        "Whether deleting it removes what is in it, when Slipway has made it; else it goes when it \
                         is empty.",
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
            Some(status) if status.is_directory() => Ok(Found::Kept),
            Some(_) => Err(conflict(format!("{} is there, and no folder", work.identity()))),
        })
        .await
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        work.blocking(|work| {
            let disk = &work.host().disk;
            let access = form::access(disk, work.wanted(), "mode", 0o755)?;
            disk.make_directory(work.identity(), access)?;
            let status = disk.status(work.identity())?;
            let status = status.ok_or_else(|| permanent(format!("{} is gone again", work.identity())))?;
            memorise(&Memory { inode: status.inode() })
        })
        .await
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        work.blocking(|work| {
            let path = work.identity();
            let disk = &work.host().disk;
            let Some(entry) = &work.place.entry else { return Ok(()) };
            let Some(status) = disk.status(path)? else { return Ok(()) };
            if work.stays() {
                return Ok(());
            }
            let memory = recall::<Memory>(&entry.memory);
            let is_the_same = memory.is_none_or(|memory| memory.inode == status.inode());
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
