//! Replaced files, kept until the objects in their place are deleted.

use serde::{Deserialize, Serialize};
use slipway_resource::{Digest, ProviderError};

use crate::disk::{Access, Disk};
use crate::error::permanent;

/// Where they are kept.
const FOLDER: &str = "/var/lib/slipway/replaced";

/// How the file was.
#[derive(Serialize, Deserialize)]
struct Form {
    path: String,
    mode: u32,
    owner: u32,
    group: u32,
}

fn place(path: &str) -> String {
    let digest = Digest::of_bytes(path.as_bytes());
    format!("{FOLDER}/{}", digest.name())
}

/// Keeps a file, unless one of its place is kept already.
pub(crate) fn keep(disk: &Disk, path: &str) -> Result<(), ProviderError> {
    let place = place(path);
    let form_place = format!("{place}.json");
    if disk.status(&form_place)?.is_some() {
        return Ok(());
    }
    let (Some(status), Some(content)) = (disk.status(path)?, disk.read(path)?) else { return Ok(()) };
    let form =
        Form { path: path.to_owned(), mode: status.mode(), owner: status.owner(), group: status.group() };
    let form = serde_json::to_vec(&form).map_err(|error| permanent(error.to_string()))?;
    disk.write(&place, &content, Access::mode(0o600))?;
    disk.write(&form_place, &form, Access::mode(0o600))
}

/// Whether a file of that place is kept.
pub(crate) fn is_kept(disk: &Disk, path: &str) -> Result<bool, ProviderError> {
    Ok(disk.status(&format!("{}.json", place(path)))?.is_some())
}

/// Puts a kept file back in its place. A replaced file is kept before any other change, so if none is kept,
/// the original is in its place already.
pub(crate) fn bring_back(disk: &Disk, path: &str) -> Result<(), ProviderError> {
    let place = place(path);
    let form_place = format!("{place}.json");
    let (Some(form), Some(content)) = (disk.read(&form_place)?, disk.read(&place)?) else {
        return Ok(());
    };
    let form: Form = serde_json::from_slice(&form)
        .map_err(|error| permanent(format!("{form_place} cannot be understood: {error}")))?;
    let access = Access { mode: form.mode, owner: Some(form.owner), group: Some(form.group) };
    disk.write(path, &content, access)?;
    disk.remove(&form_place)?;
    disk.remove(&place).map(drop)
}
