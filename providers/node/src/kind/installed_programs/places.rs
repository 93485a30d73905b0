//! The places of programs, and the programs that were there before.
//!
//! Beside the programs, in their folder and thus on their file system, is a folder with three others: `new` has the programs to put
//! in place, `previous` those that worked before the present change, and `original` those that the host brought.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use slipway_programs::Contents;
use slipway_resource::ProviderError;

use crate::error::{of_path, permanent};

/// The programs of one set.
#[derive(Clone)]
pub(super) struct Places {
    folder: PathBuf,
    own: PathBuf,
}

impl Places {
    /// The places of a set in a folder.
    pub(super) fn new(folder: PathBuf, name: &str) -> Self {
        let own = folder.join(format!(".slipway-{name}"));
        Self { folder, own }
    }

    /// Where a program is before it is put in place.
    pub(super) fn staged(&self, program: &str) -> PathBuf {
        self.new_programs().join(program)
    }

    /// Where a program is.
    pub(super) fn program(&self, program: &str) -> PathBuf {
        self.folder.join(program)
    }

    fn new_programs(&self) -> PathBuf {
        self.own.join("new")
    }

    fn previous(&self) -> PathBuf {
        self.own.join("previous")
    }

    fn previous_draft(&self) -> PathBuf {
        self.own.join("previous.draft")
    }

    fn original(&self) -> PathBuf {
        self.own.join("original")
    }

    /// The file with the names of the programs that a change puts in place, one in each line.
    fn names(&self) -> PathBuf {
        self.own.join("names")
    }

    /// The file that says whether the node was ready before a change.
    fn readiness(&self) -> PathBuf {
        self.own.join("was-ready")
    }

    /// Whether a change was interrupted after its first program may have been put in place.
    pub(super) fn is_begun(&self) -> bool {
        is_there(&self.previous())
    }

