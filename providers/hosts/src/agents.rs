//! The agents of hosts: one connection for each, opened when it is needed, and kept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use slipway_bootstrap::preflight::Questions;
use slipway_cluster_input::Host;
use slipway_protocol::{Client, Deadlines, Life, Tunnel};
use slipway_provider_node::machine_facts;
use slipway_resource::provider::SessionRequest;
use slipway_resource::{Digest, Provider as _, ProviderError, Session};
use tokio::sync::{Mutex, OnceCell};

use crate::config::Config;
use crate::error::{invalid, permanent, transient};
use crate::facts::{self, Seen};
use crate::preflight;
use crate::remote::{Failure, Ssh};

/// The folder of the agent on a host.
const FOLDER: &str = "/var/lib/slipway/bin";

/// How long the agent's executable may take on its way.
const TRANSFER: Duration = Duration::from_secs(600);

/// How long the host may take to tell the digest of its program.
const SAID: Duration = Duration::from_secs(5);

/// How long a host counts as unreachable after a failed connection. Calls in this time fail at once.
const UNREACHED: Duration = Duration::from_secs(15);

/// The exit code of a host without an agent.
const NO_AGENT: i32 = 127;

/// The agent of one host, when it is connected.
type Slot = Mutex<Option<Arc<Agent>>>;

/// The agents of all hosts of a session.
pub(crate) struct Agents {
    config: Arc<Config>,
    slots: BTreeMap<String, Slot>,
    /// Hosts that could not be reached, with when and why.
    unreached: std::sync::Mutex<BTreeMap<String, (Instant, ProviderError)>>,
    /// The digest of the executable that hosts get.
    digest: OnceCell<String>,
}

/// A connection with the agent of one host.
pub(crate) struct Agent {
    /// The session on that host.
    pub session: Arc<dyn Session>,
    /// The digest of its executable, as it was sent; `None` for an agent that the operator runs.
    pub sha256: Option<String>,
    tunnel: Option<Tunnel>,
}

impl Agent {
    fn is_alive(&self) -> bool {
        self.tunnel.as_ref().is_none_or(|tunnel| tunnel.life().ended().is_none())
    }
}

impl Agents {
    pub fn new(config: Arc<Config>) -> Self {
        let slots = config.hosts.iter().map(|host| (host.name.clone(), Mutex::default())).collect();
        Self { config, slots, unreached: std::sync::Mutex::default(), digest: OnceCell::new() }
    }

    /// The agent of a host; `None` when it has none.
    ///
    /// # Errors
    /// When the host cannot be reached, or its agent does not answer.
    pub async fn of(&self, name: &str) -> Result<Option<Arc<Agent>>, ProviderError> {
        let (host, slot) = self.host(name)?;
        if host.lost {
            // Slipway does not connect to a lost host: its objects do not exist any more.
            return Ok(None);
        }
        // Other calls that need this agent wait for this connection instead of opening another one.
        let mut slot = slot.lock().await;
        if let Some(agent) = slot.as_ref().filter(|agent| agent.is_alive()) {
            return Ok(Some(Arc::clone(agent)));
        }
        if let Some(error) = self.known_unreached(name) {
            return Err(error);
        }
        *slot = self.noted(name, self.connect(host).await)?.map(Arc::new);
        Ok(slot.clone())
    }

    /// Why a host could not be reached a moment ago.
    fn known_unreached(&self, name: &str) -> Option<ProviderError> {
        let mut unreached = self.unreached.lock().ok()?;
        unreached.retain(|_, (when, _)| when.elapsed() < UNREACHED);
        unreached.get(name).map(|(_, error)| error.clone())
    }

    /// Notes that a host could not be reached.
    fn noted<T>(&self, name: &str, done: Result<T, ProviderError>) -> Result<T, ProviderError> {
        if let (Err(error), Ok(mut unreached)) = (&done, self.unreached.lock())
            && error.class.is_retryable()
        {
            unreached.insert(name.to_owned(), (Instant::now(), error.clone()));
        }
        done
    }

    /// The agent of a host, if it is connected now.
    pub async fn connected(&self, name: &str) -> Option<Arc<Agent>> {
        self.slots.get(name)?.lock().await.clone()
    }

    /// The agent of a host that must have one.
    pub async fn needed(&self, name: &str) -> Result<Arc<Agent>, ProviderError> {
        let missing = || transient(format!("the host {name} has no agent"));
        self.of(name).await?.ok_or_else(missing)
    }

