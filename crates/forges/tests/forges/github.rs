//! GitHub, by the examples of its REST API description of version 2022-11-28, with the fields that are read and some others.

use std::time::Duration;

use serde_json::{Value as Json, json};
use slipway_forges::{CommentId, Kind, Revision, Status, StatusState, Verdict};

use crate::served::{Served, TOKEN};

const API: &str = "/api/v3";

fn sha(digit: &str) -> String {
    digit.repeat(40)
}

/// The shape of "Get a pull request".
fn pull(head_repository: &Json) -> Json {
    json!({
        "id": 1,
        "url": "https://api.github.com/repos/o/r/pulls/7",
        "number": 7,
        "state": "open",
        "locked": false,
        "title": "Amazing new feature",
        "user": { "login": "Ada", "id": 1, "type": "User", "site_admin": false },
        "body": "Please pull these awesome changes in!",
        "labels": [{ "id": 208_045_946, "name": "slipway-plan", "color": "f29513", "default": true }],
        "head": { "label": "ada:topic", "ref": "topic", "sha": sha("b"), "repo": head_repository },
        "base": { "label": "o:main", "ref": "release/1.x", "sha": sha("0"), "repo": { "id": 12, "full_name": "o/r" } },
        "draft": false,
        "merged": false,
    })
}

fn branch() -> Json {
    json!({ "name": "release/1.x", "commit": { "sha": sha("a"), "url": "u" }, "protected": true })
}

#[tokio::test]
async fn a_pull_request_has_the_current_tip_of_its_base() {
    let served = Served::start().await;
    let forge = served.forge(Kind::GitHub, Duration::ZERO);
    let ask = async |repository: &Json| {
        served.on(&format!("GET {API}/repos/o/r/pulls/7"), 200, &pull(repository));
        served.on(&format!("GET {API}/repos/o/r/branches/release/1.x"), 200, &branch());
        forge.pull_request(7).await.unwrap()
    };
    let own = ask(&json!({ "id": 12, "full_name": "o/r" })).await;
    assert_eq!(own.base.as_str(), sha("a"), "not the one that the pull request remembers");
    assert_eq!(own.head.as_str(), sha("b"));
    assert_eq!((own.author.as_str(), own.base_branch.as_str()), ("ada", "release/1.x"));
    assert_eq!(own.labels, ["slipway-plan"]);
    assert!(own.open && !own.from_fork);
    assert!(ask(&json!({ "id": 13, "full_name": "ada/r" })).await.from_fork);
    assert!(ask(&Json::Null).await.from_fork, "the fork was deleted");
    let asked = served.last();
    assert_eq!(asked.headers["authorization"], format!("Bearer {TOKEN}"));
    assert_eq!(asked.headers["x-github-api-version"], "2022-11-28");
}

#[tokio::test]
async fn a_merge_is_told_from_other_ends() {
    let served = Served::start().await;
    let forge = served.forge(Kind::GitHub, Duration::ZERO);
    let mut ended = pull(&json!({ "id": 12 }));
    ended["state"] = json!("closed");
    ended["merged_at"] = Json::Null;
    for is_merged in [false, true] {
        if is_merged {
            ended["merged"] = json!(true);
            ended["merged_at"] = json!("2026-11-17T17:43:43Z");
        }
        served.on(&format!("GET {API}/repos/o/r/pulls/7"), 200, &ended);
        served.on(&format!("GET {API}/repos/o/r/branches/release/1.x"), 200, &branch());
        let found = forge.pull_request(7).await.unwrap();
        assert_eq!((found.open, found.merged), (false, is_merged));
    }
}

#[tokio::test]
async fn open_pull_requests_ask_for_each_branch_once() {
    let served = Served::start().await;
    let repository = json!({ "id": 12 });
    let mut orphan = pull(&repository);
    orphan["base"]["ref"] = json!("gone");
    let pulls = json!([pull(&repository), orphan, pull(&repository)]);
    served.on(&format!("GET {API}/repos/o/r/pulls?state=open&per_page=100&page=1"), 200, &pulls);
    served.on(&format!("GET {API}/repos/o/r/branches/release/1.x"), 200, &branch());
    let found = served.forge(Kind::GitHub, Duration::ZERO).open_pull_requests().await.unwrap();
    assert_eq!(found.len(), 2, "the base branch of one was deleted");
    assert_eq!(served.asked().len(), 3);
}

