//! What a merge would make of a repository, read from its objects.
//!
//! Nothing is checked out, and no hook, filter or submodule runs: trees and blobs are read with the plumbing of Git. New
//! objects, those of the merge, are in a temporary folder.

#![allow(
    clippy::disallowed_methods,
    reason = "the caller names the repository; git writes into a temporary folder"
)]

mod bounds;
mod tree;

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use slipway_forges::Revision;
use slipway_limits::text::{shorten, visible};
use slipway_limits::{Exceeded, Size, size};
use tempfile::TempDir;

use crate::error::{Error, Said};
pub use bounds::Interrupt;
use bounds::{Bounds, Ended, within};
pub use tree::Extracted;

/// Settings that hold whatever the configuration of the repository says.
const SETTINGS: [&str; 4] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "submodule.recurse=false",
];

/// The part of Git's messages that is shown.
const SHOWN: Size = Size { what: "a message of Git", bytes: 400 };

/// The most processor time of one call of git, in seconds.
const SECONDS: &str = "120";

/// The most time of one call of git: it may wait for a slow disk, too.
const LONGEST: Duration = Duration::from_secs(180);

/// The most memory of one call of git, in KiB. Packs are mapped and do not count.
const MEMORY: u32 = 2 << 20;

/// Sets the bounds of memory and processor time, and becomes git. A bound of memory that is lower already stays.
const BOUNDED: &str =
    "ulimit -t \"$1\" && { ulimit -d \"$2\" 2>/dev/null || :; } && shift 2 && exec git \"$@\"";

/// The exit code of a shell that does not find a program.
const NOT_FOUND: i32 = 127;

/// The result of a merge.
pub enum Merge {
    /// The tree that it would make.
    Tree(String),
    /// There are conflicts.
    Conflict,
}

/// A Git repository with the commits of a pull request.
pub struct Checkout {
    folder: PathBuf,
    objects: PathBuf,
    scratch: TempDir,
    is_private: bool,
    interrupt: Interrupt,
    /// The most memory of a call, in KiB.
    memory: u32,
}