    /// An agent for reading: the host's agent, or a temporary one that leaves no file behind.
    pub async fn to_look(&self, name: &str) -> Result<Arc<Agent>, ProviderError> {
        if let Some(agent) = self.of(name).await? {
            return Ok(agent);
        }
        let (host, slot) = self.host(name)?;
        let nobody = || transient(format!("the host {name} has no agent"));
        let ssh = Ssh::to(host, &self.config)?.ok_or_else(nobody)?;
        let mut slot = slot.lock().await;
        // The folder must allow the execution of programs.
        let script = r#"umask 077
for folder in /run /tmp /var/tmp; do
  file=$(mktemp "$folder/slipway.XXXXXX") || continue
  printf '#!/bin/sh\nexit 0\n' > "$file" && chmod 700 "$file"
  if "$file" 2>/dev/null; then cat > "$file" && printf '%s' "$file" && exit 0; fi
  rm -f "$file"
done
echo "no folder takes a program" >&2
exit 3"#;
        let executable = self.executable()?;
        let sent = ssh.send(script, &executable, TRANSFER).await;
        let file = sent.map_err(|failure| failure.into_error(name, "take an agent to look"))?;
        let script = format!(
            r#"exec 9<"{file}" && rm -f "{file}" && exec /proc/self/fd/9 node serve --stdio"#,
            file = file.trim()
        );
        let tunnel = Tunnel::open(ssh.command(&script).await?, name, Deadlines::default()).await;
        let tunnel = tunnel.map_err(|failed| {
            let words = failed.words.join("; ");
            transient(format!("the agent of {name} does not answer: {words}"))
        })?;
        let session = self.session(tunnel.client()).await?;
        let agent = Arc::new(Agent { session, sha256: None, tunnel: Some(tunnel) });
        *slot = Some(Arc::clone(&agent));
        Ok(agent)
    }

    /// The facts of a host before it has an agent.
    pub async fn look(&self, name: &str) -> Result<Seen, ProviderError> {
        let (host, _) = self.host(name)?;
        let Some(ssh) = Ssh::to(host, &self.config)? else {
            let Some(agent) = self.of(name).await? else { return Ok(facts::of_unseen(host, &self.config)) };
            let catalog = agent.session.catalog().await?;
            return Ok(match catalog.data.get(machine_facts::KEY).and_then(serde_json::Value::as_str) {
                Some(printed) => facts::read(printed, host, &self.config),
                // An agent for another root reports no facts of the machine.
                None => facts::of_unseen(host, &self.config),
            });
        };
        if let Some(error) = self.known_unreached(name) {
            return Err(error);
        }
        let printed = ssh.run(&machine_facts::script()).await;
        let printed =
            self.noted(name, printed.map_err(|failure| failure.into_error(name, "tell about itself")))?;
        Ok(facts::read(&printed, host, &self.config))
    }

    /// Reads the facts for the preflight checks of a host; `None` for a host that is reached only through its
    /// agent.
    pub async fn read_before(
        &self,
        name: &str,
        questions: &Questions,
    ) -> Result<Option<preflight::Read>, ProviderError> {
        let (host, _) = self.host(name)?;
        let Some(ssh) = Ssh::to(host, &self.config)? else { return Ok(None) };
        if let Some(error) = self.known_unreached(name) {
            return Err(error);
        }
        let begin = Timestamp::now().as_second();
        let printed = ssh.run(&preflight::script(questions, &self.config.root)).await;
        let printed =
            self.noted(name, printed.map_err(|failure| failure.into_error(name, "be looked at")))?;
        // The host told its time somewhere between.
        let now = begin.midpoint(Timestamp::now().as_second());
        Ok(Some(preflight::read(&printed, questions, &self.config.root, now)))
    }

    /// Reads which images a host has or can pull; `None` for a host that is reached only through its agent.
    pub async fn read_images(
        &self,
        name: &str,
        questions: &Questions,
    ) -> Result<Option<preflight::Read>, ProviderError> {
        let (host, _) = self.host(name)?;
        let Some(ssh) = Ssh::to(host, &self.config)? else { return Ok(None) };
        let printed = ssh.run(&preflight::of_images(questions)).await;
        let printed =
            self.noted(name, printed.map_err(|failure| failure.into_error(name, "tell its images")))?;
        Ok(Some(preflight::read(&printed, questions, &self.config.root, 0)))
    }

