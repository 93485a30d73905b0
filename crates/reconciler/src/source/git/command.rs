//! Calls of `git` that run nothing of the repository and nothing of the user's settings.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use slipway_limits::{Size, file, size, text};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};

use crate::configuration::Git;
use crate::error::Error;

/// The size of one block of `ulimit -f`, by POSIX.
const BLOCK: u64 = 512;

/// How git is called for one repository.
#[derive(Debug)]
pub(super) struct Caller {
    settings: Git,
    repository: PathBuf,
    home: PathBuf,
}

/// The arguments of a call.
#[derive(Debug)]
pub(super) struct Call {
    arguments: Vec<String>,
    is_remote: bool,
    limit: Size,
}

/// How a call ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub code: Option<i32>,
    pub output: String,
    pub errors: String,
}

impl Call {
    /// A call that uses the local repository only.
    pub fn local<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let arguments = arguments.into_iter().map(str::to_owned).collect();
        Self { arguments, is_remote: false, limit: size::CONFIGURATION }
    }

    /// A call that connects to the server, with the credentials of the source.
    pub fn remote<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        Self { is_remote: true, ..Self::local(arguments) }
    }

    /// The same with a larger output.
    pub fn limit(self, limit: Size) -> Self {
        Self { limit, ..self }
    }
}

impl Caller {
    pub fn new(settings: &Git, folder: &Path) -> Self {
        let (repository, home) = (folder.join("repository"), folder.join("home"));
        Self { settings: settings.clone(), repository, home }
    }

    pub fn repository(&self) -> &Path {
        &self.repository
    }

    /// The output of a call that has to succeed.
    pub async fn text(&self, call: Call) -> Result<String, Error> {
        self.successful(self.run(call).await?)
    }

    /// The output of a call that ended, if it succeeded.
    pub fn successful(&self, ended: Ended) -> Result<String, Error> {
        if ended.code == Some(0) {
            return Ok(ended.output);
        }
        let reason = match ended.errors.trim() {
            "" => "git failed".to_owned(),
            text => text.to_owned(),
        };
        Err(self.unavailable(reason))
    }

    /// Runs a call to its end, or until it took too long.
    pub async fn run(&self, call: Call) -> Result<Ended, Error> {
        let mut child = self.start(&call, Stdio::null())?;
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let work = async {
            let (output, errors) =
                tokio::join!(bounded(output, call.limit), bounded(errors, size::CONFIGURATION));
            // A git that says more than allowed is not waited for.
            let Some(output) = output else { return Err(Error::TooLarge { limit: call.limit }) };
            let status = child.wait().await.map_err(|source| Error::NoGit { source })?;
            let errors = text::visible(&errors.unwrap_or_default()).into_owned();
            Ok(Ended { code: status.code(), output, errors })
        };
        match tokio::time::timeout(self.settings.timeout, work).await {
            Ok(ended) => ended,
            // The process ends with its handle.
            Err(_) => Err(self.unavailable(format!("git did not end within {:?}", self.settings.timeout))),
        }
    }

    pub fn timeout(&self) -> Duration {
        self.settings.timeout
    }

    pub fn unavailable(&self, reason: impl Into<String>) -> Error {
        Error::Unavailable { url: self.settings.url.clone(), reason: reason.into() }
    }

