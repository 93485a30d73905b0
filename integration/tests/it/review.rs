//! Reviews on pull requests of a real Gitea.

mod controlled;
mod forge;
mod hostile;
mod recipes;

use anyhow::{Result, ensure};

use forge::{Team, spec};

/// The path of the spec.
const SPEC: &str = "clusters/prod/cluster.yaml";

#[test]
fn a_pull_request_is_reviewed_approved_and_applied() -> Result<()> {
    let team = Team::new()?;
    team.commit(
        "main",
        &[
            ("review.toml", &team.policy()),
            (SPEC, &spec("prod", 1)),
            ("clusters/test/a.yaml", &spec("test", 1)),
        ],
    )?;
    for name in ["prod", "test"] {
        team.place.run(&["apply", "-f", &format!("infra/clusters/{name}"), "--yes"])?.wanted(0, "review")?;
    }
    team.commit("topic", &[(SPEC, &spec("prod", 2))])?;
    let number = team.pull_request(&team.ada, "topic")?;

    let first = team.review(number, &[])?.wanted(0, "review")?;
    ensure!(first.out.starts_with("prod: ") && !first.out.contains("test: "), "{}", first.out);
    let comments = team.comments(number)?;
    ensure!(comments.len() == 1, "{comments:?}");
    let (id, body) = comments[0].clone();
    for part in
        ["### Plan for `prod`", "**No dangerous changes.**", "#### Approvals: 0 of 1", "Base `main` at"]
    {
        ensure!(body.contains(part), "no {part} in {body}");
    }
    ensure!(
        team.status(number, "slipway/prod")?.0 == "pending" && team.status(number, "slipway")?.0 == "pending"
    );

    // Eve may not approve. Grace may, and her review is about the plan that she sees.
    let digest = digest_in(&body)?;
    team.comment(&team.eve, number, &format!("/slipway approve {digest}"))?;
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    team.approve(&team.grace, number)?;
    team.review(number, &["--record-approvals"])?.wanted(0, "review")?;
    let comments = team.comments(number)?;
    ensure!(comments.len() == 2 && comments[0].0 == id, "it is updated in place: {comments:?}");
    let counts = format!("| `{}` | counts", team.grace.name);
    let refused = format!("| `{}` | refused: the policy does not name", team.eve.name);
    for part in ["#### Approvals: 1 of 1", &counts, &refused] {
        ensure!(comments[0].1.contains(part), "no {part} in {}", comments[0].1);
    }
    ensure!(
        team.status(number, "slipway/prod")?.0 == "success" && team.status(number, "slipway")?.0 == "success"
    );

    // Another push: the plan is another one, and the approval does not count for it.
    team.commit("topic", &[(SPEC, &spec("prod", 3))])?;
    team.review(number, &["--record-approvals"])?.wanted(0, "review")?;
    let (_, body) = team.comments(number)?.remove(0);
    ensure!(body.contains(" | refused: the review is about another commit |"), "{body}");
    ensure!(team.status(number, "slipway/prod")?.0 == "pending");
    let digest = digest_in(&body)?;
    team.comment(&team.grace, number, &format!("/slipway approve {digest}"))?;
    team.review(number, &["--record-approvals"])?.wanted(0, "review")?;
    ensure!(team.status(number, "slipway/prod")?.0 == "success");
    merged(&team, number)
}

/// After the merge, exactly the approved plan is applied; an open pull request is out of date then.
fn merged(team: &Team, number: u64) -> Result<()> {
    team.commit("late", &[("clusters/test/a.yaml", &spec("test", 2))])?;
    let late = team.pull_request(&team.ada, "late")?;
    team.review(late, &[])?.wanted(0, "review")?;
    ensure!(!team.comments(late)?[0].1.contains("Out of date"));

    controlled::merge(team, number)?;
    team.git(&["pull", "--quiet", "origin", "main"])?;
    team.place.run(&["plan", "-f", "infra/clusters/prod", "--out", "prod.plan"])?.wanted(2, "review")?;
    team.place.run(&["apply", "prod.plan", "--yes", "--require-approval"])?.wanted(0, "review")?;

    let marked = team.stale()?.wanted(0, "review")?;
    ensure!(marked.out.contains("1 comment was marked as out of date."), "{}", marked.out);
    let (_, body) = team.comments(late)?.remove(0);
    ensure!(body.contains("> **Out of date:** the base branch moved"), "{body}");
    ensure!(team.status(late, "slipway")?.0 == "pending");
    team.review(late, &[])?.wanted(0, "review")?;
    ensure!(!team.comments(late)?[0].1.contains("Out of date"), "a new review makes it current");
    Ok(())
}

/// The digest that a comment says to approve.
fn digest_in(body: &str) -> Result<String> {
    let rest = body.split("/slipway approve ").nth(1).unwrap_or_default();
    let digest = rest.lines().next().unwrap_or_default().to_owned();
    ensure!(digest.starts_with("sha256:") && digest.len() == 71, "{body}");
    Ok(digest)
}