    /// The cluster whose node a host is, as its owner file says: the unique id and the name.
    pub async fn owner(&self, name: &str) -> Result<Option<(String, String)>, ProviderError> {
        let (host, _) = self.host(name)?;
        let Some(ssh) = Ssh::to(host, &self.config)? else { return Ok(None) };
        let file = format!("{}/var/lib/slipway/owner", self.config.root.trim_end_matches('/'));
        let printed = ssh.run(&format!("if [ -e {file} ]; then cat {file}; fi")).await;
        let printed = printed.map_err(|failure| failure.into_error(name, "tell whose node it is"))?;
        if printed.trim().is_empty() {
            return Ok(None);
        }
        let owner: serde_json::Value = serde_json::from_str(&printed)
            .map_err(|error| permanent(format!("{name}: {file} does not say whose node it is: {error}")))?;
        let text = |field: &str| owner.get(field).and_then(serde_json::Value::as_str).map(ToOwned::to_owned);
        Ok(text("uid").zip(text("cluster")))
    }

    /// Installs the agent on a host, unless it is installed. Returns the digest of its executable.
    pub async fn install(&self, name: &str) -> Result<Option<String>, ProviderError> {
        let (host, slot) = self.host(name)?;
        let Some(ssh) = Ssh::to(host, &self.config)? else {
            // The operator runs this agent; it only has to answer.
            self.needed(name).await?;
            return Ok(None);
        };
        let digest = self.digest().await?;
        let mut slot = slot.lock().await;
        // The old agent ends before it is replaced.
        *slot = None;
        let script = format!(
            r#"set -e
umask 022
mkdir -p {FOLDER}
chmod 700 /var/lib/slipway
cat > {FOLDER}/.slipway.new
set -- $(sha256sum {FOLDER}/.slipway.new)
if [ "$1" != {digest} ]; then rm -f {FOLDER}/.slipway.new; echo "what arrived has the digest $1, not {digest}" >&2; exit 3; fi
chmod 755 {FOLDER}/.slipway.new
mv -f {FOLDER}/.slipway.new {FOLDER}/slipway
printf '%s\n' {digest} > {FOLDER}/.slipway.sha256
mv -f {FOLDER}/.slipway.sha256 {FOLDER}/slipway.sha256"#
        );
        let executable = self.executable()?;
        ssh.send(&script, &executable, TRANSFER)
            .await
            .map_err(|failure| failure.into_error(name, "take its agent"))?;
        *slot = self.connect(host).await?.map(Arc::new);
        if slot.is_none() {
            return Err(permanent(format!("the agent of {name} does not start")));
        }
        Ok(Some(digest))
    }

    /// Removes the agent and its own files from a host.
    pub async fn remove(&self, name: &str) -> Result<(), ProviderError> {
        let (host, slot) = self.host(name)?;
        if host.lost {
            return Ok(());
        }
        let mut slot = slot.lock().await;
        *slot = None;
        let Some(ssh) = Ssh::to(host, &self.config)? else { return Ok(()) };
        let script = giving_back(self.config.root.trim_end_matches('/'));
        ssh.run(&script).await.map(drop).map_err(|failure| failure.into_error(name, "let its agent go"))
    }

    /// The digest of the executable that hosts get, as hexadecimal digits.
    pub async fn digest(&self) -> Result<String, ProviderError> {
        let digest = self.digest.get_or_try_init(|| async {
            let executable = self.executable()?;
            let bytes = tokio::fs::read(&executable)
                .await
                .map_err(|error| invalid(format!("{} cannot be read: {error}", executable.display())))?;
            let digest = Digest::of_bytes(&bytes);
            Ok(digest.hex().to_owned())
        });
        digest.await.cloned()
    }

    /// The executable that hosts get: this program's, or the one beside it.
    fn executable(&self) -> Result<PathBuf, ProviderError> {
        if let Some(named) = &self.config.agent_executable {
            return Ok(named.clone());
        }
        let own = std::env::current_exe()
            .map_err(|error| permanent(format!("there is no executable to send: {error}")))?;
        let is_program = |path: &Path| path.file_name().is_some_and(|name| name == "slipway");
        let beside = own.with_file_name("slipway");
        if is_program(&own) || !beside.is_file() { Ok(own) } else { Ok(beside) }
    }

    fn host(&self, name: &str) -> Result<(&Host, &Slot), ProviderError> {
        self.config.host(name).zip(self.slots.get(name)).ok_or_else(|| {
            invalid(format!("the host {name} is described nowhere"))
                .with_hint("add its Host document again, at least until it has been given back")
        })
    }

