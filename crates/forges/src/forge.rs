//! One repository of a forge.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use crate::address::Address;
use crate::client::Client;
use crate::error::Error;
use crate::gitlab::GitLab;
use crate::model::{Comment, CommentId, Posted, PullRequest, Review, Revision, Status};
use crate::repository::Repository;
use crate::rest::Rest;
use crate::token::Token;

/// The kinds of forges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// GitHub, also GitHub Enterprise Server.
    GitHub,
    /// GitLab.
    GitLab,
    /// Gitea, and Forgejo, which has the same API.
    Gitea,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::GitHub => "GitHub",
            Self::GitLab => "GitLab",
            Self::Gitea => "Gitea",
        })
    }
}

/// How a repository is reached.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The kind of forge.
    pub kind: Kind,
    /// The address of its site.
    pub address: Address,
    /// The repository.
    pub repository: Repository,
    /// The token; without one only public repositories can be read.
    pub token: Option<Token>,
    /// The login of the token's user, where the forge does not say: tokens of jobs and apps on GitHub may not ask.
    pub user: Option<String>,
    /// How long to wait in all when the forge's rate limit is used up.
    pub patience: Duration,
}

/// One repository of a forge.
///
/// Implementations send no token to another host, follow no redirect, bound every answer and wait out rate limits within
/// the patience of their connection. They repeat requests that change nothing, and never a request that may already have
/// created something.
#[async_trait]
pub trait Forge: Send + Sync {
    /// The kind of forge.
    fn kind(&self) -> Kind;

    /// The largest size of a comment, in bytes.
    fn comment_limit(&self) -> usize;

    /// The login of the token's user, in lower case.
    ///
    /// # Errors
    /// [`Error::UnknownUser`] when the forge does not say.
    async fn own_user(&self) -> Result<String, Error>;

    /// A pull request as it is now, with the current tip of its base branch.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    async fn pull_request(&self, number: u64) -> Result<PullRequest, Error>;

    /// All open pull requests.
    ///
    /// # Errors
    /// When they cannot be read.
    async fn open_pull_requests(&self) -> Result<Vec<PullRequest>, Error>;

    /// All statuses that a commit ever had, the earliest first.
    ///
    /// # Errors
    /// When they cannot be read.
    async fn statuses(&self, revision: &Revision) -> Result<Vec<Posted>, Error>;

    /// Sets a status of a commit.
    ///
    /// # Errors
    /// When the forge refuses it.
    async fn set_status(&self, revision: &Revision, status: &Status) -> Result<(), Error>;

    /// All comments on a pull request, the earliest first.
    ///
    /// # Errors
    /// When they cannot be read.
    async fn comments(&self, number: u64) -> Result<Vec<Comment>, Error>;

    /// Writes a comment.
    ///
    /// # Errors
    /// When the forge refuses it.
    async fn create_comment(&self, number: u64, body: &str) -> Result<CommentId, Error>;

    /// Replaces the text of a comment.
    ///
    /// # Errors
    /// When the forge refuses it.
    async fn update_comment(&self, number: u64, comment: CommentId, body: &str) -> Result<(), Error>;

    /// All reviews that approve or request changes, and approvals that were dismissed, the earliest first.
    ///
    /// # Errors
    /// When they cannot be read.
    async fn reviews(&self, number: u64) -> Result<Vec<Review>, Error>;
}

/// The repository of a connection. Nothing is sent yet.
///
/// # Errors
/// When no HTTP client can be made.
pub fn connect(connection: Connection) -> Result<Box<dyn Forge>, Error> {
    let Connection { kind, address, repository, token, user, patience } = connection;
    let user = user.map(|user| user.to_lowercase());
    Ok(match kind {
        Kind::GitHub => {
            let client = Client::github(&address, token, patience)?;
            Box::new(Rest { kind, client, repository, user })
        }
        Kind::Gitea => {
            let client = Client::gitea(&address, token, patience)?;
            Box::new(Rest { kind, client, repository, user })
        }
        Kind::GitLab => {
            Box::new(GitLab { client: Client::gitlab(&address, token, patience)?, repository, user })
        }
    })
}
