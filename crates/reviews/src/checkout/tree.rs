//! Files of a tree, written into a folder.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use slipway_forges::Revision;
use slipway_limits::{count, size};
use tempfile::TempDir;

use crate::error::Error;

/// A file of a tree.
pub(super) struct Entry {
    /// Its path from the root of the repository.
    path: PathBuf,
    /// The id of its blob.
    pub(super) object: Revision,
    /// Its size in bytes.
    bytes: u64,
}

/// Files of a tree in a folder of their own, which is removed with this value.
pub struct Extracted {
    _folder: TempDir,
    root: PathBuf,
}

impl Extracted {
    pub(super) fn new(folder: TempDir) -> Result<Self, Error> {
        let root = fs::canonicalize(folder.path())
            .map_err(|error| Error::file("the temporary folder", folder.path(), error))?;
        Ok(Self { _folder: folder, root })
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where a path of the repository is.
    #[must_use]
    pub fn place(&self, path: &Path) -> PathBuf {
        // `.` would stay in the places that messages name.
        self.root.join(path).components().collect()
    }

    /// A text with the paths of the repository in place of those in this folder.
    #[must_use]
    pub fn without_place(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.root.display()), "").replace(&self.root.display().to_string(), ".")
    }
}

/// A path of the caller as Git takes it; empty for the root of the repository. `/*` at its end means the folder.
pub(super) fn relative(path: &Path) -> Result<String, Error> {
    let mut parts = Vec::new();
    let folder = path.parent().filter(|_| path.ends_with("*")).unwrap_or(path);
    for part in folder.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            _ => {
                let message = format!("{} is not a path in the repository", path.display());
                return Err(Error::content(
                    message,
                    "name it from the root of the repository, as clusters/prod",
                ));
            }
        }
    }
    Ok(parts.join("/"))
}

/// The files in the answer of `git ls-tree -r -z -l`. Nothing but plain files with plain paths is accepted.
pub(super) fn entries(listed: &str) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    let mut total: u64 = 0;
    for line in listed.split('\0').filter(|line| !line.is_empty()) {
        let entry = entry(line)?;
        total = total.saturating_add(entry.bytes);
        if let Some(excess) = excess(entry.bytes, total, entries.len()) {
            let message = format!("{} in the repository has {excess}", entry.path.display());
            return Err(Error::content(message, "name only the folders of the specs with `-f`"));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// What is too much about a file with these bytes, after a number of others.
fn excess(bytes: u64, total: u64, others: usize) -> Option<String> {
    if bytes > size::MANIFEST.bytes {
        return Some(format!("more than {}", size::MANIFEST));
    }
    if total > size::SPECS.bytes {
        return Some(format!("together with the others more than {}", size::SPECS));
    }
    let most = count::FOLDER_ENTRIES;
    (others >= most).then(|| format!("a place after {most} other files, the most that are read"))
}

fn entry(line: &str) -> Result<Entry, Error> {
    let unread = || Error::content("the answer of `git ls-tree` cannot be read", "use Git 2.38 or newer");
    let (head, path) = line.split_once('\t').ok_or_else(unread)?;
    let mut parts = head.split_whitespace();
    let (mode, _, object, bytes) = (parts.next(), parts.next(), parts.next(), parts.next());
    let kind = match mode {
        Some("100644" | "100755") => None,
        Some("120000") => Some("a symbolic link"),
        Some("160000") => Some("a submodule"),
        _ => Some("no plain file"),
    };
    let path = Path::new(path);
    let is_plain = path.components().all(|part| match part {
        Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
        _ => false,
    });
    let problem = kind.map(|kind| format!("is {kind}"));
    let problem = problem.or_else(|| (!is_plain).then(|| "leads out of its folder".to_owned()));
    if let Some(problem) = problem {
        let message =
            format!("{} in the repository {problem}, which a review does not follow", path.display());
        return Err(Error::content(
            message,
            "commit a plain file instead, or move it out of the folders of `-f`",
        ));
    }
    Ok(Entry {
        path: path.to_owned(),
        object: object.and_then(Revision::parse).ok_or_else(unread)?,
        bytes: bytes.and_then(|bytes| bytes.parse().ok()).ok_or_else(unread)?,
    })
}

/// Writes files whose blobs come from `git cat-file --batch`, in the order of the entries.
pub(super) fn write(folder: &Path, entries: &[Entry], blobs: impl Read) -> Result<(), Error> {
    let mut blobs = BufReader::new(blobs);
    for entry in entries {
        write_one(folder, entry, &mut blobs)
            .map_err(|error| Error::file("the file of the repository", &entry.path, error))?;
    }
    Ok(())
}

fn write_one(folder: &Path, entry: &Entry, blobs: &mut impl io::BufRead) -> io::Result<()> {
    let mut head = String::new();
    blobs.by_ref().take(200).read_line(&mut head)?;
    if head.trim_end() != format!("{} blob {}", entry.object, entry.bytes) {
        return Err(io::Error::other("git does not have it"));
    }
    let target = folder.join(&entry.path);
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut file = File::create_new(target)?;
    let copied = io::copy(&mut blobs.by_ref().take(entry.bytes), &mut file)?;
    let mut end = [0];
    blobs.read_exact(&mut end)?;
    if copied == entry.bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(mode: &str, kind: &str, path: &str) -> String {
        format!("{mode} {kind} {}      12\t{path}\0", "a".repeat(40))
    }

    #[test]
    fn only_plain_files_are_read() {
        let listed = [line("100644", "blob", "clusters/a.yaml"), line("100755", "blob", "b..c/d")].concat();
        let found: Vec<_> = entries(&listed).unwrap().into_iter().map(|entry| entry.path).collect();
        assert_eq!(found, [Path::new("clusters/a.yaml"), Path::new("b..c/d")]);
        for (listed, why) in [
            (line("120000", "blob", "clusters/link"), "is a symbolic link"),
            (line("160000", "commit", "clusters/module"), "is a submodule"),
            (line("100644", "blob", "../evil"), "leads out"),
            (line("100644", "blob", "/etc/evil"), "leads out"),
            (line("100644", "blob", "a/.Git/config"), "leads out"),
            (line("100644", "blob", "large").replace("12\t", "99999999\t"), "more than 16 MiB"),
            ("nonsense\0".to_owned(), "cannot be read"),
        ] {
            let Err(error) = entries(&listed) else { panic!("{listed} is accepted") };
            assert!(error.to_string().contains(why), "{listed}: {error}");
        }
    }

    #[test]
    fn paths_of_the_caller_stay_in_the_repository() {
        assert_eq!(relative(Path::new("./clusters//prod/")).unwrap(), "clusters/prod");
        assert_eq!(relative(Path::new("clusters/*")).unwrap(), "clusters");
        assert_eq!(relative(Path::new(".")).unwrap(), "");
        for path in ["../x", "/x", "a/../../x"] {
            assert!(relative(Path::new(path)).is_err(), "{path}");
        }
    }

    #[test]
    fn a_blob_that_is_missing_is_no_empty_file() {
        let folder = tempfile::tempdir().unwrap();
        let listed = [line("100644", "blob", "a/b"), line("100644", "blob", "c")].concat();
        let entries = entries(&listed).unwrap();
        let id = "a".repeat(40);
        let one = format!("{id} blob 12\n012345678901\n");
        assert!(write(folder.path(), &entries, format!("{one}{id} missing\n").as_bytes()).is_err());
        assert_eq!(fs::read_to_string(folder.path().join("a/b")).unwrap(), "012345678901");
        assert!(!folder.path().join("c").exists());
    }
}
