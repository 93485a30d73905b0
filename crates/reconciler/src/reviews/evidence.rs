//! What decides whether a pull request is reviewed again.

use std::collections::BTreeSet;

use slipway_forges::approvals::COMMAND;
use slipway_forges::{Comment, PullRequest, Review, Revision, Treatment};
use slipway_state_store::Digest;

/// For how many persons whom the policy does not name a pull request is reviewed again, so that its comment says why their
/// approvals do not count. Everybody may comment; a review takes a plan.
const STRANGERS: usize = 10;

/// The attempts to approve a plan on a pull request.
pub(super) struct Attempts<'a> {
    /// The login of our own user.
    pub own: &'a str,
    /// The comments on the pull request.
    pub comments: &'a [Comment],
    /// Its reviews.
    pub reviews: &'a [Review],
    /// Whether the policy of some cluster may name a login.
    pub names: &'a dyn Fn(&str) -> bool,
}

impl Attempts<'_> {
    /// Comments that approve, or try to.
    fn commands(&self) -> impl Iterator<Item = &Comment> {
        let by_others = self.comments.iter().filter(move |comment| comment.author != self.own);
        by_others.filter(|comment| comment.body.starts_with(COMMAND))
    }

    /// The persons who tried to approve, and whom the policy does not name.
    fn strangers(&self) -> BTreeSet<&str> {
        let authors = self.commands().map(|comment| comment.author.as_str());
        let reviewers = self.reviews.iter().map(|review| review.author.as_str());
        authors.chain(reviewers).filter(|login| !(self.names)(login)).collect()
    }
}

/// The persons without a name in the policy whom a review has answered. More attempts of the same person change nothing, also
/// after earlier ones were deleted.
#[derive(Debug, Default)]
pub(super) struct Answered(BTreeSet<String>);

impl Answered {
    /// Whether a caller waits for an answer.
    pub fn lacks(&self, attempts: &Attempts<'_>) -> bool {
        self.0.len() < STRANGERS && attempts.strangers().iter().any(|login| !self.0.contains(*login))
    }

    /// Takes note of a review that has answered all of them.
    pub fn take(&mut self, attempts: &Attempts<'_>) {
        let new: Vec<String> = attempts.strangers().into_iter().map(str::to_owned).collect();
        for login in new {
            if self.0.len() < STRANGERS {
                self.0.insert(login);
            }
        }
    }
}

/// What a review was made from, beside the state of the clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Basis {
    base: Revision,
    head: Revision,
    treatment: Treatment,
    /// The digest of everything that may approve a plan, by persons whom the policy names.
    approvals: Digest,
}

impl Basis {
    pub fn of(pull_request: &PullRequest, treatment: &Treatment, attempts: &Attempts<'_>) -> Self {
        let mut text = String::new();
        for comment in attempts.commands().filter(|comment| (attempts.names)(&comment.author)) {
            let Comment { id, author, updated, body, .. } = comment;
            text.push_str(&format!("{} {author} {updated} {}\n", id.0, Digest::of(body.as_bytes())));
        }
        for review in attempts.reviews.iter().filter(|review| (attempts.names)(&review.author)) {
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
            merged: false,
            author: "eve".to_owned(),
            head: revision("a"),
            base: revision("b"),
            base_branch: "main".to_owned(),
            from_fork: false,
            labels: Vec::new(),
        };
        let of = |comments: &[Comment], reviews: &[Review]| {
            Basis::of(&pull_request, &Treatment::Trusted, &attempts(comments, reviews))
        };
        let first = of(&[], &[]);
        assert_eq!(first, of(&[comment("grace", "nice"), comment("bot", "/slipway approve x")], &[]));
        assert_ne!(first, of(&[comment("grace", "/slipway approve x")], &[]));
        assert_ne!(first, of(&[], &[review("grace")]));
        assert_eq!(first, of(&[comment("eve", "/slipway approve x")], &[review("eve")]), "she is not named");
        let moved = PullRequest { base: revision("c"), ..pull_request.clone() };
        assert_ne!(first, Basis::of(&moved, &Treatment::Trusted, &attempts(&[], &[])));
        assert_ne!(first, Basis::of(&pull_request, &Treatment::Untrusted, &attempts(&[], &[])));
    }

    #[test]
    fn everybody_gets_one_answer() {
        let mut answered = Answered::default();
        assert!(!answered.lacks(&attempts(&[], &[])));
        assert!(!answered.lacks(&attempts(&[comment("grace", "/slipway approve x")], &[review("grace")])));
        let first = [comment("eve", "/slipway approve x")];
        assert!(answered.lacks(&attempts(&first, &[])));
        assert!(answered.lacks(&attempts(&[], &[review("eve")])));
        answered.take(&attempts(&first, &[]));
        let more = [comment("eve", "/slipway approve y"), comment("eve", "/slipway approve z")];
        assert!(!answered.lacks(&attempts(&more, &[review("eve")])));
        // Without her comments she was answered all the same.
        answered.take(&attempts(&[], &[]));
        assert!(!answered.lacks(&attempts(&first, &[])));

        // Names are cheap.
        let crowd: Vec<Comment> =
            (0..30).map(|number| comment(&format!("eve-{number}"), "/slipway approve x")).collect();
        let mut reviews = 0;
        for count in 1..=crowd.len() {
            let attempts = attempts(&crowd[..count], &[]);
            if answered.lacks(&attempts) {
                reviews += 1;
                answered.take(&attempts);
            }
        }
        assert_eq!(reviews, STRANGERS - 1);
    }

    fn attempts<'a>(comments: &'a [Comment], reviews: &'a [Review]) -> Attempts<'a> {
        Attempts { own: "bot", comments, reviews, names: &is_grace }
    }

    fn is_grace(login: &str) -> bool {
        login == "grace"
    }

    fn comment(author: &str, body: &str) -> Comment {
        Comment {
            id: CommentId(1),
            author: author.to_owned(),
            body: body.to_owned(),
            created: Timestamp::UNIX_EPOCH,
            updated: Timestamp::UNIX_EPOCH,
        }
    }

    fn review(author: &str) -> Review {
        Review { author: author.to_owned(), verdict: Verdict::Approved, revision: None, at: None }
    }
}