#[tokio::test]
async fn reviews_that_decide_are_read() {
    let served = Served::start().await;
    let review = |login: &str, state: &str| {
        json!({
            "id": 80,
            "user": { "login": login, "id": 1, "type": "User" },
            "body": "Here is the body for the review.",
            "state": state,
            "submitted_at": "2026-11-17T17:43:43Z",
            "commit_id": sha("b"),
            "author_association": "COLLABORATOR",
        })
    };
    let pending =
        json!({ "id": 81, "user": { "login": "linus" }, "state": "PENDING", "commit_id": sha("b") });
    let gone = json!({ "id": 82, "user": null, "state": "APPROVED", "submitted_at": "2026-11-17T17:43:43Z", "commit_id": null });
    let reviews = json!([
        review("Grace", "APPROVED"),
        review("Linus", "CHANGES_REQUESTED"),
        review("Linus", "COMMENTED"),
        review("Linus", "DISMISSED"),
        pending,
        gone,
    ]);
    served.on(&format!("GET {API}/repos/o/r/pulls/7/reviews?per_page=100&page=1"), 200, &reviews);
    let found = served.forge(Kind::GitHub, Duration::ZERO).reviews(7).await.unwrap();
    let told: Vec<_> = found.iter().map(|review| (review.author.as_str(), review.verdict)).collect();
    assert_eq!(
        told,
        [
            ("grace", Verdict::Approved),
            ("linus", Verdict::ChangesRequested),
            ("linus", Verdict::Dismissed),
            ("", Verdict::Approved)
        ]
    );
    assert_eq!(found[0].revision, Revision::parse(&sha("b")));
    assert_eq!(found[0].at, Some("2026-11-17T17:43:43Z".parse().unwrap()));
    assert_eq!(found[3].revision, None);
}

#[tokio::test]
async fn comments_of_all_pages_are_read_and_written() {
    let served = Served::start().await;
    let forge = served.forge(Kind::GitHub, Duration::ZERO);
    let note = |id: u64, login: &str| {
        json!({
            "id": id,
            "body": "Me too",
            "user": { "login": login, "id": 1, "type": "Bot" },
            "created_at": "2026-04-14T16:00:49Z",
            "updated_at": "2026-04-14T16:00:50Z",
        })
    };
    let comments = format!("{API}/repos/o/r/issues/7/comments");
    // The next page is asked for by its number: an address in the answer could be another host.
    let link = [("link", "<https://evil.example/steal?page=2>; rel=\"next\"")];
    let first = json!([note(1, "github-actions[bot]")]).to_string().into_bytes();
    served.on_with(&format!("GET {comments}?per_page=100&page=1"), 200, &link, first);
    served.on(&format!("GET {comments}?per_page=100&page=2"), 200, &json!([note(2, "Ada")]));
    let found = forge.comments(7).await.unwrap();
    assert_eq!(found.iter().map(|comment| comment.id.0).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(found[0].author, "github-actions[bot]");
    assert!(found[0].is_edited());

    served.on(&format!("POST {comments}"), 201, &note(3, "bot"));
    assert_eq!(forge.create_comment(7, "a plan").await.unwrap(), CommentId(3));
    assert_eq!(served.last().body, json!({ "body": "a plan" }));
    served.on(&format!("PATCH {API}/repos/o/r/issues/comments/3"), 200, &note(3, "bot"));
    forge.update_comment(7, CommentId(3), "another plan").await.unwrap();
    assert_eq!(served.last().body, json!({ "body": "another plan" }));
}

#[tokio::test]
async fn statuses_are_set_and_read_in_their_order() {
    let served = Served::start().await;
    let forge = served.forge(Kind::GitHub, Duration::ZERO);
    let head = Revision::parse(&sha("b")).unwrap();
    let status = Status {
        context: "slipway/prod".to_owned(),
        state: StatusState::Failure,
        description: "1 finding would stop the plan".to_owned(),
        page: Some("https://ci.example/1".to_owned()),
    };
    served.on(&format!("POST {API}/repos/o/r/statuses/{head}"), 201, &json!({ "id": 1 }));
    forge.set_status(&head, &status).await.unwrap();
    let body = json!({
        "state": "failure",
        "context": "slipway/prod",
        "description": "1 finding would stop the plan",
        "target_url": "https://ci.example/1",
    });
    assert_eq!(served.last().body, body);
    let posted = |id: u64, state: &str, at: &str| {
        json!({
            "id": id,
            "state": state,
            "description": null,
            "target_url": null,
            "context": "slipway/prod",
            "created_at": at,
            "updated_at": at,
            "creator": { "login": "Bot", "id": 1 },
        })
    };
    // GitHub gives the latest first.
    let list = json!([
        posted(3, "error", "2026-07-20T01:19:14Z"),
        posted(2, "success", "2026-07-20T01:19:13Z"),
        posted(1, "pending", "2026-07-20T01:19:13Z"),
    ]);
    served.on(&format!("GET {API}/repos/o/r/commits/{head}/statuses?per_page=100&page=1"), 200, &list);
    let found = forge.statuses(&head).await.unwrap();
    let states: Vec<_> = found.iter().map(|status| status.state).collect();
    assert_eq!(states, [Some(StatusState::Pending), Some(StatusState::Success), None]);
    assert!(found.iter().all(|status| status.by == "bot"));
}
