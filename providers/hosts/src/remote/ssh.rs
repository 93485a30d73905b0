//! The OpenSSH client, with pinned host keys and nothing else that would let a host in.

use std::net::IpAddr;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use slipway_cluster_input::{Host, HostSsh, ssh_client};
use slipway_limits::{Exceeded, size};
use slipway_resource::{ErrorClass, ProviderError};
use slipway_trust::Reach;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

use super::fingerprint::{self, Shown};
use crate::config::Config;
use crate::error::{about_host, invalid, permanent, transient};

/// How many bytes of output are read at once while a script is followed.
const PART: usize = 64 * 1024;
/// How long a command may take that only looks.
const LOOKING: Duration = Duration::from_secs(60);

/// One host behind SSH.
#[derive(Debug)]
pub(crate) struct Ssh {
    name: String,
    access: HostSsh,
    address: String,
    /// Where the host of a name may be.
    reach: Reach,
    timeout_seconds: u32,
    /// The key file, as the client reads options.
    identity: Option<String>,
    /// The file with the pinned keys, as the client reads options.
    known_option: String,
    /// The folder of that file; it is removed with this value.
    _known: TempDir,
}

/// Why a command on a host failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The host cannot be reached.
    Unreachable(ProviderError),
    /// The command ended with this code, and these words.
    Ended(i32, String),
}

impl From<ProviderError> for Failure {
    fn from(error: ProviderError) -> Self {
        Self::Unreachable(error)
    }
}

impl Failure {
    /// The failure as a provider tells it.
    pub fn into_error(self, host: &str, what: &str) -> ProviderError {
        match self {
            Self::Unreachable(error) => error,
            Self::Ended(code, words) => permanent(format!("{host} cannot {what} (exit {code}): {words}")),
        }
    }
}

impl Ssh {
    /// The SSH access of a host; `None` for one that has an agent already.
    pub fn to(host: &Host, config: &Config) -> Result<Option<Self>, ProviderError> {
        let Some(access) = &host.ssh else { return Ok(None) };
        let address = access.address.clone().or_else(|| Some(host.addresses.first()?.address.to_string()));
        let address = address.ok_or_else(|| {
            invalid(format!("the host {} has no address to enter by", host.name))
                .with_field(format!("hosts[{}].addresses", host.name))
        })?;
        // Settings may come from a state too, where no spec was checked.
        let bad = |what: &str, fault: &str| {
            about_host(invalid(format!("the host {}: the {what} {fault}", host.name)), &host.name)
        };
        if let Some(fault) = ssh_client::user_fault(&access.user) {
            return Err(bad("user", fault));
        }
        if let Some(fault) = ssh_client::address_fault(&address) {
            return Err(bad("address", fault));
        }
        let option = |what: &str, path: &str| ssh_client::file_option(path).map_err(|fault| bad(what, fault));
        let identity = access.identity_file.as_deref().map(|file| option("key file", file)).transpose()?;
        let known = tempfile::Builder::new()
            .prefix("slipway-hosts-")
            .tempdir()
            .map_err(|error| permanent(format!("there is no place for the keys of hosts: {error}")))?;
        let lines: String = access.host_keys.iter().map(|key| format!("{} {key}\n", host.name)).collect();
        std::fs::write(known.path().join(KNOWN), lines)
            .map_err(|error| permanent(format!("the keys of hosts cannot be written: {error}")))?;
        let known_option = option("file of host keys", &known.path().join(KNOWN).display().to_string())?;
        Ok(Some(Self {
            name: host.name.clone(),
            access: access.clone(),
            reach: Reach::host(&address, &config.networks),
            address,
            timeout_seconds: config.connect_timeout_seconds,
            identity,
            known_option,
            _known: known,
        }))
    }

