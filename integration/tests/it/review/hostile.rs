//! Pull requests of strangers, and pull requests that attack their own review.

use std::os::unix::fs::symlink;

use anyhow::{Result, ensure};
use serde_json::json;
use slipway_integration::executables;

use super::SPEC;
use super::forge::{Team, spec};

const SECRET: &str = "hunter2-of-the-runner";

#[test]
fn a_fork_is_planned_only_with_a_label_and_as_untrusted() -> Result<()> {
    let team = Team::new()?;
    team.commit("main", &[("review.toml", &team.policy()), (SPEC, &spec("prod", 1))])?;
    team.place.write("secret", SECRET)?;
    team.ask(&team.eve, "POST", "ada/infra/forks", &json!({}))?;
    // A manifest outside of the repository.
    let secret = team.place.path().join("secret").display().to_string();
    let hostile = executables::root().join("fixtures/hostile/manifest-elsewhere/repo/a.yaml");
    let addon = std::fs::read_to_string(hostile)?.replace("@PLACE@/outside/secret.yaml", &secret);
    let own = format!("{}/infra", team.eve.name);
    let file = |text: &str| {
        use base64::Engine as _;
        let content = base64::engine::general_purpose::STANDARD.encode(text);
        json!({ "content": content, "message": "evil", "branch": "main", "new_branch": "evil" })
    };
    let path = format!("{own}/contents/clusters/evil/evil.yaml");
    team.ask(&team.eve, "POST", &path, &file(&addon))?;
    let number = team.pull_request(&team.eve, &format!("{}:evil", team.eve.name))?;

    let without = team.review(number, &[])?.wanted(0, "review")?;
    ensure!(without.out.contains("from a fork, without the label slipway-plan"), "{}", without.out);
    ensure!(team.comments(number)?.is_empty());
    ensure!(team.status(number, "slipway")?.0 == "pending");

    let label = json!({ "name": "slipway-plan", "color": "#00aabb" });
    let label = team.ask(&team.ada, "POST", "ada/infra/labels", &label)?["id"].clone();
    let path = format!("ada/infra/issues/{number}/labels");
    team.ask(&team.ada, "POST", &path, &json!({ "labels": [label] }))?;
    let with = team.review(number, &[])?.wanted(1, "review")?;
    let body = team.comments(number)?.into_iter().map(|(_, body)| body).collect::<String>();
    ensure!(!body.is_empty() && !body.contains(SECRET) && !with.err.contains(SECRET), "{body}\n{}", with.err);
    ensure!(team.status(number, "slipway")?.0 == "failure");
    Ok(())
}

#[test]
fn a_pull_request_does_not_decide_about_its_own_review() -> Result<()> {
    let team = Team::new()?;
    team.commit("main", &[("review.toml", &team.policy()), (SPEC, &spec("prod", 1))])?;
    let lax =
        team.policy().replace(&team.grace.name, &team.ada.name).replace("people", "author = true\npeople");
    team.commit("policy", &[("review.toml", &lax), (SPEC, &spec("prod", 2))])?;
    let number = team.pull_request(&team.ada, "policy")?;
    team.review(number, &[])?.wanted(0, "review")?;
    let (_, body) = team.comments(number)?.remove(0);
    let digest = super::digest_in(&body)?;
    team.comment(&team.ada, number, &format!("/slipway approve {digest}"))?;
    team.review(number, &[])?.wanted(0, "review")?;
    let (_, body) = team.comments(number)?.remove(0);
    ensure!(
        body.contains("#### Approvals: 0 of 1") && body.contains("refused: the policy does not name"),
        "{body}"
    );

    // A policy in the checkout would be the one of the pull request in many jobs.
    let number = number.to_string();
    let in_checkout = [
        "--checkout",
        "infra",
        "--policy",
        "infra/review.toml",
        "-f",
        "clusters/*",
        "--pull-request",
        &number,
    ];
    let refused = team.call(&in_checkout)?.wanted(1, "review")?;
    ensure!(refused.err.contains("FORGE0015"), "{}", refused.err);
    Ok(())
}

/// A spec that hides all later changes has a plan without changes, and needs approvals all the same.
#[test]
fn hidden_changes_are_shown_and_need_approvals() -> Result<()> {
    let team = Team::new()?;
    team.commit("main", &[("review.toml", &team.policy()), (SPEC, &spec("prod", 1))])?;
    team.place.write("spec.yaml", &spec("prod", 1))?;
    team.place.expect(0, &["apply", "-f", "spec.yaml", "--yes"])?;
    let ignoring = spec("prod", 1).replacen(
        "\nspec:\n",
        "\nspec:\n  ignoreChanges: [{ resource: \"*\", attribute: \"*\" }]\n",
        1,
    );
    ensure!(ignoring.contains("ignoreChanges"), "{ignoring}");
    team.commit("hide", &[(SPEC, &ignoring)])?;
    let number = team.pull_request(&team.ada, "hide")?;
    team.review(number, &[])?.wanted(0, "review")?;
    let (_, body) = team.comments(number)?.remove(0);
    for part in
        ["#### Settings that hide or allow changes", "`ignoreChanges`", "No changes", "Approvals: 0 of 1"]
    {
        ensure!(body.contains(part), "{part} in\n{body}");
    }
    let (state, words) = team.status(number, "slipway/prod")?;
    ensure!(state == "pending" && words.contains("0 of 1 approvals"), "{state} {words}");
    Ok(())
}

#[test]
fn links_broken_specs_and_conflicts_are_reported() -> Result<()> {
    let team = Team::new()?;
    team.commit("main", &[("review.toml", &team.policy()), (SPEC, &spec("prod", 1))])?;
    team.git(&["checkout", "--quiet", "-b", "link"])?;
    symlink("/etc/passwd", team.clone_path().join("clusters/prod/link.yaml"))?;
    team.commit_all("link")?;
    let link = team.pull_request(&team.ada, "link")?;
    let refused = team.review(link, &[])?.wanted(1, "review")?;
    ensure!(
        refused.err.contains("FORGE0014") && refused.err.contains("is a symbolic link"),
        "{}",
        refused.err
    );
    ensure!(
        team.status(link, "slipway")?
            == ("failure".to_owned(), "the review failed (FORGE0014); see its job".to_owned())
    );

    team.commit("broken", &[(SPEC, "kind: [\n")])?;
    let broken = team.pull_request(&team.ada, "broken")?;
    team.review(broken, &[])?.wanted(1, "review")?;
    let (_, body) = team.comments(broken)?.remove(0);
    ensure!(
        body.contains("cannot be read after a merge") && body.contains(" clusters/prod/cluster.yaml:"),
        "{body}"
    );
    ensure!(team.status(broken, "slipway")?.0 == "failure");

    team.commit("one", &[(SPEC, &spec("prod", 2))])?;
    team.commit("main", &[(SPEC, &spec("prod", 3))])?;
    let conflict = team.pull_request(&team.ada, "one")?;
    team.review(conflict, &[])?.wanted(1, "review")?;
    let (_, body) = team.comments(conflict)?.remove(0);
    ensure!(body.contains("it has conflicts with its base branch"), "{body}");

    let missing =
        team.call(&["--checkout", ".", "-f", "clusters/*", "--pull-request", &conflict.to_string()])?;
    ensure!(missing.code == Some(1) && missing.err.contains("FORGE0013"), "{missing:?}");
    Ok(())
}
