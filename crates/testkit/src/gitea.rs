//! Gitea: a forge with Git repositories, pull requests, reviews, statuses and webhooks, on a loopback port.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::go::{self, Programs};
use crate::process::Process;
use crate::scratch::Scratch;
use crate::{cache, http, port, wait};

/// The module that is built. Newer versions need modules that have no version at the module proxy.
const MODULE: &str = "code.gitea.io/gitea";
/// Its version.
const VERSION: &str = "1.26.0";

/// The password of every user.
const PASSWORD: &str = "a password for a test";

/// The replacements that the module's own `go.mod` has, as far as the program needs them.
const REPLACEMENTS: [(&str, &str); 4] = [
    ("github.com/jaytaylor/html2text", "github.com/Necoro/html2text v0.0.0-20250804200300-7bf1ce1c7347"),
    ("github.com/nektos/act", "gitea.com/gitea/act v0.261.10"),
    ("github.com/urfave/cli/v3", "github.com/urfave/cli/v3 v3.4.1"),
    ("go.yaml.in/yaml/v4", "go.yaml.in/yaml/v4 v4.0.0-rc.3"),
];

/// A running Gitea without pages for a browser. It ends with the value, and its data with it.
#[derive(Debug)]
pub struct Gitea {
    // Fields are dropped in this order: the process ends before its folder is removed.
    process: Process,
    port: u16,
    _scratch: Scratch,
}

/// A user of it.
#[derive(Clone, Debug)]
pub struct User {
    /// The login.
    pub name: String,
    /// A token with all rights of the user.
    pub token: String,
}

impl Gitea {
    /// Builds it if need be, and returns the folder with `gitea` and its templates.
    ///
    /// # Errors
    /// When there is no Go or no C compiler, or it cannot be built.
    pub fn install() -> Result<PathBuf> {
        cache::installed("gitea", VERSION, |folder| {
            let module = go::fetch(MODULE, &format!("v{VERSION}"))?.folder;
            for part in ["options", "public", "templates"] {
                cache::run(Command::new("cp").arg("-r").arg(module.join(part)).arg(folder))?;
            }
            cache::run(Command::new("chmod").args(["-R", "u+w"]).arg(folder))?;
            let programs = Programs {
                modules: vec![(MODULE.to_owned(), format!("v{VERSION}"))],
                replacements: REPLACEMENTS.map(|(of, by)| (of.to_owned(), by.to_owned())).to_vec(),
                packages: vec![(MODULE.to_owned(), "gitea".to_owned())],
                linker_flags: format!("-X main.Version={VERSION}"),
                tags: "sqlite sqlite_unlock_notify".to_owned(),
                with_c: true,
                ..Programs::default()
            };
            programs.build(folder)
        })
    }

    /// Starts one on a free port.
    ///
    /// # Errors
    /// When it cannot be installed or started.
    pub fn start() -> Result<Self> {
        let installed = Self::install()?;
        let scratch = Scratch::new("gitea")?;
        let [port] = port::free()?;
        let (folder, program) = (scratch.path(), installed.join("gitea"));
        let configuration = folder.join("app.ini");
        fs::write(&configuration, settings(folder, &installed, port))?;
        let command = |arguments: &[&str]| {
            let mut command = Command::new(&program);
            // Nothing of the caller's own settings of Git.
            command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
            command.env("HOME", folder).env("GITEA_WORK_DIR", folder).current_dir(folder);
            command.args(arguments).arg("--config").arg(&configuration);
            command
        };
        cache::run(&mut command(&["migrate"]))?;
        let admin = ["admin", "user", "create", "--admin", "--must-change-password=false"];
        let names = ["--username", "root1", "--email", "root1@example.invalid", "--password", PASSWORD];
        cache::run(&mut command(&[&admin[..], &names[..]].concat()))?;
        let process = Process::start(&command(&["web"]), &folder.join("log"))?;
        let started = Self { process, port, _scratch: scratch };
        wait::until("Gitea answers", || {
            started.process.running()?;
            let answer = http::request("GET", port, "/api/v1/version", &[], b"");
            Ok(answer.is_ok_and(|answer| answer.status == 200).then_some(()))
        })?;
        Ok(started)
    }