    /// The client, about to run a script on the host as root.
    ///
    /// # Errors
    /// When the host's name cannot be resolved, or leads to where no host may be.
    pub async fn command(&self, script: &str) -> Result<Command, ProviderError> {
        let place = self.place().await?;
        let mut command = Command::new("ssh");
        let mut option = |text: String| {
            command.arg("-o").arg(text);
        };
        option("BatchMode=yes".to_owned());
        option("StrictHostKeyChecking=yes".to_owned());
        option(format!("UserKnownHostsFile={}", self.known_option));
        option("GlobalKnownHostsFile=/dev/null".to_owned());
        option(format!("HostKeyAlias={}", self.name));
        option("UpdateHostKeys=no".to_owned());
        option(format!("ConnectTimeout={}", self.timeout_seconds));
        option("ServerAliveInterval=15".to_owned());
        option("ServerAliveCountMax=4".to_owned());
        option("LogLevel=ERROR".to_owned());
        // The user's settings may let hosts use keys and displays; a host of a spec gets neither.
        option("ForwardAgent=no".to_owned());
        option("ForwardX11=no".to_owned());
        option("ClearAllForwardings=yes".to_owned());
        option("PermitLocalCommand=no".to_owned());
        if let Some(place) = place {
            option(format!("HostName={place}"));
        }
        if let Some(identity) = &self.identity {
            option(format!("IdentityFile={identity}"));
            option("IdentitiesOnly=yes".to_owned());
        }
        let shell = if self.access.user == "root" { "sh" } else { "sudo -n sh" };
        command.arg("-T").arg("-p").arg(self.access.port.to_string()).arg("-l").arg(&self.access.user);
        command.arg("--").arg(&self.address).arg(format!("exec {shell} -c {}", quoted(script)));
        Ok(command)
    }

