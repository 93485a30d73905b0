//! The program of this process, which runs services of its own on a node.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use slipway_resource::ProviderError;
use tokio::time::Instant;

use crate::error::permanent;
use crate::kind::Work;
use crate::supervise::{self, Definition, Supervisor};

/// How long a service has until it runs.
const STARTS: Duration = Duration::from_secs(10);

/// The line of a unit that names the program, up to its path.
const PROGRAM_LINES: [&str; 2] = ["ExecStart=", "command="];

/// What distinguishes one version of a file from the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    device: u64,
    inode: u64,
    modified: (i64, i64),
}

impl Version {
    /// The version of a file; none when there is none.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        let modified = (found.mtime(), found.mtime_nsec());
        Some(Self { device: found.dev(), inode: found.ino(), modified })
    }
}

/// The program of this process as it was when the process began.
pub(crate) struct OwnProgram {
    path: Option<PathBuf>,
    version: Option<Version>,
}

impl OwnProgram {
    /// The program as it is now.
    pub(crate) fn now() -> Self {
        let path = std::env::current_exe().ok();
        let version = path.as_deref().and_then(Version::of);
        Self { path, version }
    }

    /// Whether another file is in its place since then.
    pub(crate) fn is_replaced(&self) -> bool {
        self.version.is_some() && self.path.as_deref().and_then(Version::of) != self.version
    }
}

/// A service that this program runs, with its settings in a file.
pub(crate) struct OwnService {
    /// The name of the service.
    pub(crate) name: &'static str,
    /// A few words for the init system.
    pub(crate) description: &'static str,
    /// The command below `slipway node`, and of this provider's own executable.
    pub(crate) verb: &'static str,
    /// How long the init system waits before it starts the service again, in seconds.
    pub(crate) restart_seconds: u32,
    /// Further lines of the section `Unit` of a systemd unit.
    pub(crate) unit: &'static str,
    /// Further lines of its section `Service`.
    pub(crate) service: &'static str,
    /// The lines of `depend` in an OpenRC script.
    pub(crate) depend: &'static str,
}

impl OwnService {
    /// The definition for a supervisor: this very program, with the settings in a file.
    ///
    /// # Errors
    /// When the place of this program is not known.
    pub(crate) fn definition(
        &self,
        supervisor: Supervisor,
        settings: &Path,
    ) -> Result<Definition, ProviderError> {
        let program = std::env::current_exe()
            .map_err(|error| permanent(format!("the place of this program is not known: {error}")))?;
        let program = program.to_string_lossy();
        // The name that the kernel adds when the file was replaced meanwhile.
        let program = program.strip_suffix(" (deleted)").unwrap_or(&program);
        let is_slipway = Path::new(program).file_name().is_some_and(|name| name == "slipway");
        let verb = if is_slipway { format!("node {}", self.verb) } else { self.verb.to_owned() };
        let arguments = format!("{verb} --config {}", settings.display());
        let unit = match supervisor {
            Supervisor::Systemd => Some(self.systemd(program, &arguments)),
            Supervisor::OpenRc => Some(self.openrc(program, &arguments)),
            Supervisor::Own => None,
        };
        let words = [program].into_iter().chain(verb.split(' ')).chain(["--config"]).map(str::to_owned);
        let command = words.chain([settings.display().to_string()]).collect();
        Ok(Definition { command, unit, ..Definition::default() })
    }

    /// Defines, enables and starts the service, or restarts it if it is redefined or has to be; waits until it runs.
    ///
    /// # Errors
    /// When it does not run.
    pub(crate) async fn run(
        &self,
        work: &Work,
        definition: &Definition,
        restarts: bool,
    ) -> Result<(), ProviderError> {
        let supervisor = supervise::of(work.host());
        let is_new = supervisor.define(work, definition).await?;
        supervisor.enable(work, true).await?;
        let is_running = supervisor.state(work.host(), self.name).await?.is_some_and(|state| state.running);
        if !is_running {
            supervisor.start(work, definition).await?;
        } else if is_new || restarts {
            supervisor.restart(work, definition).await?;
        }
        let until = Instant::now() + STARTS;
        while !supervisor.state(work.host(), self.name).await?.is_some_and(|state| state.running) {
            if Instant::now() >= until {
                let text = format!("{} does not run {} s after its start", self.name, STARTS.as_secs());
                return Err(permanent(text).with_hint(format!("journalctl -u {} on the node", self.name)));
            }
            work.pause(Duration::from_millis(50)).await?;
        }
        Ok(())
    }

    /// Stops the service, and removes its definition.
    ///
    /// # Errors
    /// When it does not stop.
    pub(crate) async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        let supervisor = supervise::of(work.host());
        supervisor.stop(work).await?;
        supervisor.enable(work, false).await?;
        supervisor.forget(work, true).await
    }

    /// Whether the service runs as it is defined.
    ///
    /// # Errors
    /// When the init system does not tell.
    pub(crate) async fn is_running(
        &self,
        host: &crate::host::Host,
        definition: &Definition,
    ) -> Result<bool, ProviderError> {
        let supervisor = supervise::of(host);
        let Some(state) = supervisor.state(host, self.name).await? else { return Ok(false) };
        let is_defined = supervisor.is_ours()
            || state.unit.as_deref().map(without_program) == definition.unit.as_deref().map(without_program);
        Ok(is_defined && state.running)
    }

    fn systemd(&self, program: &str, arguments: &str) -> String {
        let Self { description, restart_seconds, unit, service, .. } = self;
        format!(
            "[Unit]\n\
             Description={description}\n\
             {unit}\
             \n\
             [Service]\n\
             ExecStart={program} {arguments}\n\
             Restart=always\n\
             RestartSec={restart_seconds}\n\
             {service}\
             \n\
             [Install]\n\
             WantedBy=multi-user.target\n"
        )
    }

    fn openrc(&self, program: &str, arguments: &str) -> String {
        let Self { name, description, restart_seconds, depend, .. } = self;
        format!(
            "#!/sbin/openrc-run\n\
             description=\"{description}\"\n\
             supervisor=supervise-daemon\n\
             command=\"{program}\"\n\
             command_args=\"{arguments}\"\n\
             respawn_delay={restart_seconds}\n\
             umask=077\n\
             output_log=\"/var/log/{name}.log\"\n\
             error_log=\"/var/log/{name}.log\"\n\
             \n\
             depend() {{\n\
             {depend}\
             }}\n"
        )
    }
}

/// A unit without the path of its program: a preview asks by a program that is somewhere else.
fn without_program(unit: &str) -> String {
    let line = |line: &str| match PROGRAM_LINES.iter().find(|start| line.starts_with(**start)) {
        Some(start) => (*start).to_owned(),
        None => line.to_owned(),
    };
    unit.lines().map(line).collect::<Vec<_>>().join("\n")
}
