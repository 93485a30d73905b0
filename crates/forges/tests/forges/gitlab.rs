//! GitLab, by the examples of its REST API description, with the fields that are read and some others.

use std::time::Duration;

use serde_json::{Value as Json, json};
use slipway_forges::{CommentId, Kind, Revision, Status, StatusState, Verdict};

use crate::served::{Served, TOKEN};

const PROJECT: &str = "/api/v4/projects/o%2Fr";

fn sha(digit: &str) -> String {
    digit.repeat(40)
}

/// The shape of "Retrieve a merge request".
fn request(source: &Json) -> Json {
    json!({
        "id": 155_016_530,
        "iid": 7,
        "project_id": 15,
        "title": "Manual job rules",
        "state": "opened",
        "target_branch": "release/1.x",
        "source_branch": "topic",
        "author": { "id": 4, "name": "Ada", "username": "Ada", "state": "active" },
        "source_project_id": source,
        "target_project_id": 15,
        "labels": ["slipway-plan"],
        "draft": false,
        "sha": sha("b"),
        "diff_refs": { "base_sha": sha("c"), "head_sha": sha("b"), "start_sha": sha("0") },
    })
}

#[tokio::test]
async fn a_merge_request_has_the_current_tip_of_its_base() {
    let served = Served::start().await;
    let forge = served.forge(Kind::GitLab, Duration::ZERO);
    let ask = async |source: &Json| {
        served.on(&format!("GET {PROJECT}/merge_requests/7"), 200, &request(source));
        let branch = json!({ "name": "release/1.x", "commit": { "id": sha("a"), "short_id": "aaaaaaaa" } });
        served.on(&format!("GET {PROJECT}/repository/branches/release%2F1.x"), 200, &branch);
        forge.pull_request(7).await.unwrap()
    };
    let own = ask(&json!(15)).await;
    assert_eq!((own.base.as_str(), own.head.as_str()), (&*sha("a"), &*sha("b")));
    assert_eq!((own.author.as_str(), own.number, own.open), ("ada", 7, true));
    assert_eq!(own.labels, ["slipway-plan"]);
    assert!(!own.from_fork);
    assert!(ask(&json!(16)).await.from_fork);
    assert!(ask(&Json::Null).await.from_fork, "the fork was deleted");
    assert_eq!(served.last().headers["private-token"], TOKEN);
}

#[tokio::test]
async fn a_merge_is_told_from_other_ends() {
    let served = Served::start().await;
    let forge = served.forge(Kind::GitLab, Duration::ZERO);
    for (state, open, merged) in
        [("opened", true, false), ("locked", true, false), ("closed", false, false), ("merged", false, true)]
    {
        let mut found = request(&json!(15));
        found["state"] = json!(state);
        served.on(&format!("GET {PROJECT}/merge_requests/7"), 200, &found);
        let branch = json!({ "name": "release/1.x", "commit": { "id": sha("a") } });
        served.on(&format!("GET {PROJECT}/repository/branches/release%2F1.x"), 200, &branch);
        let found = forge.pull_request(7).await.unwrap();
        assert_eq!((found.open, found.merged), (open, merged), "{state}");
    }
}

#[tokio::test]
async fn notes_of_people_are_read_and_written() {
    let served = Served::start().await;
    let forge = served.forge(Kind::GitLab, Duration::ZERO);
    let note = |id: u64, system: bool| {
        json!({
            "id": id,
            "body": "text",
            "author": { "id": 1, "username": "Pipin", "state": "active" },
            "created_at": "2026-10-02T08:57:14Z",
            "updated_at": "2026-10-02T08:57:14Z",
            "system": system,
            "noteable_id": 2,
            "noteable_type": "MergeRequest",
        })
    };
    let notes = format!("{PROJECT}/merge_requests/7/notes");
    let list = json!([note(301, false), note(302, true)]);
    served.on(&format!("GET {notes}?sort=asc&order_by=created_at&per_page=100&page=1"), 200, &list);
    let found = forge.comments(7).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].id, found[0].author.as_str()), (CommentId(301), "pipin"));
    assert!(!found[0].is_edited());
    served.on(&format!("POST {notes}"), 201, &note(303, false));
    assert_eq!(forge.create_comment(7, "a plan").await.unwrap(), CommentId(303));
    served.on(&format!("PUT {notes}/303"), 200, &note(303, false));
    forge.update_comment(7, CommentId(303), "another plan").await.unwrap();
    assert_eq!(served.last().body, json!({ "body": "another plan" }));
}

#[tokio::test]
async fn approvals_name_neither_a_commit_nor_a_time() {
    let served = Served::start().await;
    let approvals = json!({
        "id": 5,
        "iid": 5,
        "approvals_required": 2,
        "approvals_left": 1,
        "approved_by": [{ "user": { "name": "Grace", "username": "Grace", "id": 1, "state": "active" } }],
    });
    served.on(&format!("GET {PROJECT}/merge_requests/7/approvals"), 200, &approvals);
    let found = served.forge(Kind::GitLab, Duration::ZERO).reviews(7).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].author.as_str(), found[0].verdict), ("grace", Verdict::Approved));
    assert_eq!((&found[0].revision, found[0].at), (&None, None));
}

#[tokio::test]
async fn a_status_that_stays_pending_is_no_error() {
    let served = Served::start().await;
    let forge = served.forge(Kind::GitLab, Duration::ZERO);
    let head = Revision::parse(&sha("b")).unwrap();
    let status =
        |state| Status { context: "slipway".to_owned(), state, description: "text".to_owned(), page: None };
    let line = format!("POST {PROJECT}/statuses/{head}");
    served.on(&line, 201, &json!({ "id": 93 }));
    forge.set_status(&head, &status(StatusState::Failure)).await.unwrap();
    assert_eq!(served.last().body, json!({ "state": "failed", "name": "slipway", "description": "text" }));
    let refusal = json!({ "message": "Cannot transition status via :enqueue from :pending" });
    served.on(&line, 400, &refusal);
    forge.set_status(&head, &status(StatusState::Pending)).await.unwrap();
    served.on(&line, 400, &refusal);
    let error = forge.set_status(&head, &status(StatusState::Success)).await.unwrap_err();
    assert_eq!(error.code(), "FORGE0004");
}
