//! Files with age identities, and creation of one for a user without an identity.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use zeroize::Zeroizing;

use crate::age::Identity;
use crate::error::{Error, Result};

/// The identities of a file.
///
/// # Errors
/// When it cannot be read, or has no identities.
pub fn read(path: &Path) -> Result<Vec<Identity>> {
    read_if_there(path)?.ok_or_else(|| failed(path, io::ErrorKind::NotFound.into()))
}

/// The identities of a file; `None` when there is no such file.
///
/// # Errors
/// When it cannot be read, or has no identities.
pub fn read_if_there(path: &Path) -> Result<Option<Vec<Identity>>> {
    let text = match slipway_limits::file::read_given_text(path, slipway_limits::size::KEY_FILE) {
        Ok(text) => Zeroizing::new(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(path, error)),
    };
    let identities = Identity::read_all(&text).map_err(|error| match error {
        Error::InvalidKey { reason, .. } => Error::InvalidKey { what: what(path), reason },
        error => error,
    })?;
    if identities.is_empty() {
        return Err(Error::InvalidKey { what: what(path), reason: "it has no identity".to_owned() });
    }
    Ok(Some(identities))
}

/// Writes a new identity durably into a file that no other user may read, unless the file exists by now.
/// Returns the identities in the file, and whether it is new.
///
/// # Errors
/// When it cannot be written.
pub fn read_or_create(path: &Path) -> Result<(Vec<Identity>, bool)> {
    if let Some(identities) = read_if_there(path)? {
        return Ok((identities, false));
    }
    let identity = Identity::generate()?;
    let created = create(path, &identity).map_err(|error| failed(path, error))?;
    Ok((read(path)?, created))
}

/// Creates the file atomically: writes it beside, and links it to its name. Returns whether it is new.
fn create(path: &Path, identity: &Identity) -> io::Result<bool> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        let (secret, recipient) = (identity.to_secret_text(), identity.recipient());
        let text = Zeroizing::new(format!(
            "# The key with which Slipway opens the secrets in its state store. Without it they are lost: keep a copy.\n\
             # public key: {recipient}\n{}\n",
            *secret
        ));
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        match fs::hard_link(&beside, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            linked => linked.map(|()| true),
        }
    };
    let created = write();
    // The file may not exist.
    let _ = fs::remove_file(&beside);
    File::open(folder)?.sync_all()?;
    created
}

fn what(path: &Path) -> String {
    format!("the identity file {}", path.display())
}

fn failed(path: &Path, error: io::Error) -> Error {
    Error::KeyFile { path: path.display().to_string(), source: Arc::new(error) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn it_is_made_once_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("slipway/age-identity.txt");
        assert!(read_if_there(&path).unwrap().is_none());
        assert_eq!(read(&path).unwrap_err().code(), "SECRET0009");
        let (first, created) = read_or_create(&path).unwrap();
        assert!(created);
        let (again, created) = read_or_create(&path).unwrap();
        assert!(!created);
        assert_eq!(first[0].recipient(), again[0].recipient());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
        fs::write(&path, "# nothing\n").unwrap();
        assert_eq!(read(&path).unwrap_err().code(), "SECRET0008");
    }
}
