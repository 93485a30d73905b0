//! GitLab: its REST API, version 4, by its published description.

use std::collections::BTreeMap;

use async_trait::async_trait;
use http::Method;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::client::Client;
use crate::error::Error;
use crate::forge::{Forge, Kind};
use crate::model::{Comment, CommentId, Posted, PullRequest, Review, Revision, Status, StatusState, Verdict};
use crate::repository::Repository;
use crate::wire::{branch_path, present, revision};

/// The largest comment: GitLab takes 1,000,000 characters, which are too many to read.
const COMMENT: usize = 250_000;

/// A project on GitLab.
pub(crate) struct GitLab {
    pub(crate) client: Client,
    pub(crate) repository: Repository,
    pub(crate) user: Option<String>,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

impl User {
    fn login(user: Option<&Self>) -> String {
        user.map(|user| user.username.to_lowercase()).unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct MergeRequest {
    iid: u64,
    state: String,
    author: Option<User>,
    /// `None` without commits.
    sha: Option<String>,
    target_branch: String,
    source_project_id: Option<u64>,
    target_project_id: u64,
    #[serde(default)]
    labels: Vec<String>,
}

impl MergeRequest {
    fn with_base(self, path: &str, base: Revision) -> Result<PullRequest, Error> {
        Ok(PullRequest {
            number: self.iid,
            // While it is being merged, it is locked.
            open: matches!(self.state.as_str(), "opened" | "locked"),
            merged: self.state == "merged",
            author: User::login(self.author.as_ref()),
            head: revision(path, self.sha.as_deref().unwrap_or_default())?,
            base,
            base_branch: self.target_branch,
            from_fork: self.source_project_id != Some(self.target_project_id),
            labels: self.labels,
        })
    }
}

#[derive(Deserialize)]
struct Branch {
    commit: Commit,
}

#[derive(Deserialize)]
struct Commit {
    id: String,
}

#[derive(Deserialize)]
struct Note {
    id: u64,
    author: Option<User>,
    body: String,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// Written by GitLab itself, as for a new label.
    #[serde(default)]
    system: bool,
}

#[derive(Deserialize)]
struct CommitStatus {
    id: u64,
    status: String,
    name: String,
    description: Option<String>,
    author: Option<User>,
    created_at: Timestamp,
}

#[derive(Deserialize)]
struct Approvals {
    #[serde(default)]
    approved_by: Vec<ApprovedBy>,
}

#[derive(Deserialize)]
struct ApprovedBy {
    user: User,
}

impl GitLab {
    fn path(&self, rest: &str) -> String {
        format!("/projects/{}/{rest}", self.repository.as_segment())
    }

    async fn tip(&self, branch: &str) -> Result<Revision, Error> {
        let path = self.path(&format!("repository/branches/{}", branch_path(branch).replace('/', "%2F")));
        let found: Branch = self.client.get(&path).await?;
        revision(&path, &found.commit.id)
    }
}

#[async_trait]
impl Forge for GitLab {
    fn kind(&self) -> Kind {
        Kind::GitLab
    }

    fn comment_limit(&self) -> usize {
        COMMENT
    }

    async fn own_user(&self) -> Result<String, Error> {
        if let Some(user) = &self.user {
            return Ok(user.clone());
        }
        let found: Result<User, Error> = self.client.get("/user").await;
        match found {
            Ok(user) => Ok(User::login(Some(&user))),
            Err(source) => Err(Error::UnknownUser { source: Box::new(source) }),
        }
    }

    async fn pull_request(&self, number: u64) -> Result<PullRequest, Error> {
        let path = self.path(&format!("merge_requests/{number}"));
        let found: MergeRequest = self.client.get(&path).await?;
        let base = self.tip(&found.target_branch).await?;
        found.with_base(&path, base)
    }

    async fn open_pull_requests(&self) -> Result<Vec<PullRequest>, Error> {
        let path = self.path("merge_requests?state=opened&per_page=100");
        let mut tips: BTreeMap<String, Option<Revision>> = BTreeMap::new();
        let mut found = Vec::new();
        let requests = self.client.list::<MergeRequest>(&path).await?;
        for request in requests.into_iter().filter(|request| request.sha.is_some()) {
            let base = match tips.get(&request.target_branch) {
                Some(base) => base.clone(),
                None => present(self.tip(&request.target_branch).await)?,
            };
            tips.insert(request.target_branch.clone(), base.clone());
            // A merge request may outlive its base branch.
            if let Some(base) = base {
                found.push(request.with_base(&path, base)?);
            }
        }
        Ok(found)
    }

    async fn statuses(&self, of: &Revision) -> Result<Vec<Posted>, Error> {
        let path = self.path(&format!("repository/commits/{of}/statuses?all=true&per_page=100"));
        let mut found: Vec<CommitStatus> = self.client.list(&path).await?;
        found.sort_by_key(|status| (status.created_at, status.id));
        let posted = |status: CommitStatus| Posted {
            context: status.name,
            state: match status.status.as_str() {
                "pending" => Some(StatusState::Pending),
                "success" => Some(StatusState::Success),
                "failed" => Some(StatusState::Failure),
                _ => None,
            },
            description: status.description.unwrap_or_default(),
            by: User::login(status.author.as_ref()),
            at: status.created_at,
        };
        Ok(found.into_iter().map(posted).collect())
    }

    async fn set_status(&self, of: &Revision, status: &Status) -> Result<(), Error> {
        let name = match status.state {
            StatusState::Pending => "pending",
            StatusState::Success => "success",
            StatusState::Failure => "failed",
        };
        let mut body = json!({ "state": name, "name": status.context, "description": status.description });
        if let Some(page) = &status.page {
            body["target_url"] = json!(page);
        }
        let path = self.path(&format!("statuses/{of}"));
        match self.client.write::<Json>(Method::POST, &path, &body).await {
            // GitLab refuses to set a status that is pending to pending: it is already as it should be. The answer has no code beside
            // the message.
            Err(Error::Refused { status: 400, message, .. })
                if status.state == StatusState::Pending && message.contains("Cannot transition status") =>
            {
                Ok(())
            }
            other => other.map(drop),
        }
    }

    async fn comments(&self, number: u64) -> Result<Vec<Comment>, Error> {
        let path =
            self.path(&format!("merge_requests/{number}/notes?sort=asc&order_by=created_at&per_page=100"));
        let found: Vec<Note> = self.client.list(&path).await?;
        let by_people = found.into_iter().filter(|note| !note.system);
        let comment = |note: Note| Comment {
            id: CommentId(note.id),
            author: User::login(note.author.as_ref()),
            body: note.body,
            created: note.created_at,
            updated: note.updated_at,
        };
        Ok(by_people.map(comment).collect())
    }

    async fn create_comment(&self, number: u64, body: &str) -> Result<CommentId, Error> {
        let path = self.path(&format!("merge_requests/{number}/notes"));
        let note: Note = self.client.write(Method::POST, &path, &json!({ "body": body })).await?;
        Ok(CommentId(note.id))
    }

    async fn update_comment(&self, number: u64, comment: CommentId, body: &str) -> Result<(), Error> {
        let path = self.path(&format!("merge_requests/{number}/notes/{}", comment.0));
        self.client.write::<Json>(Method::PUT, &path, &json!({ "body": body })).await.map(drop)
    }

    /// GitLab names neither the commit nor the plan that the person saw: its approvals do not count as approvals of a plan,
    /// and are returned so that the reason can be shown.
    async fn reviews(&self, number: u64) -> Result<Vec<Review>, Error> {
        let path = self.path(&format!("merge_requests/{number}/approvals"));
        let found: Approvals = self.client.get(&path).await?;
        let review = |by: ApprovedBy| Review {
            author: User::login(Some(&by.user)),
            verdict: Verdict::Approved,
            revision: None,
            at: None,
        };
        Ok(found.approved_by.into_iter().map(review).collect())
    }
}
