//! A Gitea with a team, and a clone of its repository.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use slipway_integration::place::{Ended, Place};
use slipway_testkit::Gitea;
use slipway_testkit::gitea::User;

use crate::PROGRAM;

/// One server for all tests; it ends with the process.
static GITEA: OnceLock<Gitea> = OnceLock::new();
/// Serialises its start, and numbers the teams.
static TEAMS: AtomicU32 = AtomicU32::new(1);
static START: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// The users of one test, the repository `ada/infra` of theirs, and a clone in the folder `infra`.
pub struct Team {
    pub place: Place,
    pub ada: User,
    pub grace: User,
    pub eve: User,
    bot: User,
    repository: String,
}

/// A spec of one pool with some machines.
pub fn spec(name: &str, machines: u32) -> String {
    let pool = format!(
        "---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{ name: workers }}\n\
         spec: {{ role: worker, machineType: sim.medium, size: {{ fixed: {machines} }} }}\n"
    );
    format!("{}\n{pool}", crate::SMALL.replace("name: line", &format!("name: {name}")))
}

fn gitea() -> Result<&'static Gitea> {
    let _one = START.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if GITEA.get().is_none() {
        let _ = GITEA.set(Gitea::start()?);
    }
    GITEA.get().context("Gitea")
}

impl Team {
    pub fn new() -> Result<Self> {
        let gitea = gitea()?;
        let number = TEAMS.fetch_add(1, Ordering::Relaxed);
        let user = |name: &str| gitea.user(&format!("{name}{number}"));
        let (ada, grace, bot, eve) = (user("ada")?, user("grace")?, user("bot")?, user("eve")?);
        let repository = format!("{}/infra", ada.name);
        let place = Place::new(PROGRAM)?;
        let team = Self { place, ada, grace, eve, bot, repository };
        let made = json!({ "name": "infra", "auto_init": true, "default_branch": "main" });
        gitea.ask(&team.ada, "POST", "/user/repos", &made)?;
        for name in [&team.grace.name, &team.bot.name] {
            let path = format!("/repos/{}/collaborators/{name}", team.repository);
            gitea.ask(&team.ada, "PUT", &path, &json!({ "permission": "write" }))?;
        }
        let url = gitea.repository(&team.ada, &team.repository);
        team.run_git(team.place.path().to_owned(), &["clone", "--quiet", &url, "infra"])?;
        team.place.write("token", &format!("{}\n", team.bot.token))?;
        Ok(team)
    }

    /// A policy by which Grace must approve, and forks need a label.
    pub fn policy(&self) -> String {
        let people = format!("[approvals]\nneeded = 1\npeople = [\"{}\"]\n", self.grace.name);
        format!("[forks]\nplan = \"label\"\n\n{people}")
    }

    /// Calls the API as a user. The repository of the team is called `ada/infra` in paths.
    pub fn ask(&self, user: &User, method: &str, path: &str, body: &Value) -> Result<Value> {
        let path = path.replace("ada/infra", &self.repository);
        gitea()?.ask(user, method, &format!("/repos/{path}"), body)
    }

    /// The URL of the forge, and the name of the repository.
    pub fn address(&self) -> Result<(String, String)> {
        Ok((gitea()?.url(), self.repository.clone()))
    }

    /// Runs git in the clone.
    pub fn git(&self, arguments: &[&str]) -> Result<String> {
        self.run_git(self.clone_path(), arguments)
    }

    pub fn clone_path(&self) -> PathBuf {
        self.place.path().join("infra")
    }

