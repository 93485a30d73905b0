//! What a webhook says.

use crate::model::Revision;

/// A delivery that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its id, as the sender gave it; a digest of the body where it gave none.
    pub id: String,
    /// What it says.
    pub event: Event,
}

/// What happened at a forge. The repository is named as `owner/name`, by its sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Something changed, as a sender says that is no forge. Nothing of its body is read.
    Changed,
    /// A branch or a tag moved.
    SourceChanged {
        /// The repository.
        repository: String,
        /// The full name, as `refs/heads/main`.
        reference: String,
        /// Its commit; `None` when it was deleted, or the sender does not say.
        revision: Option<Revision>,
    },
    /// A pull request was opened, closed, merged, labelled, or got other commits.
    PullRequest {
        /// The repository.
        repository: String,
        /// Its number.
        number: u64,
    },
    /// A pull request was reviewed, or a review was dismissed.
    Review {
        /// The repository.
        repository: String,
        /// The number of the pull request.
        number: u64,
    },
    /// A comment on a pull request was written, edited or deleted.
    Comment {
        /// The repository.
        repository: String,
        /// The number of the pull request.
        number: u64,
    },
}
