//! The recipes for CI: each is parsed, and its commands run.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_yaml::Value;
use slipway_integration::executables::root;
use slipway_integration::place::Ended;

use super::SPEC;
use super::forge::{Team, spec};
use crate::PROGRAM;

fn recipe(name: &str) -> Result<Value> {
    let path = root().join("docs/recipes").join(name);
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    Ok(serde_yaml::from_str(&text)?)
}

/// The commands of a list: texts, or maps with `run`.
fn scripts(list: &Value) -> Result<Vec<String>> {
    let list = list.as_sequence().context("a list of steps")?;
    let script = |step: &Value| step.as_str().or_else(|| step["run"].as_str()).map(str::to_owned);
    Ok(list.iter().filter_map(script).collect())
}

/// Runs a script in the clone of a team, with Gitea in place of the forge of the recipe.
fn run(team: &Team, script: &str, variables: &[(&str, String)]) -> Result<Ended> {
    let binaries = team.place.path().join("bin");
    if !binaries.exists() {
        std::fs::create_dir(&binaries)?;
        std::os::unix::fs::symlink(PROGRAM, binaries.join("slipway"))?;
    }
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap_or_default());
    let script = script
        .replace("--forge github", "--forge gitea --url \"$FORGE\"")
        .replace("--forge gitlab", "--forge gitea")
        .replace("'github-actions[bot]'", "\"$BOT\"")
        .replace("refs/merge-requests/", "refs/pull/");
    let like = team.place.command(&[]);
    let mut shell = Command::new("bash");
    shell.args(["-euc", &script]).current_dir(team.clone_path());
    for (name, value) in like.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let state = team.place.path().join(".slipway/state");
    shell.env("PATH", path).env("HOME", team.place.path()).env("SLIPWAY_STATE", state);
    shell.envs(team.environment()?).envs(variables.iter().map(|(name, value)| (name, value)));
    let ended = Ended::of(shell.output()?)?;
    ensure!(ended.code == Some(0), "{script}: {}{}", ended.out, ended.err);
    Ok(ended)
}

#[test]
fn the_recipes_of_forges_review_and_mark() -> Result<()> {
    let team = Team::new()?;
    team.commit("main", &[("review.toml", &team.policy()), (SPEC, &spec("prod", 1))])?;
    let given = team.environment()?;
    let of = |name: &str| given.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
    let (forge, repository, token) = (of("FORGE"), of("REPOSITORY"), of("TOKEN"));
    let github = recipe("github-actions.yml")?;
    let gitlab = recipe("gitlab-ci.yml")?;
    ensure!(
        github["permissions"]["contents"] == "read"
            && gitlab["slipway-review"]["variables"]["GIT_DEPTH"] == "0"
    );
    let recipes = [
        ("github", scripts(&github["jobs"]["review"]["steps"])?, scripts(&github["jobs"]["stale"]["steps"])?),
        (
            "gitlab",
            scripts(&gitlab["slipway-review"]["script"])?,
            scripts(&gitlab["slipway-stale"]["script"])?,
        ),
    ];
    for (count, (branch, review, stale)) in (2..).zip(recipes) {
        team.commit(branch, &[(SPEC, &spec("prod", count))])?;
        let number = team.pull_request(&team.ada, branch)?;
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let variables = [
            ("NUMBER", number.to_string()),
            ("GITHUB_REPOSITORY", text(&repository)),
            ("GITHUB_TOKEN", text(&token)),
            ("PAGE", "https://ci.example/1".to_owned()),
            ("CI_SERVER_URL", text(&forge)),
            ("CI_PROJECT_PATH", text(&repository)),
            ("CI_MERGE_REQUEST_IID", number.to_string()),
            ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main".to_owned()),
            ("SLIPWAY_GITLAB_TOKEN", text(&token)),
            ("CI_JOB_URL", "https://ci.example/1".to_owned()),
        ];
        ensure!(review.len() == 2 && stale.len() == 1, "{branch}: {review:?} {stale:?}");
        run(&team, &review.join("\n"), &variables)?;
        ensure!(team.comments(number)?[0].1.contains("### Plan for `prod`"));
        team.commit("main", &[("other.txt", branch)])?;
        let marked = run(&team, &stale.join("\n"), &variables)?;
        ensure!(marked.out.contains("marked as out of date"), "{}", marked.out);
        ensure!(team.comments(number)?[0].1.contains("> **Out of date:**"));
    }
    Ok(())
}

#[test]
fn the_workflow_of_atlantis_plans_and_applies() -> Result<()> {
    let team = Team::new()?;
    team.commit("main", &[("cluster.yaml", &spec("prod", 1))])?;
    let workflow = &recipe("atlantis.yaml")?["workflows"]["slipway"];
    let plan = scripts(&workflow["plan"]["steps"])?.join("\n");
    let apply = scripts(&workflow["apply"]["steps"])?.join("\n");
    let file = [("PLANFILE", team.place.path().join("prod.plan").display().to_string())];
    let planned = run(&team, &plan, &file)?;
    ensure!(planned.out.contains("to create"), "{}", planned.out);
    run(&team, &apply, &file)?;
    let again = run(&team, &plan, &file)?;
    ensure!(again.out.contains("No changes"), "{}", again.out);
    Ok(())
}
