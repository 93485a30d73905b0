//! Puts a program in its place.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Writes a program with the mode 0755 into a folder.
///
/// The program is written beside its place, in the same folder, and then renamed: it is there whole or not at all, and gets the
/// security label of its folder.
///
/// # Errors
/// When the folder cannot be written to, or the source cannot be read.
pub fn write(folder: &Path, name: &Path, mut source: impl Read) -> io::Result<()> {
    let draft = folder.join(format!(".slipway-{}", name.display()));
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut target = OpenOptions::new().write(true).create_new(true).mode(0o755).open(&draft)?;
    io::copy(&mut source, &mut target)?;
    // The mask of the process does not count: every user of the machine may run a program.
    target.set_permissions(Permissions::from_mode(0o755))?;
    target.sync_all()?;
    fs::rename(&draft, folder.join(name))
}
