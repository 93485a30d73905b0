//! What forges have in common.

use std::fmt;

use jiff::Timestamp;

/// A commit, by its object id: 40 hexadecimal digits, or 64 in a repository with SHA-256.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Revision(String);

impl Revision {
    /// Parses an object id; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        fits.then(|| Self(text.to_ascii_lowercase()))
    }

    /// All digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first twelve digits, for people.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A pull request; GitLab calls it a merge request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    /// Its number in the repository.
    pub number: u64,
    /// Whether it can still be merged or closed.
    pub open: bool,
    /// Whether it was merged; one that is not open and was not merged was closed.
    pub merged: bool,
    /// The login of its author, in lower case.
    pub author: String,
    /// The last commit that it proposes.
    pub head: Revision,
    /// The last commit of the branch that it would be merged into, when it was asked for.
    pub base: Revision,
    /// That branch.
    pub base_branch: String,
    /// Whether its head is in another repository, also when that does not exist any more.
    pub from_fork: bool,
    /// Its labels.
    pub labels: Vec<String>,
}

/// The state of a commit that a status shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusState {
    /// Something is still to happen, such as an approval.
    Pending,
    /// All is well.
    Success,
    /// The commit must not be merged.
    Failure,
}

/// A status of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its name; a later status of the same name replaces it.
    pub context: String,
    /// The state.
    pub state: StatusState,
    /// One sentence of at most 140 characters.
    pub description: String,
    /// A page about it, such as the job that set it.
    pub page: Option<String>,
}

/// A status that was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    /// Its name.
    pub context: String,
    /// The state; `None` for one that Slipway does not set.
    pub state: Option<StatusState>,
    /// Its sentence.
    pub description: String,
    /// The login of the user who set it, in lower case.
    pub by: String,
    /// When, by the clock of the forge.
    pub at: Timestamp,
}

/// The id of a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommentId(pub u64);

/// A comment on a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Its id.
    pub id: CommentId,
    /// The login of its author, in lower case.
    pub author: String,
    /// Its text.
    pub body: String,
    /// When it was written.
    pub created: Timestamp,
    /// When it was edited last; the same as `created` for one that never was.
    pub updated: Timestamp,
}

impl Comment {
    /// Whether it was edited after it was written.
    #[must_use]
    pub fn is_edited(&self) -> bool {
        self.updated > self.created
    }
}

/// What a review says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The change may be merged.
    Approved,
    /// The change must not be merged as it is.
    ChangesRequested,
    /// An approval that was dismissed since, by its author or by another person. GitHub does not say what a dismissed review was.
    Dismissed,
}

/// A review that says, or said, whether the change may be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    /// The login of the reviewer, in lower case.
    pub author: String,
    /// What it says.
    pub verdict: Verdict,
    /// The commit that was reviewed; `None` where the forge does not say.
    pub revision: Option<Revision>,
    /// When; `None` where the forge does not say.
    pub at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_object_ids_are_revisions() {
        assert_eq!(Revision::parse(&"A".repeat(40)).unwrap().short(), "aaaaaaaaaaaa");
        assert!(Revision::parse(&"0".repeat(64)).is_some());
        for text in ["", "main", "abc123", &"g".repeat(40), "--upload-pack=x"] {
            assert!(Revision::parse(text).is_none(), "{text}");
        }
    }
}
