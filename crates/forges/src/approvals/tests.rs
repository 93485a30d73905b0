use super::*;
use crate::model::{CommentId, Revision, StatusState};

const OWN: &str = "slipway-bot";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn revision(digit: &str) -> Revision {
    Revision::parse(&digit.repeat(40)).unwrap()
}

fn pull_request() -> PullRequest {
    PullRequest {
        number: 7,
        open: true,
        merged: false,
        author: "ada".to_owned(),
        head: revision("b"),
        base: revision("a"),
        base_branch: "main".to_owned(),
        from_fork: false,
        labels: Vec::new(),
    }
}

fn policy() -> ApprovalPolicy {
    let people = ["ada", "grace", "Linus"].map(str::to_owned).to_vec();
    ApprovalPolicy { needed: 1, people, author: false }
}

fn status(by: &str, context: &str, digest: &Digest, second: i64) -> Posted {
    Posted {
        context: context.to_owned(),
        state: Some(StatusState::Pending),
        description: format!("2 changes; {}", report::mark(digest)),
        by: by.to_owned(),
        at: at(second),
    }
}

fn review(author: &str, verdict: Verdict, head: &str, second: i64) -> Review {
    Review { author: author.to_owned(), verdict, revision: Some(revision(head)), at: Some(at(second)) }
}

fn comment(author: &str, body: &str, created: i64, updated: i64) -> Comment {
    Comment {
        id: CommentId(1),
        author: author.to_owned(),
        body: body.to_owned(),
        created: at(created),
        updated: at(updated),
    }
}

struct Case {
    statuses: Vec<Posted>,
    reviews: Vec<Review>,
    comments: Vec<Comment>,
}

fn plan() -> Digest {
    Digest::of_bytes(b"plan")
}

impl Case {
    fn new() -> Self {
        let older = Digest::of_bytes(b"older plan");
        Self {
            statuses: vec![
                status(OWN, "slipway/prod", &older, 10),
                status(OWN, "slipway/prod", &plan(), 20),
                // Others can set a status of the same name, and other clusters have their own.
                status("eve", "slipway/prod", &older, 30),
                status(OWN, "slipway/test", &older, 40),
            ],
            reviews: Vec::new(),
            comments: Vec::new(),
        }
    }

    fn count(&self) -> Outcome {
        let pull_request = pull_request();
        let evidence = Evidence {
            pull_request: &pull_request,
            own: OWN,
            statuses: &self.statuses,
            reviews: &self.reviews,
            comments: &self.comments,
        };
        count(&policy(), &plan(), "prod", &evidence)
    }

    fn reason(&self) -> Option<Reason> {
        let outcome = self.count();
        assert_eq!(outcome.given.len() + outcome.refused.len(), 1, "{outcome:?}");
        assert_eq!(outcome.is_enough(), outcome.refused.is_empty());
        outcome.refused.first().map(|refused| refused.reason)
    }
}

fn reviewed(review: Review) -> Option<Reason> {
    Case { reviews: vec![review], ..Case::new() }.reason()
}

fn commented(comment: Comment) -> Option<Reason> {
    Case { comments: vec![comment], ..Case::new() }.reason()
}

#[test]
fn a_review_counts_for_the_plan_that_was_shown() {
    let approved = |who: &str, head: &str, second| reviewed(review(who, Verdict::Approved, head, second));
    assert_eq!(approved("grace", "b", 50), None);
    assert_eq!(approved("linus", "b", 20), None);
    assert_eq!(approved("grace", "b", 19), Some(Reason::NotShown), "the older plan was shown");
    assert_eq!(approved("grace", "b", 9), Some(Reason::NotShown), "nothing was shown");
    assert_eq!(approved("grace", "c", 50), Some(Reason::OtherRevision));
    assert_eq!(approved("eve", "b", 50), Some(Reason::NotNamed));
    assert_eq!(approved("ada", "b", 50), Some(Reason::Author));
    let unbound = Review { revision: None, at: None, ..review("grace", Verdict::Approved, "b", 50) };
    assert_eq!(reviewed(unbound), Some(Reason::Unbound));
}

#[test]
fn a_status_of_somebody_else_shows_nothing() {
    let mut case = Case { reviews: vec![review("grace", Verdict::Approved, "b", 50)], ..Case::new() };
    case.statuses =
        vec![status("eve", "slipway/prod", &plan(), 20), status(OWN, "slipway/test", &plan(), 20)];
    assert_eq!(case.reason(), Some(Reason::NotShown));
}

