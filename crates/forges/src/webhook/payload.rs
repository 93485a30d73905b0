//! The bodies of webhooks, of which only what says where to look is read.
//!
//! Sources: "Webhook events and payloads" of GitHub's documentation; "Webhook events" of GitLab's; `modules/structs/hook.go`
//! of Gitea.

use serde::Deserialize;
use slipway_limits::text::is_hidden;

use super::event::Event;
use super::signature::Sender;
use crate::model::Revision;

/// The longest name of a repository or a reference.
const NAME: usize = 1_000;

#[derive(Deserialize)]
struct Repository {
    full_name: String,
}

/// A body of GitHub, Gitea and Forgejo.
#[derive(Deserialize)]
struct Hub {
    repository: Option<Repository>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    after: Option<String>,
    pull_request: Option<Numbered>,
    issue: Option<Issue>,
}

#[derive(Deserialize)]
struct Numbered {
    number: u64,
}

#[derive(Deserialize)]
struct Issue {
    number: u64,
    /// Only a pull request has it.
    pull_request: Option<serde::de::IgnoredAny>,
}

/// A body of GitLab.
#[derive(Deserialize)]
struct Lab {
    object_kind: String,
    project: Project,
    #[serde(rename = "ref")]
    reference: Option<String>,
    after: Option<String>,
    object_attributes: Option<Attributes>,
    merge_request: Option<MergeRequest>,
}

#[derive(Deserialize)]
struct Project {
    path_with_namespace: String,
}

#[derive(Deserialize)]
struct Attributes {
    iid: Option<u64>,
    action: Option<String>,
}

#[derive(Deserialize)]
struct MergeRequest {
    iid: u64,
}

/// The event of a body; `None` for one that is of no interest.
///
/// # Errors
/// When the body is no JSON of its forge.
pub(super) fn event(sender: Sender, kind: &str, body: &[u8]) -> Result<Option<Event>, serde_json::Error> {
    let found = match sender {
        Sender::GitHub | Sender::Gitea => hub(kind, serde_json::from_slice(body)?),
        Sender::GitLab => lab(serde_json::from_slice(body)?),
        Sender::Generic => Some(Event::Changed),
    };
    Ok(found.filter(is_plain))
}

/// The event of GitHub (`X-GitHub-Event`) or Gitea (`X-Gitea-Event`).
fn hub(kind: &str, body: Hub) -> Option<Event> {
    let repository = body.repository?.full_name;
    match kind {
        "push" => source(repository, body.reference, body.after),
        "pull_request" => Some(Event::PullRequest { repository, number: body.pull_request?.number }),
        // Gitea has an event for each verdict.
        "pull_request_review"
        | "pull_request_approved"
        | "pull_request_rejected"
        | "pull_request_comment" => Some(Event::Review { repository, number: body.pull_request?.number }),
        "issue_comment" => {
            let issue =
                body.issue.filter(|issue| issue.pull_request.is_some() || body.pull_request.is_some())?;
            Some(Event::Comment { repository, number: issue.number })
        }
        _ => None,
    }
}

fn lab(body: Lab) -> Option<Event> {
    let repository = body.project.path_with_namespace;
    match body.object_kind.as_str() {
        "push" | "tag_push" => source(repository, body.reference, body.after),
        "merge_request" => {
            let attributes = body.object_attributes?;
            let number = attributes.iid?;
            match attributes.action.as_deref() {
                Some("approved" | "unapproved" | "approval" | "unapproval") => {
                    Some(Event::Review { repository, number })
                }
                _ => Some(Event::PullRequest { repository, number }),
            }
        }
        "note" => Some(Event::Comment { repository, number: body.merge_request?.iid }),
        _ => None,
    }
}

fn source(repository: String, reference: Option<String>, revision: Option<String>) -> Option<Event> {
    let revision = revision.as_deref().and_then(Revision::parse);
    // Forges write a deleted branch as zeros.
    let revision = revision.filter(|revision| revision.as_str().bytes().any(|byte| byte != b'0'));
    Some(Event::SourceChanged { repository, reference: reference?, revision })
}

