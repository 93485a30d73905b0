//! Pull requests that a controller reviews by itself.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;

use super::forge::{Team, spec};
use super::{SPEC, digest_in};
use crate::controller::{Running, until};

const CONFIGURATION: &str = r#"
data = "controller-data"
listen = "127.0.0.1:0"
poll = "100ms"
retry = { first = "200ms", longest = "1s" }
[[source]]
name = "fleet"
paths = ["clusters/*"]
interval = "300ms"
trust = { file-roots = [".slipway"] }
[source.git]
url = "FORGE/REPOSITORY.git"
username = "bot"
token-file = "token"
[source.pull-requests]
forge = "gitea"
url = "FORGE"
repository = "REPOSITORY"
token-file = "token"
interval = "1s"
approvers = ["GRACE"]
[[source.cluster]]
name = "*"
apply = "approved"
approvers = ["GRACE"]
"#;

/// Waits until a pull request has one comment with some parts, and returns it with its id.
fn until_shown(team: &Team, number: u64, parts: &[&str]) -> Result<(u64, String)> {
    let begun = Instant::now();
    loop {
        let comments = team.comments(number)?;
        let found = comments.iter().find(|(_, body)| parts.iter().all(|part| body.contains(part)));
        if let Some(found) = found {
            return Ok(found.clone());
        }
        ensure!(begun.elapsed() < Duration::from_secs(60), "no {parts:?} in {comments:#?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn until_status(team: &Team, number: u64, context: &str, state: &str) -> Result<String> {
    let begun = Instant::now();
    loop {
        let status = team.status(number, context);
        if let Ok((found, sentence)) = &status
            && found == state
        {
            return Ok(sentence.clone());
        }
        ensure!(begun.elapsed() < Duration::from_secs(60), "{context} is not {state}: {status:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn until_machines(team: &Team, count: usize) -> Result<()> {
    let begun = Instant::now();
    while team.place.inventory()?.machines.len() != count {
        ensure!(begun.elapsed() < Duration::from_secs(60), "{:?}", until(&team.place, "ApprovalNeeded"));
        std::thread::sleep(Duration::from_millis(100));
    }
    until(&team.place, "InSync").map(drop)
}

/// Merges a pull request. Gitea refuses while it still looks for conflicts.
pub(super) fn merge(team: &Team, number: u64) -> Result<()> {
    let path = format!("ada/infra/pulls/{number}/merge");
    let begun = Instant::now();
    loop {
        match team.ask(&team.ada, "POST", &path, &json!({ "Do": "merge" })) {
            Err(error)
                if error.to_string().contains("try again") && begun.elapsed() < Duration::from_secs(30) =>
            {
                std::thread::sleep(Duration::from_millis(200));
            }
            merged => return merged.map(drop),
        }
    }
}

#[test]
fn a_controller_reviews_pull_requests_and_applies_what_was_approved_on_them() -> Result<()> {
    let team = Team::new()?;
    team.commit("main", &[(SPEC, &spec("prod", 1))])?;
    team.place.run(&["apply", "-f", "infra/clusters/prod", "--yes"])?.wanted(0, "review")?;
    let machines = team.place.inventory()?.machines.len();
    let (forge, repository) = team.address()?;
    let text = CONFIGURATION.replace("FORGE", &forge).replace("REPOSITORY", &repository);
    team.place.write("controller.toml", &text.replace("GRACE", &team.grace.name))?;
    let running = Running::start(&team.place, &[])?;

    // What a merge would do is shown, and moves with the head.
    team.commit("topic", &[(SPEC, &spec("prod", 2))])?;
    let number = team.pull_request(&team.ada, "topic")?;
    let (id, body) = until_shown(&team, number, &["### Plan for `prod`", "#### Approvals: 0 of 1"])?;
    until_status(&team, number, "slipway", "pending")?;
    let older = digest_in(&body)?;
    team.commit("late", &[(SPEC, &spec("prod", 5))])?;
    let late = team.pull_request(&team.ada, "late")?;
    until_shown(&team, late, &["### Plan for `prod`"])?;
    team.commit("topic", &[(SPEC, &spec("prod", 3))])?;
    team.comment(&team.grace, number, &format!("/slipway approve {older}"))?;
    team.comment(&team.eve, number, &format!("/slipway approve {older}"))?;
    let (same, body) = until_shown(
        &team,
        number,
        &["refused: the comment approves another plan", "does not name this person"],
    )?;
    ensure!(same == id, "it is updated in place");

    // Grace approves and merges within one moment.
    let digest = digest_in(&body)?;
    ensure!(digest != older);
    team.comment(&team.grace, number, &format!("/slipway approve {digest}"))?;
    let merged = merge(&team, number);
    if merged.is_err() {
        // The forge still looks whether there are conflicts.
        std::thread::sleep(Duration::from_secs(2));
        merge(&team, number)?;
    }
    until_machines(&team, machines + 2)?;
    let status = until(&team.place, "InSync")?;
    ensure!(status["applied"]["digest"] == digest.as_str(), "another plan than the approved one: {status}");

    // The other pull request conflicts now; what was shown before is out of date.
    until_shown(&team, late, &["it has conflicts with its base branch"])?;
    until_shown(&team, late, &["> **Out of date:** the base branch moved"])?;
    until_status(&team, late, "slipway", "failure")?;

    // A new process writes nothing that is written already.
    let before = (team.comments(number)?, team.comments(late)?);
    drop(running);
    let _second = Running::start(&team.place, &[])?;
    team.git(&["fetch", "--quiet", "origin", "main"])?;
    team.git(&["reset", "--quiet", "--hard", "FETCH_HEAD"])?;
    team.commit("new", &[(SPEC, &spec("prod", 4))])?;
    let new = team.pull_request(&team.ada, "new")?;
    until_shown(&team, new, &["### Plan for `prod`"])?;
    ensure!(before == (team.comments(number)?, team.comments(late)?), "{before:#?}");

    // Without a label, the pull request of a stranger is not planned.
    team.ask(&team.eve, "POST", "ada/infra/forks", &json!({}))?;
    let content = "YTogMQo=";
    let file = json!({ "content": content, "message": "evil", "branch": "main", "new_branch": "evil" });
    let path = format!("{}/infra/contents/clusters/evil/evil.yaml", team.eve.name);
    team.ask(&team.eve, "POST", &path, &file)?;
    let stranger = team.pull_request(&team.eve, &format!("{}:evil", team.eve.name))?;
    let sentence = until_status(&team, stranger, "slipway", "pending")?;
    ensure!(sentence.contains("from a fork") && team.comments(stranger)?.is_empty(), "{sentence}");
    Ok(())
}
