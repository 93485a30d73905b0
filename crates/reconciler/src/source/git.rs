//! A Git repository as a source, read by the `git` of the machine (docs/design/gitops-controller.md).
//!
//! No file of the repository is checked out by git. Its objects are read one by one, and written by this process.

mod command;
mod objects;
mod pull_requests;
mod tree;

use std::path::{Path, PathBuf};

use slipway_limits::size;

use super::{Checkout, Listing, is_wanted, next_checkout};
use crate::configuration::{Git, Reference, Signed};
use crate::error::Error;
use command::{Call, Caller};
pub(crate) use pull_requests::Commits;

/// The reference in the local repository to what was fetched last.
const FETCHED: &str = "refs/slipway/fetched";

/// After how many fetches the local repository is made again, since shallow fetches leave objects behind.
const FETCHES: u32 = 64;

/// A repository, with its local copy.
#[derive(Debug)]
pub struct Repository {
    settings: Git,
    caller: Caller,
    folder: PathBuf,
    fetches: u32,
}

impl Repository {
    /// A repository whose local copy is in a folder. Nothing is called yet.
    #[must_use]
    pub fn new(settings: &Git, folder: &Path) -> Self {
        let caller = Caller::new(settings, folder);
        Self { settings: settings.clone(), caller, folder: folder.to_owned(), fetches: 0 }
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.settings.url
    }

