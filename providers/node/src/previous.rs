//! Settings as they were before a change, kept until what reads them runs well with the new ones.

use serde::{Deserialize, Serialize};
use slipway_resource::{Digest, ProviderError};

use crate::disk::{Access, Disk};
use crate::error::permanent;

/// Where they are kept, beside files that had to give way.
const FOLDER: &str = "/var/lib/slipway/replaced";

/// How the file was; nothing of one that was not there.
#[derive(Serialize, Deserialize)]
struct Form {
    path: String,
    access: Option<(u32, u32, u32)>,
}

fn place(path: &str) -> String {
    let digest = Digest::of_bytes(path.as_bytes());
    format!("{FOLDER}/{}.previous", digest.name())
}

/// Keeps a file as it is now, unless an earlier version is kept: the one that was last known to work.
pub(crate) fn keep(disk: &Disk, path: &str) -> Result<(), ProviderError> {
    let place = place(path);
    let form_place = format!("{place}.json");
    if disk.status(&form_place)?.is_some() {
        return Ok(());
    }
    let access = match (disk.status(path)?, disk.read(path)?) {
        (Some(status), Some(content)) => {
            disk.write(&place, &content, Access::mode(0o600))?;
            Some((status.mode(), status.owner(), status.group()))
        }
        _ => None,
    };
    let form = Form { path: path.to_owned(), access };
    let form = serde_json::to_vec(&form).map_err(|error| permanent(error.to_string()))?;
    disk.write(&form_place, &form, Access::mode(0o600))
}

/// The kept content of a file.
pub(crate) fn content(disk: &Disk, path: &str) -> Result<Option<Vec<u8>>, ProviderError> {
    disk.read(&place(path))
}

/// Forgets what is kept of a file.
pub(crate) fn forget(disk: &Disk, path: &str) -> Result<(), ProviderError> {
    let place = place(path);
    disk.remove(&format!("{place}.json"))?;
    disk.remove(&place).map(drop)
}

/// Puts a file back as it was; whether something was kept of it.
pub(crate) fn put_back(disk: &Disk, path: &str) -> Result<bool, ProviderError> {
    let place = place(path);
    let form_place = format!("{place}.json");
    let Some(form) = disk.read(&form_place)? else { return Ok(false) };
    let form: Form = serde_json::from_slice(&form)
        .map_err(|error| permanent(format!("{form_place} cannot be understood: {error}")))?;
    match (form.access, disk.read(&place)?) {
        (Some((mode, owner, group)), Some(content)) => {
            let access = Access { mode, owner: Some(owner), group: Some(group) };
            disk.write(path, &content, access)?;
        }
        _ => drop(disk.remove(path)?),
    }
    forget(disk, path)?;
    Ok(true)
}