    /// The address of its site.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Makes a user.
    ///
    /// # Errors
    /// When it refuses.
    pub fn user(&self, name: &str) -> Result<User> {
        let account = json!({
            "username": name,
            "email": format!("{name}@example.invalid"),
            "password": PASSWORD,
            "must_change_password": false,
        });
        self.call(&basic("root1"), "POST", "/admin/users", &account)?;
        let token = json!({ "name": "test", "scopes": ["all"] });
        let made = self.call(&basic(name), "POST", &format!("/users/{name}/tokens"), &token)?;
        let token = made["sha1"].as_str().context("a token")?.to_owned();
        Ok(User { name: name.to_owned(), token })
    }

    /// The address of a repository for `git push` by a user.
    #[must_use]
    pub fn repository(&self, user: &User, repository: &str) -> String {
        format!("http://{}:{}@127.0.0.1:{}/{repository}.git", user.name, user.token, self.port)
    }

    /// Calls its API as a user: a path below `/api/v1`, with a JSON document unless it is null.
    ///
    /// # Errors
    /// When it refuses, with its answer.
    pub fn ask(&self, user: &User, method: &str, path: &str, body: &Value) -> Result<Value> {
        self.call(&format!("token {}", user.token), method, path, body)
    }

    fn call(&self, credentials: &str, method: &str, path: &str, body: &Value) -> Result<Value> {
        let headers = [("Authorization", credentials), ("Content-Type", "application/json")];
        let body = if body.is_null() { Vec::new() } else { serde_json::to_vec(body)? };
        let answer = http::request(method, self.port, &format!("/api/v1{path}"), &headers, &body)?;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        if !(200..300).contains(&answer.status) {
            bail!("{method} {path}: {}: {text}\n{}", answer.status, self.process.log());
        }
        ensure!(answer.header("transfer-encoding").is_none(), "HTTP/1.0 has no chunks");
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }
}

fn basic(name: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{name}:{PASSWORD}")))
}

/// Everything in one folder, on a loopback port, and webhooks to loopback ports only.
fn settings(folder: &Path, installed: &Path, port: u16) -> String {
    let (folder, installed) = (folder.display(), installed.display());
    format!(
        "APP_NAME = test\nRUN_MODE = prod\nI_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true\nWORK_PATH = {folder}\n\
         [server]\nPROTOCOL = http\nHTTP_ADDR = 127.0.0.1\nHTTP_PORT = {port}\nROOT_URL = http://127.0.0.1:{port}/\n\
         STATIC_ROOT_PATH = {installed}\nAPP_DATA_PATH = {folder}/data\nDISABLE_SSH = true\nOFFLINE_MODE = true\n\
         LFS_START_SERVER = false\n\
         [database]\nDB_TYPE = sqlite3\nPATH = {folder}/gitea.db\nSQLITE_JOURNAL_MODE = MEMORY\n\
         [repository]\nROOT = {folder}/repositories\nDEFAULT_BRANCH = main\n\
         [security]\nINSTALL_LOCK = true\nSECRET_KEY = only-for-a-test\nPASSWORD_HASH_ALGO = pbkdf2$1000$50\n\
         MIN_PASSWORD_LENGTH = 8\n\
         [service]\nDISABLE_REGISTRATION = true\n\
         [webhook]\nALLOWED_HOST_LIST = loopback\n\
         [log]\nMODE = console\nLEVEL = Warn\n\
         [session]\nPROVIDER = memory\n[cache]\nADAPTER = memory\n[queue]\nTYPE = channel\n\
         [indexer]\nISSUE_INDEXER_TYPE = db\n[actions]\nENABLED = false\n[packages]\nENABLED = false\n\
         [oauth2]\nENABLED = false\n[mailer]\nENABLED = false\n[cron]\nENABLED = false\n"
    )
}
