//! GitHub, Gitea and Forgejo, whose REST APIs have the same shape.
//!
//! Sources: the published description of GitHub's REST API of version 2022-11-28; `templates/swagger/v1_json.tmpl` of
//! Gitea.

use std::collections::BTreeMap;

use async_trait::async_trait;
use http::Method;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::client::Client;
use crate::error::Error;
use crate::forge::{Forge, Kind};
use crate::model::{Comment, CommentId, Posted, PullRequest, Review, Revision, Status};
use crate::repository::Repository;
use crate::wire::{Note, Pull, PullReview, User, branch_path, login, present, revision, state, state_name};

/// A repository on GitHub, Gitea or Forgejo.
pub(crate) struct Rest {
    pub(crate) kind: Kind,
    pub(crate) client: Client,
    pub(crate) repository: Repository,
    pub(crate) user: Option<String>,
}

#[derive(Deserialize)]
struct Branch {
    commit: Commit,
}

#[derive(Deserialize)]
struct Commit {
    /// Gitea calls it `id`.
    #[serde(alias = "id")]
    sha: String,
}

#[derive(Deserialize)]
struct CommitStatus {
    id: u64,
    /// Gitea calls it `status`.
    #[serde(alias = "status")]
    state: String,
    context: String,
    description: Option<String>,
    creator: Option<User>,
    created_at: Timestamp,
}

impl Rest {
    fn path(&self, rest: &str) -> String {
        format!("/repos/{}/{rest}", self.repository)
    }

    /// The path of a list, with the largest page that the forge gives.
    fn list_path(&self, rest: &str) -> String {
        let size = if self.kind == Kind::GitHub { "per_page=100" } else { "limit=50" };
        let sign = if rest.contains('?') { '&' } else { '?' };
        self.path(&format!("{rest}{sign}{size}"))
    }

    /// The last commit of a branch. A pull request has the one of its base branch as it was at the last push to its head.
    async fn tip(&self, branch: &str) -> Result<Revision, Error> {
        let path = self.path(&format!("branches/{}", branch_path(branch)));
        let found: Branch = self.client.get(&path).await?;
        revision(&path, &found.commit.sha)
    }
}

#[async_trait]
impl Forge for Rest {
    fn kind(&self) -> Kind {
        self.kind
    }

    /// GitHub takes 65,536 characters. Gitea documents no limit.
    fn comment_limit(&self) -> usize {
        slipway_plan::render::COMMENT_LIMIT
    }

    async fn own_user(&self) -> Result<String, Error> {
        if let Some(user) = &self.user {
            return Ok(user.clone());
        }
        let found: Result<User, Error> = self.client.get("/user").await;
        match found {
            Ok(user) => Ok(login(Some(&user))),
            Err(source) => Err(Error::UnknownUser { source: Box::new(source) }),
        }
    }

    async fn pull_request(&self, number: u64) -> Result<PullRequest, Error> {
        let path = self.path(&format!("pulls/{number}"));
        let pull: Pull = self.client.get(&path).await?;
        let base = self.tip(pull.base_branch()).await?;
        pull.with_base(&path, base)
    }

    async fn open_pull_requests(&self) -> Result<Vec<PullRequest>, Error> {
        let path = self.list_path("pulls?state=open");
        let mut tips: BTreeMap<String, Option<Revision>> = BTreeMap::new();
        let mut found = Vec::new();
        for pull in self.client.list::<Pull>(&path).await? {
            let branch = pull.base_branch().to_owned();
            let base = match tips.get(&branch) {
                Some(base) => base.clone(),
                None => present(self.tip(&branch).await)?,
            };
            tips.insert(branch, base.clone());
            // A pull request may outlive its base branch.
            if let Some(base) = base {
                found.push(pull.with_base(&path, base)?);
            }
        }
        Ok(found)
    }

    async fn statuses(&self, of: &Revision) -> Result<Vec<Posted>, Error> {
        let path = match self.kind {
            Kind::GitHub => self.list_path(&format!("commits/{of}/statuses")),
            _ => self.list_path(&format!("statuses/{of}")),
        };
        let mut found: Vec<CommitStatus> = self.client.list(&path).await?;
        found.sort_by_key(|status| (status.created_at, status.id));
        let posted = |status: CommitStatus| Posted {
            context: status.context,
            state: state(&status.state),
            description: status.description.unwrap_or_default(),
            by: login(status.creator.as_ref()),
            at: status.created_at,
        };
        Ok(found.into_iter().map(posted).collect())
    }

    async fn set_status(&self, of: &Revision, status: &Status) -> Result<(), Error> {
        let mut body = json!({
            "state": state_name(status.state),
            "context": status.context,
            "description": status.description,
        });
        if let Some(page) = &status.page {
            body["target_url"] = json!(page);
        }
        let path = self.path(&format!("statuses/{of}"));
        self.client.write::<Json>(Method::POST, &path, &body).await.map(drop)
    }

    async fn comments(&self, number: u64) -> Result<Vec<Comment>, Error> {
        let found: Vec<Note> =
            self.client.list(&self.list_path(&format!("issues/{number}/comments"))).await?;
        Ok(found.into_iter().map(Comment::from).collect())
    }

    async fn create_comment(&self, number: u64, body: &str) -> Result<CommentId, Error> {
        let path = self.path(&format!("issues/{number}/comments"));
        let note: Note = self.client.write(Method::POST, &path, &json!({ "body": body })).await?;
        Ok(Comment::from(note).id)
    }

    async fn update_comment(&self, _number: u64, comment: CommentId, body: &str) -> Result<(), Error> {
        let path = self.path(&format!("issues/comments/{}", comment.0));
        self.client.write::<Json>(Method::PATCH, &path, &json!({ "body": body })).await.map(drop)
    }

    async fn reviews(&self, number: u64) -> Result<Vec<Review>, Error> {
        let found: Vec<PullReview> =
            self.client.list(&self.list_path(&format!("pulls/{number}/reviews"))).await?;
        Ok(found.into_iter().filter_map(PullReview::decisive).collect())
    }
}