    fn run_git(&self, folder: PathBuf, arguments: &[&str]) -> Result<String> {
        let mut git = Command::new("git");
        git.current_dir(folder).env("HOME", self.place.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        git.args(["-c", "user.name=ada", "-c", "user.email=ada@example.invalid"]).args(arguments);
        let ended = Ended::of(git.output()?)?;
        if ended.code != Some(0) {
            bail!("git {arguments:?}: {}{}", ended.out, ended.err);
        }
        Ok(ended.out)
    }

    /// Commits files to a branch, which begins at `main`, and pushes it. The clone is on `main` again afterwards.
    pub fn commit(&self, branch: &str, files: &[(&str, &str)]) -> Result<()> {
        self.git(&["checkout", "--quiet", "main"])?;
        if branch != "main" && self.git(&["checkout", "--quiet", branch]).is_err() {
            self.git(&["checkout", "--quiet", "-b", branch])?;
        }
        for (path, text) in files {
            self.place.write(&format!("infra/{path}"), text)?;
        }
        self.commit_all(branch)
    }

    /// Commits whatever is in the clone.
    pub fn commit_all(&self, branch: &str) -> Result<()> {
        self.git(&["add", "--all"])?;
        self.git(&["commit", "--quiet", "--message", branch])?;
        self.git(&["push", "--quiet", "origin", &format!("HEAD:refs/heads/{branch}")])?;
        self.git(&["checkout", "--quiet", "main"])?;
        Ok(())
    }

    pub fn pull_request(&self, user: &User, head: &str) -> Result<u64> {
        let body = json!({ "title": head, "head": head, "base": "main" });
        self.ask(user, "POST", "ada/infra/pulls", &body)?["number"].as_u64().context("a number")
    }

    /// The call of the program with what every review needs.
    pub fn call(&self, more: &[&str]) -> Result<Ended> {
        let url = gitea()?.url();
        let given = ["review", "--forge", "gitea", "--url", &url, "--repository", &self.repository];
        let token = ["--token-file", "token", "--state", ".slipway/state"];
        self.place.run(&[&given[..], &token[..], more].concat())
    }

    /// Fetches the pull request and reviews it.
    pub fn review(&self, number: u64, more: &[&str]) -> Result<Ended> {
        self.git(&["fetch", "--quiet", "origin", "main", &format!("+refs/pull/{number}/head")])?;
        let number = number.to_string();
        let given = [
            "--checkout",
            "infra",
            "--policy",
            "base:review.toml",
            "-f",
            "clusters/*",
            "--pull-request",
            &number,
        ];
        self.call(&[&given[..], more].concat())
    }

    /// Marks what is out of date.
    pub fn stale(&self) -> Result<Ended> {
        self.call(&["--stale"])
    }

    pub fn approve(&self, user: &User, number: u64) -> Result<()> {
        let head = self.ask(&self.ada, "GET", &format!("ada/infra/pulls/{number}"), &Value::Null)?;
        let review = json!({ "event": "APPROVED", "body": "good", "commit_id": head["head"]["sha"] });
        self.ask(user, "POST", &format!("ada/infra/pulls/{number}/reviews"), &review).map(drop)
    }

    pub fn comment(&self, user: &User, number: u64, text: &str) -> Result<()> {
        self.ask(user, "POST", &format!("ada/infra/issues/{number}/comments"), &json!({ "body": text }))
            .map(drop)
    }

    /// The comments: their ids and texts.
    pub fn comments(&self, number: u64) -> Result<Vec<(u64, String)>> {
        let found =
            self.ask(&self.ada, "GET", &format!("ada/infra/issues/{number}/comments"), &Value::Null)?;
        let found = found.as_array().context("comments")?.iter();
        let comment = |comment: &Value| {
            (
                comment["id"].as_u64().unwrap_or_default(),
                comment["body"].as_str().unwrap_or_default().to_owned(),
            )
        };
        Ok(found.map(comment).collect())
    }

    /// The current status of a name: its state and its sentence.
    pub fn status(&self, number: u64, context: &str) -> Result<(String, String)> {
        let head = self.ask(&self.ada, "GET", &format!("ada/infra/pulls/{number}"), &Value::Null)?;
        let head = head["head"]["sha"].as_str().context("a head")?.to_owned();
        let path = format!("ada/infra/commits/{head}/status");
        let found = self.ask(&self.ada, "GET", &path, &Value::Null)?;
        let found = found["statuses"].as_array().cloned().unwrap_or_default();
        let of = found.iter().find(|status| status["context"] == context);
        let of = of.with_context(|| format!("no status {context} in {found:?}"))?;
        let text = |field: &str| of[field].as_str().unwrap_or_default().to_owned();
        Ok((text("status"), text("description")))
    }

    /// The environment of a recipe's script.
    pub fn environment(&self) -> Result<Vec<(&'static str, String)>> {
        Ok(vec![
            ("FORGE", gitea()?.url()),
            ("REPOSITORY", self.repository.clone()),
            ("TOKEN", self.bot.token.clone()),
            ("BOT", self.bot.name.clone()),
        ])
    }
}
