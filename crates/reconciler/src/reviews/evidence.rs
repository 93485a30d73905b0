//! What decides whether a pull request is reviewed again.

use slipway_forges::approvals::COMMAND;
use slipway_forges::{Comment, PullRequest, Review, Revision, Treatment};
use slipway_state_store::Digest;

/// What a review was made from, beside the state of the clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Basis {
    base: Revision,
    head: Revision,
    treatment: Treatment,
    /// The digest of everything that may approve a plan.
    approvals: Digest,
}

impl Basis {
    pub fn of(
        pull_request: &PullRequest,
        treatment: &Treatment,
        (own, comments, reviews): (&str, &[Comment], &[Review]),
    ) -> Self {
        let mut text = String::new();
        let commands = comments.iter().filter(|comment| comment.author != own);
        for comment in commands.filter(|comment| comment.body.starts_with(COMMAND)) {
            let Comment { id, author, updated, body, .. } = comment;
            text.push_str(&format!("{} {author} {updated} {}\n", id.0, Digest::of(body.as_bytes())));
        }
        for review in reviews {
            text.push_str(&format!("{review:?}\n"));
        }
        Self {
            base: pull_request.base.clone(),
            head: pull_request.head.clone(),
            treatment: treatment.clone(),
            approvals: Digest::of(text.as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use slipway_forges::{CommentId, Verdict};

    use super::*;

    #[test]
    fn only_what_can_change_a_review_counts() {
        let revision = |digit: &str| Revision::parse(&digit.repeat(40)).unwrap();
        let pull_request = PullRequest {
            number: 1,
            open: true,
            author: "eve".to_owned(),
            head: revision("a"),
            base: revision("b"),
            base_branch: "main".to_owned(),
            from_fork: false,
            labels: Vec::new(),
        };
        let comment = |author: &str, body: &str| Comment {
            id: CommentId(1),
            author: author.to_owned(),
            body: body.to_owned(),
            created: Timestamp::UNIX_EPOCH,
            updated: Timestamp::UNIX_EPOCH,
        };
        let of = |comments: &[Comment], reviews: &[Review]| {
            Basis::of(&pull_request, &Treatment::Trusted, ("bot", comments, reviews))
        };
        let first = of(&[], &[]);
        assert_eq!(first, of(&[comment("eve", "nice"), comment("bot", "/slipway approve x")], &[]));
        assert_ne!(first, of(&[comment("eve", "/slipway approve x")], &[]));
        let review =
            Review { author: "grace".to_owned(), verdict: Verdict::Approved, revision: None, at: None };
        assert_ne!(first, of(&[], &[review]));
        let moved = PullRequest { base: revision("c"), ..pull_request.clone() };
        assert_ne!(first, Basis::of(&moved, &Treatment::Trusted, ("bot", &[], &[])));
        assert_ne!(first, Basis::of(&pull_request, &Treatment::Untrusted, ("bot", &[], &[])));
    }
}