    async fn connect(&self, host: &Host) -> Result<Option<Agent>, ProviderError> {
        let deadlines = Deadlines::default();
        if let Some(agent) = &host.agent {
            let socket = Path::new(&agent.socket);
            let client = Client::connect(socket, Life::unattended(&host.name), deadlines).await?;
            let session = self.session(&client).await?;
            return Ok(Some(Agent { session, sha256: None, tunnel: None }));
        }
        let Some(ssh) = Ssh::to(host, &self.config)? else { return Ok(None) };
        let script = format!(
            "if [ -x {FOLDER}/slipway ]; then echo \"sha256 $(cat {FOLDER}/slipway.sha256 2>/dev/null)\" >&2; exec {FOLDER}/slipway node serve --stdio; fi; exit {NO_AGENT}"
        );
        let tunnel = match Tunnel::open(ssh.command(&script).await?, &host.name, deadlines).await {
            Ok(tunnel) => tunnel,
            Err(failed) if failed.status == Some(NO_AGENT) => return Ok(None),
            Err(failed) if failed.status == Some(255) => {
                return Err(ssh.refused(&failed.words.join("\n")).await);
            }
            Err(failed) => {
                let words = failed.words.join("; ");
                return Err(transient(format!("the agent of {} does not answer: {words}", host.name)));
            }
        };
        let sha256 = said_digest(&tunnel).await;
        let session = self.session(tunnel.client()).await?;
        Ok(Some(Agent { session, sha256, tunnel: Some(tunnel) }))
    }

    async fn session(&self, client: &Client) -> Result<Arc<dyn Session>, ProviderError> {
        let request = SessionRequest { config: self.config.of_node(), region: None, offline: false };
        client.open_session(request).await
    }
}

/// The digest of the program, which the script prints before it starts the program. Both use different
/// streams, so the program may answer first.
async fn said_digest(tunnel: &Tunnel) -> Option<String> {
    let begin = Instant::now();
    loop {
        let words = tunnel.life().last_words();
        let said = words.iter().find_map(|line| line.strip_prefix("sha256"));
        if said.is_some() || begin.elapsed() > SAID {
            return said.map(|digest| digest.trim().to_owned()).filter(|digest| !digest.is_empty());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Converts a failure where the name of the host is not known.
impl From<Failure> for ProviderError {
    fn from(failure: Failure) -> Self {
        failure.into_error("the host", "do what it was asked")
    }
}

/// The script that removes Slipway's own files from a host, whose files are below a root.
///
/// All objects on the host were deleted, or were gone before their deletion: then the ledger still has
/// records of them. Folders that were made for the objects' files are removed when they are empty. Other
/// contents of Slipway's folder are not removed: a folder that is not empty stays.
fn giving_back(root: &str) -> String {
    format!(
        r#"rm -rf {FOLDER}
cd {root}/var/lib/slipway 2>/dev/null || exit 0
for record in folders/*; do if [ -f "$record" ]; then cat "$record"; echo; fi; done | LC_ALL=C sort -r |
  while IFS= read -r path; do case "$path" in /*) rmdir -- "{root}$path" 2>/dev/null ;; esac; done
rm -f folders/* owned/*.json owner
rmdir folders owned draft supervised run replaced 2>/dev/null
cd / && rmdir {root}/var/lib/slipway 2>/dev/null
true"#
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_given_back_has_no_records_of_folders_and_no_empty_ones() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let own = root.join("var/lib/slipway");
        for path in ["folders", "owned", "draft"] {
            fs::create_dir_all(own.join(path)).unwrap();
        }
        let made =
            ["/etc/kubernetes", "/etc/kubernetes/pki", "/etc/kubernetes/pki/etcd", "/var/log/kubernetes"];
        for (number, path) in made.iter().enumerate() {
            fs::create_dir_all(root.join(&path[1..])).unwrap();
            fs::write(own.join(format!("folders/{number}")), path).unwrap();
        }
        fs::write(own.join("folders/gone"), "/var/lib/gone").unwrap();
        fs::write(own.join("owned/file-a.json"), "{}").unwrap();
        fs::write(own.join("owner"), "{}").unwrap();
        fs::write(root.join("var/log/kubernetes/notes.txt"), "of somebody else").unwrap();
        let script =
            giving_back(&root.display().to_string()).replace(FOLDER, &own.join("bin").display().to_string());
        assert!(std::process::Command::new("sh").args(["-c", &script]).status().unwrap().success());
        assert!(!own.exists() && !root.join("etc/kubernetes").exists());
        assert_eq!(
            fs::read_to_string(root.join("var/log/kubernetes/notes.txt")).unwrap(),
            "of somebody else"
        );
        // Where nothing is, nothing is to be done.
        assert!(std::process::Command::new("sh").args(["-c", &script]).status().unwrap().success());
    }
}