#[test]
fn a_comment_counts_for_the_digest_that_it_names() {
    let digest = plan();
    let approve = |who: &str, rest: &str| commented(comment(who, &format!("{COMMAND}{rest}"), 50, 50));
    assert_eq!(approve("grace", &format!(" {digest}\nlooks good")), None);
    assert_eq!(approve("grace", &format!(" `{}`", digest.hex())), None);
    assert_eq!(approve("grace", &format!(" {}", Digest::of_bytes(b"older plan"))), Some(Reason::OtherPlan));
    assert_eq!(approve("grace", ""), Some(Reason::NoDigest));
    assert_eq!(approve("grace", &format!(" {}", digest.short())), Some(Reason::NoDigest));
    assert_eq!(approve("grace", &format!(" {digest} {digest}")), Some(Reason::NoDigest));
    assert_eq!(approve("eve", &format!(" {digest}")), Some(Reason::NotNamed));
    assert_eq!(approve("ada", &format!(" {digest}")), Some(Reason::Author));
    let edited = comment("grace", &format!("{COMMAND} {digest}"), 50, 51);
    assert_eq!(commented(edited), Some(Reason::Edited));
}

#[test]
fn a_command_is_the_first_line_alone() {
    let digest = plan();
    for body in [
        format!("> {COMMAND} {digest}"),
        format!("please do:\n{COMMAND} {digest}"),
        format!("{COMMAND}d {digest}"),
        format!(" {COMMAND} {digest}"),
        String::new(),
    ] {
        let case = Case { comments: vec![comment("grace", &body, 50, 50)], ..Case::new() };
        assert_eq!(case.count(), Outcome { needed: 1, ..Outcome::default() }, "{body}");
    }
    // Our own comment shows the command.
    let own = Case { comments: vec![comment(OWN, &format!("{COMMAND} {digest}"), 50, 50)], ..Case::new() };
    assert_eq!(own.count(), Outcome { needed: 1, ..Outcome::default() });
}

#[test]
fn who_requests_changes_afterwards_takes_the_approval_back() {
    let mut case = Case::new();
    case.reviews = vec![
        review("grace", Verdict::Approved, "b", 50),
        review("grace", Verdict::ChangesRequested, "b", 60),
        review("linus", Verdict::ChangesRequested, "b", 60),
    ];
    assert_eq!(case.reason(), Some(Reason::ChangesRequested));
    assert_eq!(case.count().withdrawn, ["grace"]);
    case.reviews.push(review("grace", Verdict::Approved, "b", 70));
    assert_eq!(case.reason(), None);
}

#[test]
fn a_dismissed_review_takes_its_own_approval_back() {
    let dismissed = |who: &str, head: &str, second| review(who, Verdict::Dismissed, head, second);
    let mut case = Case { reviews: vec![dismissed("grace", "b", 50)], ..Case::new() };
    assert_eq!(case.reason(), Some(Reason::Dismissed));
    assert_eq!(case.count().withdrawn, ["grace"]);
    case.comments = vec![comment("grace", &format!("{COMMAND} {}", plan()), 40, 40)];
    assert_eq!(case.reason(), None, "she has approved in another way");
    assert!(case.count().withdrawn.is_empty());
    // What never counted was not taken back.
    for never in [dismissed("grace", "c", 50), dismissed("grace", "b", 19), dismissed("eve", "b", 50)] {
        let case = Case { reviews: vec![never], ..Case::new() };
        assert!(case.count().withdrawn.is_empty());
    }
}

#[test]
fn each_person_counts_once() {
    let mut case = Case::new();
    case.reviews = vec![
        review("grace", Verdict::Approved, "b", 60),
        review("eve", Verdict::Approved, "b", 61),
        review("grace", Verdict::Approved, "c", 62),
    ];
    case.comments = vec![comment("grace", &format!("{COMMAND} {}", plan()), 50, 50)];
    let outcome = case.count();
    assert_eq!(outcome.given, [Given { person: "grace".to_owned(), at: at(50) }]);
    assert_eq!(outcome.refused, [Refused { person: "eve".to_owned(), reason: Reason::NotNamed }]);
}

#[test]
fn the_author_counts_where_the_policy_says_so() {
    let pull_request = pull_request();
    let reviews = [review("ada", Verdict::Approved, "b", 50)];
    let statuses = Case::new().statuses;
    let evidence = Evidence {
        pull_request: &pull_request,
        own: OWN,
        statuses: &statuses,
        reviews: &reviews,
        comments: &[],
    };
    let allowed = ApprovalPolicy { author: true, ..policy() };
    assert!(count(&allowed, &plan(), "prod", &evidence).is_enough());
    assert!(!count(&policy(), &plan(), "prod", &evidence).is_enough());
}