impl Checkout {
    /// Opens a repository of the caller, with the settings of git that the caller has.
    ///
    /// # Errors
    /// When it is no repository, or no temporary folder can be made.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        Self::open_as(folder, None, MEMORY)
    }

    /// Opens a repository that a program keeps for itself. Settings of git of the user and of the system are not read. The interrupt
    /// ends whatever runs.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_private(folder: &Path, interrupt: &Interrupt) -> Result<Self, Error> {
        Self::open_as(folder, Some(interrupt), MEMORY)
    }

    fn open_as(folder: &Path, private: Option<&Interrupt>, memory: u32) -> Result<Self, Error> {
        let scratch = tempfile::tempdir()
            .map_err(|error| Error::file("the temporary folder", &std::env::temp_dir(), error))?;
        let folder =
            std::fs::canonicalize(folder).map_err(|error| Error::file("the checkout", folder, error))?;
        let (is_private, interrupt) = (private.is_some(), private.cloned().unwrap_or_default());
        let mut checkout = Self { objects: PathBuf::new(), folder, scratch, is_private, interrupt, memory };
        let found = checkout.text(&["rev-parse", "--git-path", "objects"])?;
        checkout.objects = checkout.folder.join(found.trim_end());
        std::fs::create_dir(checkout.new_objects())
            .map_err(|error| Error::file("the temporary folder", checkout.scratch.path(), error))?;
        Ok(checkout)
    }

    /// Whether a file is in the checkout.
    #[must_use]
    pub fn has(&self, path: &Path) -> bool {
        std::fs::canonicalize(path).is_ok_and(|real| real.starts_with(&self.folder))
    }

    /// The tree that a merge of `head` into `base` would make.
    ///
    /// # Errors
    /// When git fails, or the repository does not have what is read.
    pub fn merge(&self, base: &Revision, head: &Revision) -> Result<Merge, Error> {
        for revision in [base, head] {
            self.check_has(revision)?;
        }
        let output = self.run(&["merge-tree", "--write-tree", "-z", base.as_str(), head.as_str()])?;
        match output.status.code() {
            Some(0) => {
                let text = String::from_utf8_lossy(&output.output);
                let tree = text.split(['\0', '\n']).next().unwrap_or_default();
                let tree = Revision::parse(tree).ok_or_else(|| failed("merge-tree", &output))?;
                Ok(Merge::Tree(tree.to_string()))
            }
            Some(1) => Ok(Merge::Conflict),
            _ => Err(failed("merge-tree", &output)),
        }
    }

    fn check_has(&self, revision: &Revision) -> Result<(), Error> {
        let output = self.run(&["cat-file", "-e", &format!("{revision}^{{commit}}")])?;
        if output.status.success() {
            return Ok(());
        }
        Err(Error::NoCommit { folder: self.folder.clone(), commit: revision.to_string() })
    }

    /// The paths that differ between a commit and a tree.
    ///
    /// # Errors
    /// When git fails, or the repository does not have what is read.
    pub fn changed(&self, base: &Revision, tree: &str) -> Result<Vec<PathBuf>, Error> {
        let names =
            self.text(&["diff-tree", "-r", "-z", "--name-only", "--no-renames", base.as_str(), tree])?;
        Ok(names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect())
    }

    /// The text of a file of a commit.
    ///
    /// # Errors
    /// When git fails, or the repository does not have what is read.
    pub fn file(&self, revision: &Revision, path: &Path) -> Result<String, Error> {
        self.check_has(revision)?;
        let folder = self.extract(revision.as_str(), &[path.to_owned()])?;
        let place = folder.place(path);
        let text = slipway_limits::file::read_text(&place, size::CONFIGURATION);
        text.map_err(|error| Error::file("the file of the base branch", path, error))
    }

    /// Writes files and folders of a commit or a tree into a folder of their own. Paths that it does not have are left out.
    ///
    /// # Errors
    /// When git fails, or the repository does not have what is read.
    pub fn extract(&self, of: &str, paths: &[PathBuf]) -> Result<Extracted, Error> {
        let paths = paths.iter().map(|path| tree::relative(path)).collect::<Result<Vec<_>, _>>()?;
        let mut arguments = vec!["ls-tree", "-r", "-z", "-l", "--full-tree", of, "--"];
        // Without a path, Git lists the whole tree.
        if !paths.iter().any(String::is_empty) {
            arguments.extend(paths.iter().map(String::as_str));
        }
        let listed = self.text(&arguments)?;
        let entries = tree::entries(&listed)?;
        let scratch = |error| Error::file("the temporary folder", self.scratch.path(), error);
        let mut names = tempfile::tempfile_in(self.scratch.path()).map_err(scratch)?;
        for entry in &entries {
            writeln!(names, "{}", entry.object).map_err(scratch)?;
        }
        std::io::Seek::rewind(&mut names).map_err(scratch)?;
        let mut command = self.command(&["cat-file", "--batch"]);
        let folder = TempDir::new_in(self.scratch.path()).map_err(scratch)?;
        let git = command
            .stdin(names)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Error::NoGit)?;
        let written =
            self.bounds("cat-file").end(git, |blobs| tree::write(folder.path(), &entries, blobs))?;
        written.output?;
        Extracted::new(folder)
    }

    fn text(&self, arguments: &[&str]) -> Result<String, Error> {
        let output = self.run(arguments)?;
        let name = arguments.first().copied().unwrap_or_default();
        if !output.status.success() {
            return Err(failed(name, &output));
        }
        String::from_utf8(output.output).map_err(|_| {
            Error::content("the repository has a path that is not UTF-8", "rename the file in the repository")
        })
    }

    fn run(&self, arguments: &[&str]) -> Result<Ended<Vec<u8>>, Error> {
        let name = arguments.first().copied().unwrap_or_default();
        let mut command = self.command(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let git = command.spawn().map_err(Error::NoGit)?;
        let Ended { status, output, errors } =
            self.bounds(name).end(git, |output| within(output, size::FILE_LIST))?;
        if status.code() == Some(NOT_FOUND) {
            return Err(Error::NoGit(std::io::ErrorKind::NotFound.into()));
        }
        let output = output.map_err(|error| match Exceeded::of(&error) {
            Some(_) => Error::content(
                format!("the answer of `git {name}` has more than {}", size::FILE_LIST),
                "make a smaller pull request, or name only the folders of the specs with `-f`",
            ),
            None => Error::NoGit(error),
        })?;
        Ok(Ended { status, output, errors })
    }

    fn bounds<'a>(&'a self, command: &'a str) -> Bounds<'a> {
        Bounds { command, longest: LONGEST, interrupt: &self.interrupt }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut git = Command::new("/bin/sh");
        git.args(["-c", BOUNDED, "sh", SECONDS, &self.memory.to_string()]);
        git.env_clear();
        let of_user: &[&str] = if self.is_private { &[] } else { &["HOME", "XDG_CONFIG_HOME"] };
        for name in ["PATH", "TMPDIR"].iter().chain(of_user) {
            if let Some(value) = std::env::var_os(name) {
                git.env(name, value);
            }
        }
        if !self.objects.as_os_str().is_empty() {
            git.env("GIT_OBJECT_DIRECTORY", self.new_objects());
            git.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", &self.objects);
        }
        let fixed = [
            ("LC_ALL", "C"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_LITERAL_PATHSPECS", "1"),
        ];
        git.envs(fixed);
        if self.is_private {
            git.env("GIT_CONFIG_NOSYSTEM", "1")
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_ATTR_NOSYSTEM", "1");
        }
        for setting in SETTINGS {
            git.args(["-c", setting]);
        }
        git.arg("-C").arg(&self.folder).args(arguments.iter().map(OsStr::new));
        git
    }

    fn new_objects(&self) -> PathBuf {
        self.scratch.path().join("objects")
    }
}

fn failed(name: &str, ended: &Ended<Vec<u8>>) -> Error {
    let said = String::from_utf8_lossy(&ended.errors);
    let said = Said(visible(&shorten(said.trim(), SHOWN)).into_owned());
    Error::Git { command: name.to_owned(), said }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with a file of 8 MiB, and its commit.
    fn repository(folder: &Path) -> String {
        let git = |arguments: &[&str]| {
            let settings = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "gc.auto=0"];
            let ended = Command::new("git").args(settings).arg("-C").arg(folder).args(arguments).output();
            let ended = ended.unwrap();
            assert!(ended.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
            String::from_utf8(ended.stdout).unwrap().trim().to_owned()
        };
        git(&["init", "--quiet"]);
        std::fs::write(folder.join("large.yaml"), vec![b'x'; 8 << 20]).unwrap();
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", "large"]);
        // Git streams a file that is in no pack.
        git(&["repack", "--quiet", "-a", "-d"]);
        git(&["rev-parse", "HEAD"])
    }

    #[test]
    fn git_has_a_bound_of_memory() {
        let folder = tempfile::tempdir().unwrap();
        let commit = repository(folder.path());
        let file = [PathBuf::from("large.yaml")];
        let within = |memory| {
            let checkout = Checkout::open_as(folder.path(), None, memory)?;
            checkout.extract(&commit, &file).map(drop)
        };
        within(MEMORY).unwrap();
        assert!(within(6 << 10).is_err(), "git holds the whole file in memory");
    }

    #[test]
    fn an_interrupt_ends_what_would_begin() {
        let folder = tempfile::tempdir().unwrap();
        let commit = repository(folder.path());
        let interrupt = Interrupt::default();
        let checkout = Checkout::open_private(folder.path(), &interrupt).unwrap();
        let paths = [PathBuf::from("large.yaml")];
        checkout.extract(&commit, &paths).map(drop).unwrap();
        interrupt.raise();
        assert!(checkout.extract(&commit, &paths).is_err());
    }
}