    /// The commit that the source follows now, with an accepted signature if signatures are required. `last` is the commit
    /// that was read last: it is not fetched again.
    pub(super) async fn commit(&mut self, last: Option<&str>) -> Result<String, Error> {
        let reference = self.settings.reference();
        let (wanted, shown) = match &reference {
            Reference::Commit(commit) if last == Some(commit.as_str()) => return Ok(commit.clone()),
            Reference::Commit(commit) => (commit.clone(), commit.clone()),
            Reference::Branch(name) => self.look_up(&format!("refs/heads/{name}"), &reference).await?,
            Reference::Tag(name) => self.look_up(&format!("refs/tags/{name}"), &reference).await?,
        };
        if last == Some(shown.as_str()) {
            return Ok(shown);
        }
        self.fetch(&wanted, &reference).await?;
        let commit = self
            .caller
            .text(Call::local(["rev-parse", "--verify", &format!("{FETCHED}^{{commit}}")]))
            .await?;
        let commit = commit.trim().to_owned();
        if !matches!(commit.len(), 40 | 64) || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(self.unavailable("git names no commit"));
        }
        match (self.settings.signatures.as_ref().map(|signatures| signatures.on), &reference) {
            (Some(Signed::Tag), Reference::Tag(name)) => self.verify_tag(name).await?,
            (Some(Signed::Tag), _) => {
                return Err(Error::Signature {
                    what: reference.to_string(),
                    reason: "it is no tag".to_owned(),
                });
            }
            (Some(Signed::Commit) | None, _) => self.verify(&commit).await?,
        }
        Ok(commit)
    }

    /// The reference to fetch, and the object that it names, with annotated tags resolved.
    async fn look_up(&self, name: &str, reference: &Reference) -> Result<(String, String), Error> {
        let peeled = format!("{name}^{{}}");
        let call = Call::remote(["ls-remote", "--exit-code", &self.settings.url, name, &peeled]);
        let ended = self.caller.run(call).await?;
        // With --exit-code, 2 says that nothing fits.
        if ended.code == Some(2) {
            return Err(self.missing(reference));
        }
        let text = self.caller.successful(ended)?;
        let find = |wanted: &str| {
            text.lines().filter_map(|line| line.split_once('\t')).find(|(_, found)| *found == wanted)
        };
        let (object, _) = find(&peeled).or_else(|| find(name)).ok_or_else(|| self.missing(reference))?;
        Ok((name.to_owned(), object.to_owned()))
    }

    /// Fetches one commit without its history.
    async fn fetch(&mut self, wanted: &str, reference: &Reference) -> Result<(), Error> {
        if self.fetches.is_multiple_of(FETCHES) {
            self.make_anew().await?;
        }
        self.fetches = self.fetches.wrapping_add(1);
        let refspec = format!("+{wanted}:{FETCHED}");
        let call = Call::remote([
            "fetch",
            "--quiet",
            "--force",
            "--depth=1",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--no-write-fetch-head",
            &self.settings.url,
            &refspec,
        ]);
        let ended = self.caller.run(call).await?;
        // Git ends with 128 for every failed fetch, so only its message tells that the reference does not exist. The locale of the
        // call is C. Without the message, the failure is reported as that of git.
        let is_gone = |text: &str| {
            text.contains("couldn't find remote ref")
                || text.contains("not our ref")
                || text.contains("unadvertised object")
        };
        if ended.code != Some(0) && is_gone(&ended.errors) {
            return Err(self.missing(reference));
        }
        self.caller.successful(ended).map(drop)
    }

    #[allow(clippy::disallowed_methods, reason = "the data folder of the controller")]
    async fn make_anew(&self) -> Result<(), Error> {
        let repository = self.caller.repository();
        let failed = |source| Error::File { what: "the data folder", path: self.folder.clone(), source };
        // A large one takes a while, in which leases are renewed.
        match tokio::fs::remove_dir_all(repository).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        tokio::fs::create_dir_all(&self.folder).await.map_err(failed)?;
        self.caller.text(Call::local(["init", "--quiet", "--bare"])).await.map(drop)
    }

    /// Requires an accepted signature of a commit.
    async fn verify(&self, commit: &str) -> Result<(), Error> {
        if self.settings.signatures.is_none() {
            return Ok(());
        }
        self.accepted(["verify-commit", commit], format!("the commit {commit}")).await
    }

    /// Requires an accepted signature of the tag that was fetched, under its own name: a signed tag of another name can be pushed as
    /// this one.
    async fn verify_tag(&self, name: &str) -> Result<(), Error> {
        let what = format!("the tag {name}");
        let ended = self.caller.run(Call::local(["cat-file", "tag", FETCHED])).await?;
        let head = ended.output.split("\n\n").next().unwrap_or_default();
        let own = head.lines().find_map(|line| line.strip_prefix("tag "));
        match own.filter(|_| ended.code == Some(0)) {
            Some(own) if own == name => self.accepted(["verify-tag", FETCHED], what).await,
            Some(own) => {
                let reason = format!("it was signed as {}", slipway_limits::text::visible(own));
                Err(Error::Signature { what, reason })
            }
            None => Err(Error::Signature { what, reason: "it is not an annotated tag".to_owned() }),
        }
    }

    /// Requires that git accepts a signature.
    async fn accepted(&self, arguments: [&str; 2], what: String) -> Result<(), Error> {
        let ended = self.caller.run(Call::local(arguments)).await?;
        if ended.code == Some(0) {
            return Ok(());
        }
        let reason = match ended.errors.trim() {
            "" => "it is not signed".to_owned(),
            text => text.to_owned(),
        };
        Err(Error::Signature { what, reason })
    }

    /// Writes the files of the paths of a commit into a folder of their own.
    pub(super) async fn check_out(
        &self,
        commit: &str,
        paths: &[String],
    ) -> Result<(Listing, Checkout), Error> {
        let list =
            Call::local(["ls-tree", "-r", "-z", "--long", "--full-tree", commit]).limit(size::FILE_LIST);
        let text = self.caller.text(list).await?;
        let files = tree::files(&text, |path| is_wanted(paths, path))?;
        let checkout = next_checkout(&self.folder, commit.get(..12).unwrap_or(commit));
        objects::write(&self.caller, &files, checkout.path()).await?;
        let listing = files.into_iter().map(|file| (file.path, file.object)).collect();
        Ok((listing, checkout))
    }

    fn missing(&self, reference: &Reference) -> Error {
        Error::NoReference { what: reference.to_string(), url: self.settings.url.clone() }
    }

    fn unavailable(&self, reason: &str) -> Error {
        Error::Unavailable { url: self.settings.url.clone(), reason: reason.to_owned() }
    }
}