    /// Writes down whether the node was ready, for an attempt that is repeated after an interruption.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn remember_ready(&self, was_ready: bool) -> Result<(), ProviderError> {
        let write = || {
            fs::create_dir_all(&self.own)?;
            fs::write(self.readiness(), was_ready.to_string())
        };
        write().map_err(|error| of_path(&self.readiness(), "write", &error))
    }

    /// Whether the node was ready before the change; `None` where nothing was written down.
    pub(super) fn was_ready(&self) -> Option<bool> {
        fs::read_to_string(self.readiness()).ok()?.parse().ok()
    }

    /// Unpacks the programs of a fetched file beside their places. Returns their names.
    ///
    /// # Errors
    /// When the file has no program, or cannot be read.
    pub(super) fn stage(
        &self,
        contents: Contents<'_>,
        source: &Path,
    ) -> Result<BTreeSet<String>, ProviderError> {
        let folder = self.new_programs();
        empty_folder(&folder).map_err(|error| of_path(&folder, "make", &error))?;
        let file = File::open(source).map_err(|error| of_path(source, "read", &error))?;
        let names = slipway_programs::unpack(contents, file, &folder)
            .map_err(|error| of_path(source, "unpack", &error))?;
        if names.is_empty() {
            return Err(permanent(format!("{} has no program in it", source.display())));
        }
        Ok(names)
    }

    /// Puts staged programs in their places, and removes those of the previous set that the new one lacks. What was there before is
    /// kept until [`Places::settle`], what the host brought until [`Places::give_back`]. May be repeated after an interruption.
    pub(super) fn replace(
        &self,
        new: &BTreeSet<String>,
        ours: &BTreeSet<String>,
    ) -> Result<(), ProviderError> {
        self.keep(new, ours)
            .map_err(|error| of_path(&self.own, "keep the present programs in it", &error))?;
        self.put(new, ours).map_err(|error| of_path(&self.folder, "put programs into it", &error))
    }

    fn keep(&self, new: &BTreeSet<String>, ours: &BTreeSet<String>) -> io::Result<()> {
        // It is made whole or not at all. If it is there, a change was interrupted, and its places may have new programs already.
        let is_begun = is_there(&self.previous());
        let begun = if is_begun { self.interrupted()? } else { BTreeSet::new() };
        let of_host: Vec<&String> = new.difference(ours).filter(|name| !begun.contains(*name)).collect();
        fs::create_dir_all(self.original())?;
        for name in &of_host {
            link_once(&self.folder.join(name), &self.original().join(name))?;
        }
        if is_begun {
            for name in &of_host {
                link_once(&self.folder.join(name), &self.previous().join(name))?;
            }
            return sync(&self.own);
        }
        let draft = self.previous_draft();
        empty_folder(&draft)?;
        for name in new.union(ours) {
            link(&self.folder.join(name), &draft.join(name))?;
        }
        fs::rename(&draft, self.previous())?;
        sync(&self.own)
    }

    /// The programs that interrupted changes may have put in place.
    fn interrupted(&self) -> io::Result<BTreeSet<String>> {
        match fs::read_to_string(self.names()) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(error) => Err(error),
        }
    }

    fn put(&self, new: &BTreeSet<String>, ours: &BTreeSet<String>) -> io::Result<()> {
        let begun = self.interrupted()?;
        let names: Vec<&str> = new.union(&begun).map(String::as_str).collect();
        fs::write(self.names(), names.join("\n"))?;
        for name in new {
            fs::rename(self.staged(name), self.folder.join(name))?;
        }
        for name in ours.union(&begun).filter(|name| !new.contains(*name)) {
            self.show(&self.original(), name)?;
        }
        sync(&self.folder)
    }

    /// Puts a kept program in its place, and keeps it: what is interrupted is repeated. Without one, the place becomes empty.
    fn show(&self, kept: &Path, name: &str) -> io::Result<()> {
        let (kept, place) = (kept.join(name), self.folder.join(name));
        if !is_there(&kept) {
            return remove_file(&place);
        }
        let draft = self.own.join("shown.draft");
        remove_file(&draft)?;
        fs::hard_link(&kept, &draft)?;
        fs::rename(&draft, &place)?;
        // The draft stays where both are names of one file.
        remove_file(&draft)
    }

    /// Puts the programs back that were there before the change.
    pub(super) fn put_back(
        &self,
        new: &BTreeSet<String>,
        ours: &BTreeSet<String>,
    ) -> Result<(), ProviderError> {
        let back = || {
            for name in new.union(ours) {
                self.show(&self.previous(), name)?;
            }
            sync(&self.folder)
        };
        back().map_err(|error| of_path(&self.folder, "put the previous programs back into it", &error))?;
        self.settle()
    }

    /// Removes the programs that were to be put in place.
    pub(super) fn unstage(&self) -> Result<(), ProviderError> {
        remove_folder(&self.new_programs()).map_err(|error| of_path(&self.new_programs(), "remove", &error))
    }

    /// Forgets the programs that were there before the change.
    pub(super) fn settle(&self) -> Result<(), ProviderError> {
        let settle = || {
            let draft = self.previous_draft();
            remove_folder(&self.new_programs())?;
            remove_folder(&draft)?;
            if is_there(&self.previous()) {
                // It is there as a whole or not at all.
                fs::rename(self.previous(), &draft)?;
                remove_folder(&draft)?;
            }
            remove_file(&self.readiness())?;
            remove_file(&self.names())
        };
        settle().map_err(|error| of_path(&self.own, "forget the previous programs in it", &error))
    }

    /// Removes the programs that are as they were put here, and brings those of the host back.
    pub(super) fn give_back(&self, files: &BTreeMap<String, String>) -> Result<(), ProviderError> {
        let give = || {
            for name in self.interrupted()? {
                self.show(&self.original(), &name)?;
            }
            for (name, digest) in files {
                let place = self.folder.join(name);
                // A program that somebody else put here since stays.
                if is_there(&place) && slipway_programs::digest(&place)? == *digest {
                    bring(&self.original().join(name), &place)?;
                }
            }
            remove_file(&self.names())?;
            remove_folder(&self.own)
        };
        give().map_err(|error| of_path(&self.folder, "remove programs from it", &error))
    }

    /// The SHA-256 of each of these programs.
    pub(super) fn digests<'a>(
        &self,
        names: impl IntoIterator<Item = &'a String>,
    ) -> Result<BTreeMap<String, String>, ProviderError> {
        let mut digests = BTreeMap::new();
        for name in names {
            let place = self.folder.join(name);
            match slipway_programs::digest(&place) {
                Ok(digest) => drop(digests.insert(name.clone(), digest)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(of_path(&place, "read", &error)),
            }
        }
        Ok(digests)
    }
}