    /// Starts a call. The shell limits the size of the files that git may write, and becomes git.
    #[allow(
        clippy::disallowed_methods,
        reason = "git is started with arguments and an environment of this module"
    )]
    pub fn start(&self, call: &Call, input: Stdio) -> Result<Child, Error> {
        let blocks = (size::PACK.bytes / BLOCK).to_string();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "ulimit -f \"$1\" && shift && exec git \"$@\"", "sh", &blocks]);
        command.arg("--git-dir").arg(&self.repository).args(&call.arguments);
        command.env_clear().envs(self.environment(call.is_remote)?);
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command.spawn().map_err(|source| Error::NoGit { source })
    }

    /// The whole environment. Files of the system and of the user are not read; settings of the local repository are git's own.
    fn environment(&self, is_remote: bool) -> Result<Vec<(String, String)>, Error> {
        let home = self.home.display().to_string();
        let gpg = self.settings.signatures.as_ref().and_then(|signatures| signatures.gpg_home.as_ref());
        let mut variables: Vec<(String, String)> = [
            ("HOME", home.as_str()),
            ("XDG_CONFIG_HOME", home.as_str()),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", "/bin/false"),
            ("SSH_ASKPASS", "/bin/false"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_SSH_VARIANT", "ssh"),
            ("LC_ALL", "C"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        variables.push(("GNUPGHOME".into(), gpg.map_or(home, |folder| folder.display().to_string())));
        variables.push(("GIT_SSH_COMMAND".into(), self.ssh()));
        let settings = self.git_settings(is_remote)?;
        variables.push(("GIT_CONFIG_COUNT".into(), settings.len().to_string()));
        for (number, (key, value)) in settings.into_iter().enumerate() {
            variables.push((format!("GIT_CONFIG_KEY_{number}"), key));
            variables.push((format!("GIT_CONFIG_VALUE_{number}"), value));
        }
        Ok(variables)
    }

    fn git_settings(&self, is_remote: bool) -> Result<Vec<(String, String)>, Error> {
        let scheme = self.settings.url.split_once("://").map_or("https", |(scheme, _)| scheme);
        let mut settings: Vec<(String, String)> = [
            ("core.hooksPath", "/dev/null"),
            ("core.attributesFile", "/dev/null"),
            ("core.fsmonitor", "false"),
            ("core.symlinks", "false"),
            ("credential.helper", ""),
            ("fetch.recurseSubmodules", "false"),
            ("submodule.recurse", "false"),
            ("transfer.fsckObjects", "true"),
            ("transfer.bundleURI", "false"),
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
            ("http.followRedirects", "false"),
            ("protocol.version", "2"),
            ("protocol.allow", "never"),
            ("protocol.ext.allow", "never"),
            ("safe.bareRepository", "explicit"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
        if is_remote {
            settings.push((format!("protocol.{scheme}.allow"), "always".to_owned()));
        }
        if let Some(file) = &self.settings.ca_file {
            settings.push(("http.sslCAInfo".into(), file.display().to_string()));
        }
        if let Some(signers) =
            self.settings.signatures.as_ref().and_then(|signed| signed.allowed_signers.as_ref())
        {
            settings.push(("gpg.ssh.allowedSignersFile".into(), signers.display().to_string()));
        }
        if let Some(path) = self.settings.token_file.as_ref().filter(|_| is_remote) {
            settings.push((format!("http.{}.extraHeader", self.settings.url), self.authorization(path)?));
        }
        Ok(settings)
    }

    /// The header with the token. It is in the environment of git, which only the same user can read, and in no argument.
    #[allow(clippy::disallowed_methods, reason = "the operator names the file")]
    fn authorization(&self, path: &Path) -> Result<String, Error> {
        let token = file::read_text(path, size::KEY_FILE).map_err(|source| Error::File {
            what: "the token",
            path: path.to_owned(),
            source,
        })?;
        let user = self.settings.username.as_deref().unwrap_or("git");
        Ok(format!("Authorization: Basic {}", STANDARD.encode(format!("{user}:{}", token.trim()))))
    }

    /// The command of ssh, for the shell that git runs it with: pinned keys of the server, one key, nothing of the user's.
    fn ssh(&self) -> String {
        let quoted = |path: &Option<PathBuf>| {
            let path = path.as_deref().unwrap_or(Path::new("/dev/null")).display().to_string();
            format!("'{}'", path.replace('\'', "'\\''"))
        };
        format!(
            "ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=yes -o GlobalKnownHostsFile=/dev/null \
             -o UpdateHostKeys=no -o IdentitiesOnly=yes -o IdentityAgent=none -o PasswordAuthentication=no \
             -o ConnectTimeout=20 -o UserKnownHostsFile={} -i {}",
            quoted(&self.settings.known_hosts),
            quoted(&self.settings.identity_file)
        )
    }
}

/// The text of a stream; `None` when it is longer than allowed.
async fn bounded(stream: Option<impl AsyncRead + Unpin>, limit: Size) -> Option<String> {
    let mut bytes = Vec::new();
    let stream = stream?;
    let read = stream.take(limit.bytes.saturating_add(1)).read_to_end(&mut bytes).await;
    if read.is_err() || bytes.len() as u64 > limit.bytes {
        return None;
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
