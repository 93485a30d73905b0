//! The commits of pull requests, in a local repository beside that of the source.
//!
//! A merge needs the common ancestor of both sides, so the history is fetched, not only one commit.

use std::path::Path;

use super::Repository;
use super::command::Call;
use crate::configuration::{Git, Reference};
use crate::error::Error;

/// After how many fetches the local repository is made again, since commits of closed pull requests stay in it.
const FETCHES: u32 = 1_000;

/// The local repository with the commits of pull requests.
#[derive(Debug)]
pub(crate) struct Commits(Repository);

impl Commits {
    /// A repository whose local copy is in a folder of its own. Nothing is called yet.
    pub fn new(settings: &Git, folder: &Path) -> Self {
        Self(Repository::new(settings, folder))
    }

    /// The local repository.
    pub fn path(&self) -> &Path {
        self.0.caller.repository()
    }

    /// The URL of the repository.
    pub fn url(&self) -> &str {
        self.0.url()
    }

    /// The branch into which pull requests are merged.
    pub fn branch(&self) -> String {
        match self.0.settings.reference() {
            Reference::Branch(name) => name,
            // The configuration was checked.
            Reference::Tag(_) | Reference::Commit(_) => String::new(),
        }
    }

    /// Fetches the branch of the source, and the head of a pull request, which the server keeps under a reference.
    pub async fn fetch(&mut self, reference: &str) -> Result<(), Error> {
        if self.0.fetches.is_multiple_of(FETCHES) {
            self.0.make_anew().await?;
        }
        self.0.fetches = self.0.fetches.wrapping_add(1);
        let base = format!("+refs/heads/{}:refs/slipway/base", self.branch());
        let head = format!("+{reference}:refs/slipway/head");
        let call = Call::remote([
            "fetch",
            "--quiet",
            "--force",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--no-write-fetch-head",
            self.0.url(),
            &base,
            &head,
        ]);
        self.0.caller.text(call).await.map(drop)
    }

    /// Whether a fetched commit has the signature that the source requires.
    pub async fn is_signed(&self, commit: &str) -> Result<bool, Error> {
        match self.0.verify(commit).await {
            Ok(()) => Ok(true),
            Err(Error::Signature { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
