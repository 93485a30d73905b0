//! What the JSON of GitHub and Gitea have in common, and helpers for all three.

use jiff::Timestamp;
use serde::Deserialize;

use crate::error::Error;
use crate::model::{Comment, CommentId, PullRequest, Review, Revision, StatusState, Verdict};

/// A user.
#[derive(Debug, Deserialize)]
pub(crate) struct User {
    login: String,
}

/// The login of a user in lower case, as people are compared; empty for a user who was deleted.
pub(crate) fn login(user: Option<&User>) -> String {
    user.map(|user| user.login.to_lowercase()).unwrap_or_default()
}

/// A label.
#[derive(Debug, Deserialize)]
pub(crate) struct Label {
    name: String,
}

/// A repository by its id: names can change.
#[derive(Debug, Deserialize)]
struct RepositoryId {
    id: u64,
}

/// One side of a pull request.
#[derive(Debug, Deserialize)]
struct Side {
    sha: String,
    #[serde(rename = "ref")]
    branch: String,
    #[serde(default)]
    repo: Option<RepositoryId>,
}

/// A pull request, without the tip of its base branch.
#[derive(Debug, Deserialize)]
pub(crate) struct Pull {
    number: u64,
    state: String,
    user: Option<User>,
    head: Side,
    base: Side,
    #[serde(default)]
    labels: Option<Vec<Label>>,
    /// Lists of GitHub do not have it.
    #[serde(default)]
    merged: Option<bool>,
    #[serde(default)]
    merged_at: Option<Timestamp>,
}

impl Pull {
    /// The branch that it would be merged into.
    pub(crate) fn base_branch(&self) -> &str {
        &self.base.branch
    }

    /// The pull request, with the current tip of its base branch.
    pub(crate) fn with_base(self, path: &str, base: Revision) -> Result<PullRequest, Error> {
        let home = self.base.repo.as_ref().map(|repository| repository.id);
        // A fork that was deleted is still not this repository.
        let from_fork = self.head.repo.as_ref().map(|repository| repository.id) != home || home.is_none();
        Ok(PullRequest {
            number: self.number,
            open: self.state == "open",
            merged: self.merged.unwrap_or(self.merged_at.is_some()),
            author: login(self.user.as_ref()),
            head: revision(path, &self.head.sha)?,
            base,
            base_branch: self.base.branch,
            from_fork,
            labels: self.labels.unwrap_or_default().into_iter().map(|label| label.name).collect(),
        })
    }
}

/// A comment.
#[derive(Debug, Deserialize)]
pub(crate) struct Note {
    id: u64,
    user: Option<User>,
    body: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<Note> for Comment {
    fn from(note: Note) -> Self {
        Self {
            id: CommentId(note.id),
            author: login(note.user.as_ref()),
            body: note.body.unwrap_or_default(),
            created: note.created_at,
            updated: note.updated_at,
        }
    }
}

/// A review.
#[derive(Debug, Deserialize)]
pub(crate) struct PullReview {
    user: Option<User>,
    state: String,
    commit_id: Option<String>,
    submitted_at: Option<Timestamp>,
    /// Gitea keeps the state of a review that was dismissed; GitHub has a state for it.
    #[serde(default)]
    dismissed: bool,
}

impl PullReview {
    /// The review; `None` for one that neither approves nor requests changes. A dismissed request for changes has no effect.
    pub(crate) fn decisive(self) -> Option<Review> {
        let verdict = match (self.state.as_str(), self.dismissed) {
            ("APPROVED", false) => Verdict::Approved,
            ("APPROVED", true) | ("DISMISSED", _) => Verdict::Dismissed,
            ("CHANGES_REQUESTED" | "REQUEST_CHANGES", false) => Verdict::ChangesRequested,
            _ => return None,
        };
        Some(Review {
            author: login(self.user.as_ref()),
            verdict,
            revision: self.commit_id.as_deref().and_then(Revision::parse),
            at: self.submitted_at,
        })
    }
}

/// The state of a status by its name at GitHub and Gitea.
pub(crate) fn state(name: &str) -> Option<StatusState> {
    match name {
        "pending" => Some(StatusState::Pending),
        "success" => Some(StatusState::Success),
        "failure" => Some(StatusState::Failure),
        _ => None,
    }
}

/// The name of a state at GitHub and Gitea.
pub(crate) fn state_name(state: StatusState) -> &'static str {
    match state {
        StatusState::Pending => "pending",
        StatusState::Success => "success",
        StatusState::Failure => "failure",
    }
}

/// The object id in an answer.
pub(crate) fn revision(path: &str, text: &str) -> Result<Revision, Error> {
    Revision::parse(text).ok_or_else(|| Error::Unreadable {
        path: path.to_owned(),
        text: format!("{:?} is no object id", text.chars().take(80).collect::<String>()),
    })
}

/// What the forge answers; `None` for what it does not have.
pub(crate) fn present<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(Error::Refused { status: 404, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The name of a branch in a path: everything but letters, digits, `-`, `.`, `_` and `/` is escaped.
pub(crate) fn branch_path(branch: &str) -> String {
    let mut path = String::with_capacity(branch.len());
    for byte in branch.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'/') {
            path.push(char::from(byte));
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_stay_in_their_path() {
        assert_eq!(branch_path("release/1.2"), "release/1.2");
        assert_eq!(branch_path("a?b#c%2e ü"), "a%3Fb%23c%252e%20%C3%BC");
    }
}