/// Brings a kept program to its place; without one, the place becomes empty.
fn bring(kept: &Path, place: &Path) -> io::Result<()> {
    match fs::rename(kept, place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => remove_file(place),
        moved => moved,
    }
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Gives a file a second name, if it exists. A symbolic link is not followed.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The same, unless the second name is there.
fn link_once(from: &Path, to: &Path) -> io::Result<()> {
    if is_there(to) { Ok(()) } else { link(from, to) }
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn empty_folder(folder: &Path) -> io::Result<()> {
    remove_folder(folder)?;
    fs::create_dir_all(folder)
}

fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Puts these programs in their places, each with its content.
    fn put(places: &Places, programs: &[(&str, &str)], ours: &[&str]) {
        empty_folder(&places.new_programs()).unwrap();
        for (name, text) in programs {
            fs::write(places.staged(name), text).unwrap();
        }
        let names: Vec<&str> = programs.iter().map(|(name, _)| *name).collect();
        places.replace(&set(&names), &set(ours)).unwrap();
    }

    fn text(places: &Places, name: &str) -> Option<String> {
        fs::read_to_string(places.program(name)).ok()
    }

    #[test]
    fn what_the_host_brought_comes_back_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::new(folder.path().to_owned(), "set");
        fs::write(folder.path().join("target"), "link").unwrap();
        std::os::unix::fs::symlink("target", folder.path().join("a")).unwrap();
        put(&places, &[("a", "1"), ("b", "1")], &[]);
        places.settle().unwrap();
        assert_eq!(text(&places, "target").as_deref(), Some("link"), "a link is replaced, not its target");
        put(&places, &[("b", "2"), ("c", "2")], &["a", "b"]);
        places.settle().unwrap();
        assert_eq!(text(&places, "a").as_deref(), Some("link"), "the set has no such program any more");
        assert_eq!(text(&places, "b").as_deref(), Some("2"));
        let files = places.digests(&set(&["b", "c"])).unwrap();
        fs::write(places.program("c"), "of somebody else").unwrap();
        places.give_back(&files).unwrap();
        assert_eq!(text(&places, "b"), None);
        assert_eq!(text(&places, "c").as_deref(), Some("of somebody else"));
        assert!(!is_there(&places.own));
    }

    #[test]
    fn an_interrupted_change_remembers_whether_the_node_was_ready() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::new(folder.path().to_owned(), "set");
        assert!(!places.is_begun());
        assert_eq!(places.was_ready(), None);
        places.remember_ready(true).unwrap();
        put(&places, &[("a", "1")], &[]);
        assert!(places.is_begun());
        assert_eq!(places.was_ready(), Some(true));
        places.settle().unwrap();
        assert!(!places.is_begun());
        assert_eq!(places.was_ready(), None);
    }

    #[test]
    fn the_previous_programs_come_back_also_after_an_interruption() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::new(folder.path().to_owned(), "set");
        put(&places, &[("a", "1")], &[]);
        places.settle().unwrap();
        put(&places, &[("a", "2"), ("b", "2")], &["a"]);
        // Interrupted here, and begun again with other programs: 1 is the version that worked.
        put(&places, &[("a", "3"), ("b", "3")], &["a"]);
        places.put_back(&set(&["a", "b"]), &set(&["a"])).unwrap();
        assert_eq!(text(&places, "a").as_deref(), Some("1"));
        assert_eq!(text(&places, "b"), None);
        assert!(!is_there(&places.previous()));
    }

    #[test]
    fn an_interrupted_change_is_begun_again_with_other_programs() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::new(folder.path().to_owned(), "set");
        for name in ["b", "c"] {
            fs::write(folder.path().join(name), "of the host").unwrap();
        }
        put(&places, &[("a", "1"), ("b", "1")], &[]);
        put(&places, &[("a", "2"), ("c", "2")], &[]);
        assert_eq!(text(&places, "b").as_deref(), Some("of the host"));
        places.settle().unwrap();
        places.give_back(&places.digests(&set(&["a", "c"])).unwrap()).unwrap();
        assert_eq!(text(&places, "a"), None);
        for name in ["b", "c"] {
            assert_eq!(text(&places, name).as_deref(), Some("of the host"), "{name}");
        }
    }

    #[test]
    fn a_repeated_change_that_drops_a_program_keeps_that_of_the_host() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::new(folder.path().to_owned(), "set");
        fs::write(folder.path().join("a"), "of the host").unwrap();
        put(&places, &[("a", "1"), ("b", "1")], &[]);
        places.settle().unwrap();
        for _ in 0..2 {
            put(&places, &[("b", "2")], &["a", "b"]);
            assert_eq!(text(&places, "a").as_deref(), Some("of the host"));
        }
        places.put_back(&set(&["b"]), &set(&["a", "b"])).unwrap();
        assert_eq!(text(&places, "a").as_deref(), Some("1"));
        places.give_back(&places.digests(&set(&["a", "b"])).unwrap()).unwrap();
        assert_eq!(text(&places, "a").as_deref(), Some("of the host"));
        assert_eq!(text(&places, "b"), None);
    }

    #[test]
    fn an_interrupted_first_installation_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::new(folder.path().to_owned(), "set");
        fs::write(folder.path().join("a"), "of the host").unwrap();
        put(&places, &[("a", "1"), ("b", "1")], &[]);
        for name in places.interrupted().unwrap() {
            // A deletion that is interrupted is repeated.
            places.show(&places.original(), &name).unwrap();
        }
        places.give_back(&BTreeMap::new()).unwrap();
        assert_eq!(text(&places, "a").as_deref(), Some("of the host"));
        assert_eq!(text(&places, "b"), None);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
