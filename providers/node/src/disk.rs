//! Reading and writing below the root, such that a crash at any moment leaves the old or the new content.

mod temporary;

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use slipway_resource::ProviderError;

use crate::error::{of_path, permanent};
use crate::folders;
use crate::root::Root;

pub(crate) use temporary::clear as clear_temporaries;

/// Called with the name of each step of a write, right before the step. Tests end the process there.
pub type Checkpoint = Arc<dyn Fn(&str) + Send + Sync>;

/// Files larger than this are not read: no file of a node's setup is.
const LARGEST: u64 = 16 << 20;

/// The part of a file system below a root.
#[derive(Clone)]
pub(crate) struct Disk {
    root: Root,
    checkpoint: Option<Checkpoint>,
}

/// The desired mode and owner of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) mode: u32,
    pub(crate) owner: Option<u32>,
    pub(crate) group: Option<u32>,
}

impl Access {
    pub(crate) fn mode(mode: u32) -> Self {
        Self { mode, owner: None, group: None }
    }
}

/// The status of a file or folder.
#[derive(Clone, Debug)]
pub(crate) struct Status(Metadata);

impl Status {
    pub(crate) fn is_file(&self) -> bool {
        self.0.is_file()
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.0.is_dir()
    }

    pub(crate) fn mode(&self) -> u32 {
        self.0.mode() & 0o7777
    }

    pub(crate) fn owner(&self) -> u32 {
        self.0.uid()
    }

    pub(crate) fn group(&self) -> u32 {
        self.0.gid()
    }

    pub(crate) fn inode(&self) -> u64 {
        self.0.ino()
    }

    /// The time of the last change of content, mode or name, in nanoseconds of the wall clock.
    pub(crate) fn changed(&self) -> i64 {
        self.0.ctime().saturating_mul(1_000_000_000).saturating_add(self.0.ctime_nsec())
    }
}

impl Disk {
    pub(crate) fn new(root: Root, checkpoint: Option<Checkpoint>) -> Self {
        Self { root, checkpoint }
    }

    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    /// Says which step comes next.
    pub(crate) fn at(&self, step: &str) {
        if let Some(checkpoint) = &self.checkpoint {
            checkpoint(step);
        }
    }

    /// The status of a path. A symbolic link is followed, as programs do when they read configuration.
    pub(crate) fn status(&self, path: &str) -> Result<Option<Status>, ProviderError> {
        let place = self.target(path)?;
        match fs::metadata(&place) {
            Ok(metadata) => Ok(Some(Status(metadata))),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(of_path(&place, "look at", &error)),
        }
    }