    /// The address that the client connects to; none where the address is given as such, or where the user's own SSH
    /// configuration says where the host is.
    async fn place(&self) -> Result<Option<IpAddr>, ProviderError> {
        if self.address.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() || self.is_configured().await {
            return Ok(None);
        }
        let patience = Duration::from_secs(self.timeout_seconds.into());
        match self.reach.address(&self.address, self.access.port, patience).await {
            Ok(address) => Ok(Some(address)),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                let class = ErrorClass::Permission { action: "enter the host".to_owned() };
                Err(ProviderError::new(class, format!("{}: {error}", self.name)).with_hint(
                    "use the host's own address; if it is right, allow it with `--trust host-network=ADDRESS`, or \
                     `host-networks` under [trust] in your configuration",
                ))
            }
            Err(error) => {
                let text = format!("{}: the name {} cannot be resolved: {error}", self.name, self.address);
                Err(transient(text).with_hint(UNREACHED))
            }
        }
    }

    /// Whether the user's SSH configuration has settings for the host's address.
    async fn is_configured(&self) -> bool {
        let mut command = Command::new("ssh");
        command.args([
            "-G",
            "-p",
            &self.access.port.to_string(),
            "-l",
            &self.access.user,
            "--",
            &self.address,
        ]);
        command.stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let Ok(Ok(output)) = tokio::time::timeout(LOOKING, command.output()).await else { return false };
        configures(&String::from_utf8_lossy(&output.stdout), &self.address)
    }

    /// Runs a script that only reads; returns its output.
    pub async fn run(&self, script: &str) -> Result<String, Failure> {
        self.with_input(script, Stdio::null(), LOOKING).await
    }

    /// Runs a script that reads a file.
    pub async fn send(&self, script: &str, file: &Path, patience: Duration) -> Result<String, Failure> {
        let input = std::fs::File::open(file)
            .map_err(|error| permanent(format!("{} cannot be read: {error}", file.display())))?;
        self.with_input(script, input.into(), patience).await
    }

    async fn with_input(&self, script: &str, input: Stdio, patience: Duration) -> Result<String, Failure> {
        let mut command = self.command(script).await?;
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command
            .spawn()
            .map_err(|error| permanent(format!("the SSH client cannot be started: {error}")))?;
        let (mut out, mut errors) = (child.stdout.take(), child.stderr.take());
        let run = async {
            let (mut text, mut words) = (Vec::new(), Vec::new());
            let printed = async {
                match &mut out {
                    Some(out) => bounded(out, &mut text).await,
                    None => Ok(()),
                }
            };
            let told = async {
                match &mut errors {
                    Some(errors) => bounded(errors, &mut words).await,
                    None => Ok(()),
                }
            };
            let (printed, told) = tokio::join!(printed, told);
            printed?;
            told?;
            Ok::<_, std::io::Error>((child.wait().await?, text, words))
        };
        let late = || transient(format!("{} did not answer within {} s", self.name, patience.as_secs()));
        let ended = tokio::time::timeout(patience, run).await.map_err(|_| late())?;
        let (status, text, words) = ended.map_err(|error| transient(format!("{}: {error}", self.name)))?;
        if status.success() {
            return Ok(String::from_utf8_lossy(&text).into_owned());
        }
        Err(self.ended(status.code(), &words).await)
    }

    /// Runs a script for as long as it writes and `take` does not break.
    pub async fn follow(
        &self,
        script: &str,
        take: impl FnMut(&str) -> ControlFlow<()>,
    ) -> Result<(), Failure> {
        let mut command = self.command(script).await?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command
            .spawn()
            .map_err(|error| permanent(format!("the SSH client cannot be started: {error}")))?;
        let (mut out, mut errors) = (child.stdout.take(), child.stderr.take());
        let mut words = Vec::new();
        let handed = async {
            let flow = match &mut out {
                Some(out) => hand_on(out, take).await?,
                None => ControlFlow::Continue(()),
            };
            if flow.is_break() {
                child.start_kill()?;
            }
            Ok::<_, std::io::Error>(flow)
        };
        let told = async {
            match &mut errors {
                Some(errors) => bounded(errors, &mut words).await,
                None => Ok(()),
            }
        };
        let failed = |error: std::io::Error| transient(format!("{}: {error}", self.name));
        let (flow, ()) = tokio::try_join!(handed, told).map_err(failed)?;
        let status = child.wait().await.map_err(failed)?;
        if flow.is_break() || status.success() {
            return Ok(());
        }
        Err(self.ended(status.code(), &words).await)
    }

    /// The failure of a script that ended with this code and these words.
    async fn ended(&self, code: Option<i32>, words: &[u8]) -> Failure {
        let words = String::from_utf8_lossy(words).trim().to_owned();
        match code {
            // The client's own failures; a script of ours never ends so.
            Some(255) | None => Failure::Unreachable(self.refused(&words).await),
            Some(code) => Failure::Ended(code, words),
        }
    }

    /// Why the connection failed, by the messages of the SSH client.
    pub async fn refused(&self, words: &str) -> ProviderError {
        let (name, address, port) = (&self.name, &self.address, self.access.port);
        let last = words.lines().last().unwrap_or("the connection ended");
        if words.contains("Host key verification failed") || words.contains("REMOTE HOST IDENTIFICATION") {
            let keys = match self.place().await {
                Ok(place) => {
                    let place = place.map_or_else(|| address.clone(), |place| place.to_string());
                    fingerprint::shown(&place, port).await
                }
                Err(error) => return error,
            };
            let shown: Vec<&str> = keys.iter().map(|shown| shown.fingerprint.as_str()).collect();
            let shown = if shown.is_empty() { "another key".to_owned() } else { shown.join(", ") };
            let pinned: Vec<String> =
                self.access.host_keys.iter().filter_map(|key| fingerprint::of(key)).collect();
            let text = if pinned.is_empty() {
                format!("{name} ({address}:{port}) is refused: its key {shown} is pinned nowhere")
            } else {
                format!(
                    "{name} ({address}:{port}) is refused: it shows {shown}, and what is pinned is {}",
                    pinned.join(", ")
                )
            };
            return ProviderError::new(ErrorClass::Permission { action: "enter the host".to_owned() }, text)
                .with_hint(pinning(&keys));
        }
        if words.contains("Permission denied") {
            let text = format!("{name} ({address}:{port}) lets {} not in: {last}", self.access.user);
            return ProviderError::new(ErrorClass::Permission { action: "enter the host".to_owned() }, text)
                .with_hint("name the key by `identityFile`, or put it into an SSH agent");
        }
        transient(format!("{name} ({address}:{port}) cannot be reached: {last}")).with_hint(UNREACHED)
    }
}

/// Whether a configuration, as `ssh -G` prints it, leads to a host by another name or through another host.
fn configures(printed: &str, address: &str) -> bool {
    let value = |name: &str| {
        let lines = printed.lines().filter_map(|line| line.split_once(' '));
        lines.filter(|(key, _)| *key == name).map(|(_, value)| value.trim()).next()
    };
    let is_set = |name: &str| value(name).is_some_and(|value| value != "none");
    value("hostname").is_some_and(|name| !name.eq_ignore_ascii_case(address))
        || is_set("proxyjump")
        || is_set("proxycommand")
}

/// The hint for a host that cannot be reached. It does not name the host, so that several such hosts have one hint. The step
/// that gives up the node comes last.
const UNREACHED: &str = "start the machine, check that its address and port can be reached from here, correct the address of a machine that has \
     moved, and run the command again; only for a machine that was a node and will never come back: `lost: true` in its Host \
     document removes its node and its member of etcd from the cluster";