/// Whether the names in an event are short, and safe to print.
fn is_plain(event: &Event) -> bool {
    let fits = |name: &str| {
        name.len() <= NAME && !name.chars().any(|letter| is_hidden(letter) || letter.is_whitespace())
    };
    match event {
        Event::Changed => true,
        Event::SourceChanged { repository, reference, .. } => fits(repository) && fits(reference),
        Event::PullRequest { repository, .. }
        | Event::Review { repository, .. }
        | Event::Comment { repository, .. } => fits(repository),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(sender: Sender, kind: &str, body: &serde_json::Value) -> Option<Event> {
        event(sender, kind, body.to_string().as_bytes()).unwrap()
    }

    fn pushed(revision: Option<&str>) -> Option<Event> {
        Some(Event::SourceChanged {
            repository: "o/r".to_owned(),
            reference: "refs/heads/main".to_owned(),
            revision: revision.and_then(Revision::parse),
        })
    }

    #[test]
    fn events_of_github_and_gitea() {
        let (a, zeros) = ("a".repeat(40), "0".repeat(40));
        let repository = json!({ "full_name": "o/r", "id": 1 });
        for sender in [Sender::GitHub, Sender::Gitea] {
            let push =
                |after: &str| json!({ "repository": repository, "ref": "refs/heads/main", "after": after });
            assert_eq!(of(sender, "push", &push(&a)), pushed(Some(&a)));
            assert_eq!(of(sender, "push", &push(&zeros)), pushed(None));
            let pull =
                json!({ "repository": repository, "action": "opened", "pull_request": { "number": 7 } });
            let event = Event::PullRequest { repository: "o/r".to_owned(), number: 7 };
            assert_eq!(of(sender, "pull_request", &pull), Some(event));
            for kind in ["pull_request_review", "pull_request_approved"] {
                let event = Event::Review { repository: "o/r".to_owned(), number: 7 };
                assert_eq!(of(sender, kind, &pull), Some(event));
            }
            let note =
                json!({ "repository": repository, "issue": { "number": 7, "pull_request": { "url": "u" } } });
            let event = Event::Comment { repository: "o/r".to_owned(), number: 7 };
            assert_eq!(of(sender, "issue_comment", &note), Some(event));
            let issue = json!({ "repository": repository, "issue": { "number": 7 } });
            assert_eq!(of(sender, "issue_comment", &issue), None, "an issue is no pull request");
            assert_eq!(of(sender, "ping", &json!({ "zen": "x" })), None);
            assert!(event_fails(sender, "[]") && event_fails(sender, "{"));
        }
    }

    fn event_fails(sender: Sender, body: &str) -> bool {
        event(sender, "push", body.as_bytes()).is_err()
    }

    #[test]
    fn events_of_gitlab() {
        let project = json!({ "path_with_namespace": "o/r" });
        let of = |body: &serde_json::Value| of(Sender::GitLab, "", body);
        let a = "a".repeat(40);
        let push = json!({ "object_kind": "push", "project": project, "ref": "refs/heads/main", "after": a });
        assert_eq!(of(&push), pushed(Some(&a)));
        let merge = |action: &str| {
            let attributes = json!({ "iid": 7, "action": action });
            json!({ "object_kind": "merge_request", "project": project, "object_attributes": attributes })
        };
        assert_eq!(
            of(&merge("update")),
            Some(Event::PullRequest { repository: "o/r".to_owned(), number: 7 })
        );
        assert_eq!(of(&merge("approved")), Some(Event::Review { repository: "o/r".to_owned(), number: 7 }));
        let note = json!({ "object_kind": "note", "project": project, "object_attributes": {}, "merge_request": { "iid": 7 } });
        assert_eq!(of(&note), Some(Event::Comment { repository: "o/r".to_owned(), number: 7 }));
        let issue = json!({ "object_kind": "note", "project": project, "object_attributes": {} });
        assert_eq!(of(&issue), None);
        assert!(event_fails(Sender::GitLab, "{}"));
    }

    #[test]
    fn names_are_short_and_safe_to_print() {
        for name in ["o/r\u{1b}[2J".to_owned(), "o/r\nx".to_owned(), "o".repeat(NAME + 1)] {
            let body = json!({ "repository": { "full_name": name }, "ref": "refs/heads/main" });
            assert_eq!(of(Sender::GitHub, "push", &body), None);
            let body = json!({ "repository": { "full_name": "o/r" }, "ref": name });
            assert_eq!(of(Sender::GitHub, "push", &body), None);
        }
    }

    #[test]
    fn nothing_of_the_body_of_any_other_sender_is_read() {
        for body in ["", "{", r#"{"ref":"refs/heads/main"}"#] {
            assert_eq!(event(Sender::Generic, "", body.as_bytes()).unwrap(), Some(Event::Changed));
        }
    }
}
