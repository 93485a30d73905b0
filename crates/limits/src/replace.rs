//! Files that are written completely or not at all.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

/// How many symbolic links are followed, as Linux does.
const MOST_LINKS: usize = 40;

/// The users that may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Its owner alone.
    Owner,
    /// The users that could read the old file, or that the umask of the process allows.
    AsUsual,
}

/// Writes a file completely or not at all. A symbolic link is kept, also one to a file that does not exist yet. A pipe or device gets the
/// bytes directly.
///
/// # Errors
/// When the file or its folder cannot be written; then the old file is unchanged.
pub fn write(path: &Path, bytes: &[u8], readers: Readers) -> io::Result<()> {
    let old = fs::metadata(path).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return fs::write(path, bytes);
    }
    let place = match fs::canonicalize(path) {
        Ok(place) => place,
        Err(_) => end_of_links(path)?,
    };
    let place = place.as_path();
    let draft = draft_of(place);
    let write = || {
        remove_leftover(&draft)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        if readers == Readers::Owner {
            options.mode(0o600);
        }
        let mut file = options.open(&draft)?;
        if let (Readers::AsUsual, Some(old)) = (readers, &old) {
            keep_readers(&file, old)?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, place)
    };
    write().inspect_err(|_| {
        // The draft may not exist.
        let _ = fs::remove_file(&draft);
    })
}

/// The place to which symbolic links lead where no file is; the path itself if it is no link.
///
/// # Errors
/// When the links form a circle.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&place) else { return Ok(place) };
        // A target that is absolute takes the place of the folder.
        place = place.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(io::Error::other("its symbolic links form a circle"))
}

/// Gives a file the owner, the group and the permissions of an old one, as far as this process may. Another group than that of the old
/// file gets no permission.
fn keep_readers(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    let (owner, group) = (Some(old.uid()), Some(old.gid()));
    let mut mode = old.permissions().mode();
    if (new.uid(), new.gid()) != (old.uid(), old.gid())
        && fchown(file, owner, group).is_err()
        && new.gid() != old.gid()
        && fchown(file, None, group).is_err()
    {
        mode &= !0o070;
    }
    file.set_permissions(Permissions::from_mode(mode))
}

/// Checks that [`write()`] can replace an existing file, without a change of it: the file is not read-only, and its folder accepts new
/// files.
///
/// # Errors
/// When one of them is not so, or the file does not exist.
pub fn check_replaceable(path: &Path) -> io::Result<()> {
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Ok(());
    }
    if found.permissions().readonly() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
    }
    let draft = draft_of(&fs::canonicalize(path)?);
    remove_leftover(&draft)?;
    OpenOptions::new().write(true).create_new(true).open(&draft)?;
    fs::remove_file(&draft)
}

/// The file beside another one that replaces it once it is complete.
fn draft_of(place: &Path) -> PathBuf {
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut name = OsString::from(".");
    name.push(place.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    folder.join(name)
}

/// Removes a draft that a process with the same number has left.
fn remove_leftover(draft: &Path) -> io::Result<()> {
    match fs::remove_file(draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_file_keeps_its_readers_and_a_link_what_it_points_to() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("spec.yaml"), folder.path().join("link.yaml"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("spec.yaml", &link).unwrap();
        write(&link, b"new", Readers::AsUsual).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!((fs::read_to_string(&file).unwrap().as_str(), mode(&file)), ("new", 0o640));
        write(&file, b"private", Readers::Owner).unwrap();
        assert_eq!(mode(&file), 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_link_to_no_file_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        fs::create_dir(folder.path().join("other")).unwrap();
        std::os::unix::fs::symlink("second", &first).unwrap();
        std::os::unix::fs::symlink("other/file", &second).unwrap();
        write(&first, b"new", Readers::AsUsual).unwrap();
        assert!(fs::symlink_metadata(&first).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(folder.path().join("other/file")).unwrap(), "new");
        fs::remove_file(&second).unwrap();
        std::os::unix::fs::symlink("first", &second).unwrap();
        assert!(write(&first, b"new", Readers::AsUsual).is_err());
        assert!(fs::symlink_metadata(&first).unwrap().is_symlink());
    }

    #[test]
    fn a_file_of_another_user_stays_that_of_the_user() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("spec.yaml");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        // Only root gives files away.
        if std::os::unix::fs::chown(&file, Some(65_534), Some(65_534)).is_err() {
            return;
        }
        write(&file, b"new", Readers::AsUsual).unwrap();
        let found = fs::metadata(&file).unwrap();
        assert_eq!((found.uid(), found.gid(), mode(&file)), (65_534, 65_534, 0o640));
    }

    #[test]
    fn a_check_of_a_file_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("spec.yaml");
        fs::write(&file, "old").unwrap();
        check_replaceable(&file).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
        check_replaceable(&file).unwrap_err();
        check_replaceable(&folder.path().join("none")).unwrap_err();
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("taken")).unwrap();
        assert!(write(&folder.path().join("taken"), b"text", Readers::Owner).is_err());
        assert!(write(&folder.path().join("none/file"), b"text", Readers::Owner).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        write(Path::new("/dev/null"), b"text", Readers::AsUsual).unwrap();
    }
}