/// The hint for host keys that are not pinned. To copy the line without the comparison is to trust any
/// machine that answers.
fn pinning(keys: &[Shown]) -> String {
    let compare =
        "compare it with what the machine itself says (ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub)";
    let is_short = |shown: &&Shown| shown.key.starts_with("ssh-ed25519 ");
    match keys.iter().find(is_short).or(keys.first()) {
        Some(shown) => {
            format!("{compare}; if it is the same, its Host document gets `hostKeys: [\"{}\"]`", shown.key)
        }
        None => format!("{compare}, then put the key into `hostKeys`"),
    }
}

/// The file with the pinned keys.
const KNOWN: &str = "known_hosts";

/// A text as one word of a shell.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Reads the output of a host, up to a limit: the host may have been taken over.
/// Hands on whole lines, or parts of lines that are longer than [`PART`] bytes.
async fn hand_on(
    stream: &mut (impl AsyncRead + Unpin),
    mut take: impl FnMut(&str) -> ControlFlow<()>,
) -> std::io::Result<ControlFlow<()>> {
    let mut buffer = vec![0; PART];
    let mut text = Vec::new();
    loop {
        let count = stream.read(&mut buffer).await?;
        text.extend_from_slice(buffer.get(..count).unwrap_or_default());
        let whole = match text.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => end + 1,
            None if count == 0 || text.len() > PART => text.len(),
            None => 0,
        };
        let rest = text.split_off(whole);
        if !text.is_empty() && take(&String::from_utf8_lossy(&text)).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        text = rest;
        if count == 0 {
            return Ok(ControlFlow::Continue(()));
        }
    }
}

async fn bounded(stream: &mut (impl AsyncRead + Unpin), bytes: &mut Vec<u8>) -> std::io::Result<()> {
    let limit = size::HOST_OUTPUT;
    stream.take(limit.bytes + 1).read_to_end(bytes).await?;
    if bytes.len() as u64 > limit.bytes { Err(Exceeded::TooLarge { limit }.into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::{Shown, pinning};

    #[test]
    fn what_to_pin_is_said_as_it_is_pinned() {
        let shown = |key: &str| Shown { fingerprint: String::new(), key: key.to_owned() };
        let hint = pinning(&[shown("ecdsa-sha2-nistp256 AAAAE"), shown("ssh-ed25519 AAAAC")]);
        assert!(hint.ends_with("gets `hostKeys: [\"ssh-ed25519 AAAAC\"]`"), "{hint}");
        assert!(pinning(&[]).ends_with("into `hostKeys`"));
    }

    #[test]
    fn giving_a_host_up_is_the_last_way_and_said_as_what_it_is() {
        let hint = super::UNREACHED;
        let (safe, last) = hint.split_once("; only for").unwrap();
        assert!(
            safe.contains("can be reached") && safe.contains("again") && !safe.contains("lost"),
            "{hint}"
        );
        assert!(
            last.contains("`lost: true`") && last.contains("removes its node and its member of etcd"),
            "{hint}"
        );
    }

    #[test]
    fn the_user_s_own_configuration_decides_about_a_host_that_it_names() {
        let plain = "host cp-0.test\nuser root\nhostname CP-0.test\nport 22\nproxycommand none\n";
        assert!(!super::configures(plain, "cp-0.test"));
        assert!(super::configures("hostname 10.0.0.7\n", "cp-0.test"));
        assert!(super::configures("hostname cp-0.test\nproxyjump bastion\n", "cp-0.test"));
        assert!(!super::configures("", "cp-0.test"));
    }

    #[test]
    fn a_script_is_one_word() {
        assert_eq!(super::quoted("echo 'a b'"), r"'echo '\''a b'\'''");
    }

    #[tokio::test]
    async fn output_is_handed_on_by_lines_until_nobody_takes_it() {
        let long = "x".repeat(super::PART + 1);
        let output = format!("one\ntwo\n{long}");
        let mut parts = Vec::new();
        let mut bytes = output.as_bytes();
        let flow = super::hand_on(&mut bytes, |part| {
            parts.push(part.to_owned());
            ControlFlow::Continue(())
        });
        assert!(flow.await.unwrap().is_continue());
        assert!(parts[0].starts_with("one\ntwo\n") && parts.concat() == output, "{}", parts.len());
        let flow = super::hand_on(&mut output.as_bytes(), |_| ControlFlow::Break(())).await;
        assert!(flow.unwrap().is_break());
    }
}
