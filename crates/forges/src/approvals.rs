//! Which reviews and comments approve a plan.
//!
//! An approval is bound to the digest of a plan:
//!
//! - A comment names it: its first line is `/slipway approve sha256:…`.
//! - A review is bound to it by the commit that was reviewed, and by the statuses of that commit. The status that the
//!   commit had when the review was submitted must be ours, and must name this plan. Nobody can change an old status.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use slipway_resource::Digest;

use crate::marker::MarkedPart;
use crate::model::{Comment, Posted, PullRequest, Review, Verdict};
use crate::policy::ApprovalPolicy;
use crate::report;

/// How the first line of a comment begins that approves a plan.
pub const COMMAND: &str = "/slipway approve";

/// What is known about a pull request when its approvals are counted.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The pull request.
    pub pull_request: &'a PullRequest,
    /// The login of our own user, in lower case.
    pub own: &'a str,
    /// The statuses of its head, the earliest first.
    pub statuses: &'a [Posted],
    /// Its reviews, the earliest first.
    pub reviews: &'a [Review],
    /// Its comments, the earliest first.
    pub comments: &'a [Comment],
}

/// An approval that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The login of the person, in lower case.
    pub person: String,
    /// When.
    pub at: Timestamp,
}

/// An attempt that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The login of the person, in lower case.
    pub person: String,
    /// Why.
    pub reason: Reason,
}

/// Why an attempt to approve does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The policy does not name the person.
    NotNamed,
    /// The person is the author of the pull request.
    Author,
    /// The comment names another plan.
    OtherPlan,
    /// The comment names no digest.
    NoDigest,
    /// The comment was edited.
    Edited,
    /// The review is about another commit.
    OtherRevision,
    /// The commit showed another plan, or none, when it was reviewed.
    NotShown,
    /// The forge does not say what was reviewed.
    Unbound,
    /// The person requested changes afterwards.
    ChangesRequested,
    /// The review was dismissed.
    Dismissed,
}

impl Reason {
    /// The reason in a sentence.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::NotNamed => "the policy does not name this person",
            Self::Author => "this person is the author of the pull request",
            Self::OtherPlan => "the comment approves another plan, such as an older one",
            Self::NoDigest => "the comment does not name the whole digest of a plan",
            Self::Edited => "the comment was edited; write a new one",
            Self::OtherRevision => "the review is about another commit",
            Self::NotShown => "another plan was shown when the review was submitted",
            Self::Unbound => "the forge does not say which plan was approved; write a comment",
            Self::ChangesRequested => "this person requested changes afterwards",
            Self::Dismissed => "the review was dismissed",
        }
    }
}

/// The approvals of one plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// How many are needed.
    pub needed: u16,
    /// Those that count, each by another person, the earliest first.
    pub given: Vec<Given>,
    /// Those that do not: the latest attempt of each person without an approval that counts.
    pub refused: Vec<Refused>,
    /// The logins of persons who approved this plan, and whose approvals were taken back since.
    pub withdrawn: Vec<String>,
}

impl Outcome {
    /// Whether there are enough.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        self.given.len() >= usize::from(self.needed)
    }
}

/// One attempt to approve.
struct Attempt<'a> {
    person: &'a str,
    at: Option<Timestamp>,
    /// Why it is none, whoever made it.
    flaw: Option<Reason>,
    /// Whether it was taken back by itself.
    is_dismissed: bool,
}