    /// The content of a file; `None` when there is none.
    pub(crate) fn read(&self, path: &str) -> Result<Option<Vec<u8>>, ProviderError> {
        let place = self.target(path)?;
        let metadata = match fs::metadata(&place) {
            Ok(metadata) => metadata,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(of_path(&place, "look at", &error)),
        };
        if !metadata.is_file() {
            return Err(permanent(format!("{} is not a file", place.display())));
        }
        if metadata.len() > LARGEST {
            let text = format!("{} has {} bytes, more than is read", place.display(), metadata.len());
            return Err(permanent(text));
        }
        match fs::read(&place) {
            Ok(content) => Ok(Some(content)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(of_path(&place, "read", &error)),
        }
    }

    /// The same as text.
    pub(crate) fn read_text(&self, path: &str) -> Result<Option<String>, ProviderError> {
        let Some(content) = self.read(path)? else { return Ok(None) };
        String::from_utf8(content)
            .map(Some)
            .map_err(|_| permanent(format!("{path} holds bytes that are not text")))
    }

    /// Writes a file with its content, mode and owner atomically. Missing folders above it are created.
    pub(crate) fn write(&self, path: &str, content: &[u8], access: Access) -> Result<(), ProviderError> {
        let place = self.target(path)?;
        let folder = parent(&place)?;
        self.make_folders(&folder)?;
        let draft = temporary::name(&self.root, &folder)?;
        let drafted = self.draft(&draft, content, access).map_err(|error| of_path(&draft, "write", &error));
        let placed = drafted.and_then(|()| {
            self.at("rename");
            fs::rename(&draft, &place).map_err(|error| of_path(&place, "replace", &error))
        });
        if placed.is_err() {
            // The draft may contain a secret, so it is not left behind.
            let _ = fs::remove_file(&draft);
        }
        placed?;
        self.at("sync folder");
        sync_folder(&folder)
    }

    fn draft(&self, draft: &Path, content: &[u8], access: Access) -> io::Result<()> {
        self.at("create");
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
        let (first, second) = content.split_at(content.len() / 2);
        file.write_all(first)?;
        self.at("write");
        file.write_all(second)?;
        if access.owner.is_some() || access.group.is_some() {
            std::os::unix::fs::fchown(&file, access.owner, access.group)?;
        }
        file.set_permissions(Permissions::from_mode(access.mode))?;
        file.sync_all()
    }

    /// Creates a file that must not exist; `false` when it exists.
    pub(crate) fn write_new(&self, path: &str, content: &[u8], mode: u32) -> Result<bool, ProviderError> {
        let place = self.target(path)?;
        let folder = parent(&place)?;
        self.make_folders(&folder)?;
        let draft = temporary::name(&self.root, &folder)?;
        let access = Access::mode(mode);
        self.draft(&draft, content, access).map_err(|error| of_path(&draft, "write", &error))?;
        self.at("link");
        let linked = fs::hard_link(&draft, &place);
        let _ = fs::remove_file(&draft);
        match linked {
            Ok(()) => sync_folder(&folder).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(of_path(&place, "make", &error)),
        }
    }

    /// Changes mode and owner where they differ.
    pub(crate) fn set_access(&self, path: &str, access: Access) -> Result<(), ProviderError> {
        let place = self.target(path)?;
        let failed = |error: io::Error| of_path(&place, "change the mode or the owner", &error);
        let metadata = fs::metadata(&place).map_err(failed)?;
        let owner = access.owner.filter(|owner| *owner != metadata.uid());
        let group = access.group.filter(|group| *group != metadata.gid());
        if owner.is_some() || group.is_some() {
            self.at("change owner");
            std::os::unix::fs::chown(&place, owner, group).map_err(failed)?;
        }
        if metadata.mode() & 0o7777 != access.mode {
            self.at("change mode");
            fs::set_permissions(&place, Permissions::from_mode(access.mode)).map_err(failed)?;
        }
        Ok(())
    }

    /// Takes a file away; whether there was one.
    pub(crate) fn remove(&self, path: &str) -> Result<bool, ProviderError> {
        let place = self.root.resolve(path)?;
        self.at("remove");
        match fs::remove_file(&place) {
            Ok(()) => {}
            Err(error) if is_absent(&error) => return Ok(false),
            Err(error) => return Err(of_path(&place, "remove", &error)),
        }
        sync_folder(&parent(&place)?)?;
        Ok(true)
    }

    /// Makes a folder with its mode and owner; folders above it get 0755.
    pub(crate) fn make_directory(&self, path: &str, access: Access) -> Result<(), ProviderError> {
        let place = self.target(path)?;
        self.make_folders(&parent(&place)?)?;
        self.at("create folder");
        match fs::create_dir(&place) {
            Ok(()) => sync_folder(&parent(&place)?)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && place.is_dir() => {}
            Err(error) => return Err(of_path(&place, "make", &error)),
        }
        self.set_access(path, access)
    }

    /// The names in a folder, sorted; empty when there is none.
    pub(crate) fn list(&self, path: &str) -> Result<Vec<String>, ProviderError> {
        let place = self.target(path)?;
        let entries = match fs::read_dir(&place) {
            Ok(entries) => entries,
            Err(error) if is_absent(&error) => return Ok(Vec::new()),
            Err(error) => return Err(of_path(&place, "list", &error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| of_path(&place, "list", &error))?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    /// Where a path of the node is, links followed to their end.
    pub(crate) fn target(&self, path: &str) -> Result<PathBuf, ProviderError> {
        let mut place = self.root.resolve(path)?;
        if self.root.is_machine() {
            // The kernel follows them itself; only a replacement must not replace the link.
            return Ok(fs::canonicalize(&place).unwrap_or(place));
        }
        for _ in 0..8 {
            let Ok(link) = fs::read_link(&place) else { break };
            let folder = place.parent().and_then(|folder| folder.strip_prefix(self.root.path()).ok());
            let joined = Path::new("/").join(folder.unwrap_or(Path::new(""))).join(link);
            place = self.root.resolve(&lexical(&joined))?;
        }
        Ok(place)
    }

    /// Where a path of the node is. A link at its end is not followed, so the place stays right when the link changes.
    pub(crate) fn place(&self, path: &str) -> Result<PathBuf, ProviderError> {
        self.root.resolve(path)
    }

    /// The place of a folder on the node. It is created when it is missing, with the folders above it.
    pub(crate) fn folder(&self, path: &str) -> Result<PathBuf, ProviderError> {
        let place = self.target(path)?;
        self.make_folders(&place)?;
        Ok(place)
    }

    fn make_folders(&self, folder: &Path) -> Result<(), ProviderError> {
        if folder.is_dir() {
            return Ok(());
        }
        self.make_folders(&parent(folder)?)?;
        let below = folder.strip_prefix(self.root.path()).unwrap_or(folder);
        folders::remember(self, &Path::new("/").join(below))?;
        self.at("create folder");
        match fs::create_dir(folder) {
            Ok(()) => sync_folder(&parent(folder)?),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
            Err(error) => Err(of_path(folder, "make", &error)),
        }
    }
}

/// A path without `..`, which is taken literally.
fn lexical(path: &Path) -> String {
    let mut clean = PathBuf::from("/");
    for component in path.components() {
        match component {
            std::path::Component::ParentDir => {
                clean.pop();
            }
            std::path::Component::Normal(name) => clean.push(name),
            _ => {}
        }
    }
    clean.to_string_lossy().into_owned()
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn parent(place: &Path) -> Result<PathBuf, ProviderError> {
    place
        .parent()
        .map(Path::to_owned)
        .ok_or_else(|| permanent(format!("{} is in no folder", place.display())))
}

fn sync_folder(folder: &Path) -> Result<(), ProviderError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| of_path(folder, "make durable", &error))
}

#[cfg(test)]
mod tests;