/// Counts the approvals of a plan of a cluster.
#[must_use]
pub fn count(policy: &ApprovalPolicy, digest: &Digest, cluster: &str, evidence: &Evidence<'_>) -> Outcome {
    let mut given: BTreeMap<&str, Timestamp> = BTreeMap::new();
    let mut refused: BTreeMap<&str, Reason> = BTreeMap::new();
    let mut withdrawn: BTreeSet<&str> = BTreeSet::new();
    for attempt in attempts(digest, cluster, evidence) {
        if attempt.person == evidence.own || attempt.person.is_empty() {
            continue;
        }
        let reason = if !policy.names(attempt.person) {
            Some(Reason::NotNamed)
        } else if attempt.person == evidence.pull_request.author && !policy.author {
            Some(Reason::Author)
        } else {
            attempt.flaw.or_else(|| revoked(&attempt, evidence.reviews))
        };
        if matches!(reason, Some(Reason::ChangesRequested | Reason::Dismissed)) {
            withdrawn.insert(attempt.person);
        }
        match (reason, attempt.at) {
            (None, Some(at)) => {
                let first = given.entry(attempt.person).or_insert(at);
                *first = at.min(*first);
            }
            (reason, _) => drop(refused.insert(attempt.person, reason.unwrap_or(Reason::Unbound))),
        }
    }
    refused.retain(|person, _| !given.contains_key(person));
    withdrawn.retain(|person| !given.contains_key(person));
    let withdrawn = withdrawn.into_iter().map(str::to_owned).collect();
    let mut given: Vec<Given> =
        given.into_iter().map(|(person, at)| Given { person: person.to_owned(), at }).collect();
    given.sort_by(|left, right| left.at.cmp(&right.at).then_with(|| left.person.cmp(&right.person)));
    let refused =
        refused.into_iter().map(|(person, reason)| Refused { person: person.to_owned(), reason }).collect();
    Outcome { needed: policy.needed, given, refused, withdrawn }
}

/// Every attempt, in the order of the forge.
fn attempts<'a>(digest: &Digest, cluster: &str, evidence: &Evidence<'a>) -> Vec<Attempt<'a>> {
    let context = report::context(&MarkedPart::Cluster(cluster.to_owned()));
    let ours: Vec<&Posted> = evidence
        .statuses
        .iter()
        .filter(|status| status.by == evidence.own && status.context == context)
        .collect();
    let shown = |at: Timestamp| ours.iter().rev().find(|status| status.at <= at);
    let of_review = |review: &'a Review| {
        let flaw = match (&review.revision, review.at) {
            (Some(revision), _) if *revision != evidence.pull_request.head => Some(Reason::OtherRevision),
            (Some(_), Some(at)) => {
                let named = shown(at).is_some_and(|status| report::names(&status.description, digest));
                (!named).then_some(Reason::NotShown)
            }
            _ => Some(Reason::Unbound),
        };
        let is_dismissed = review.verdict == Verdict::Dismissed;
        Attempt { person: &review.author, at: review.at, flaw, is_dismissed }
    };
    let of_comment = |comment: &'a Comment| {
        let rest = command(&comment.body)?;
        let flaw = match named_digest(rest) {
            _ if comment.is_edited() => Some(Reason::Edited),
            None => Some(Reason::NoDigest),
            Some(named) => (named != *digest).then_some(Reason::OtherPlan),
        };
        Some(Attempt { person: &comment.author, at: Some(comment.created), flaw, is_dismissed: false })
    };
    let approving = evidence.reviews.iter().filter(|review| review.verdict != Verdict::ChangesRequested);
    approving.map(of_review).chain(evidence.comments.iter().filter_map(of_comment)).collect()
}

/// Whether an attempt was dismissed, or the same person requested changes after it.
fn revoked(attempt: &Attempt<'_>, reviews: &[Review]) -> Option<Reason> {
    if attempt.is_dismissed {
        return Some(Reason::Dismissed);
    }
    let later = reviews.iter().any(|review| {
        review.verdict == Verdict::ChangesRequested
            && review.author == attempt.person
            && review.at >= attempt.at
    });
    later.then_some(Reason::ChangesRequested)
}

/// What follows the command in the first line of a comment; `None` for a comment without it.
fn command(body: &str) -> Option<&str> {
    let rest = body.lines().next()?.strip_prefix(COMMAND)?;
    (rest.is_empty() || rest.starts_with(' ')).then(|| rest.trim())
}

/// The digest that a command names, with or without its prefix. A part of a digest is none: another plan can be made that
/// begins in the same way.
fn named_digest(text: &str) -> Option<Digest> {
    let text = text.trim_matches('`');
    Digest::parse(text).or_else(|| Digest::parse(&format!("sha256:{text}")))
}

#[cfg(test)]
mod tests;
