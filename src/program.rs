//! One call of the program, from its arguments to its exit code.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::FromArgMatches as _;
use slipway_engine::StopSignal;
use slipway_operations::{Actor, Approvals, Environment, Processes, Store};
use slipway_protocol::SearchPath;
use slipway_secrets::{Keyring, Keys, SealedBackend};
use slipway_state_store::{Backend, FileBackend, Settings};
use slipway_trust::{Mode, Policy};

use crate::actor;
use crate::cli::{Cli, Command, Global, LogFormat, format, mistakes};
use crate::code;
use crate::commands;
use crate::configuration::{self, Configuration};
use crate::deciding::Follower;
use crate::download::Downloads;
use crate::error::CommandError;
use crate::keys::{self, NoKeys, UserKeys};
use crate::output::Output;
use crate::policies;
use crate::traces::{self, Traces};
use crate::ui::signals::Signals;

/// Puts something around the state's backend, as a test does that counts or fails writes.
pub type DecorateBackend = Box<dyn Fn(Arc<dyn Backend>) -> Arc<dyn Backend> + Send + Sync>;

/// The program, with the settings that tests replace.
#[derive(Default)]
pub struct Program {
    decorate_backend: Option<DecorateBackend>,
    lease: slipway_state_store::Options,
    read_age: Option<Duration>,
    system_configuration: Option<PathBuf>,
}

/// The common parts of all commands.
pub(crate) struct Context {
    /// The options of all commands.
    pub global: Global,
    /// The configuration of the system and of the user.
    pub configuration: Configuration,
    /// The trust policy for specs.
    pub policy: Arc<Policy>,
    /// Where results and messages go.
    pub output: Output,
    /// The settings of leases.
    pub lease: slipway_state_store::Options,
    /// How old the reads may be by which steps check their objects, where a test sets it.
    read_age: Option<Duration>,
    decorate_backend: Option<DecorateBackend>,
    /// The providers' processes; all of them end with the command.
    processes: Processes,
    /// The user's keys; no key is read before it is needed.
    keyring: OnceLock<Arc<Keyring>>,
    /// The signals that stop runs.
    pub signals: Signals,
}

/// How long the end of a command waits for threads that still work.
const GIVEN_UP: Duration = Duration::from_secs(2);

impl Program {
    /// Puts something around the state's backend.
    #[must_use]
    pub fn decorate_backend(mut self, decorate: DecorateBackend) -> Self {
        self.decorate_backend = Some(decorate);
        self
    }

    /// Holds clusters on other terms than the usual ones, as a test does that cannot wait for a minute.
    #[must_use]
    pub fn lease(mut self, lease: slipway_state_store::Options) -> Self {
        self.lease = lease;
        self
    }

    /// Reads another file than `/etc/slipway/config.toml` as the configuration of the system, as a test does that must not
    /// depend on the machine.
    #[must_use]
    pub fn system_configuration(mut self, path: PathBuf) -> Self {
        self.system_configuration = Some(path);
        self
    }

    /// Lets steps check their objects by reads of another age than usual, as a test does that counts calls however long they
    /// take.
    #[must_use]
    pub fn read_age(mut self, read_age: Duration) -> Self {
        self.read_age = Some(read_age);
        self
    }

    /// Runs one command: 0 for success, 1 for an error, 2 where changes are pending.
    pub fn run(self, arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
        let command = crate::cli::command();
        let arguments = mistakes::help_of_help(&command, arguments.into_iter().collect());
        let parsed = command.try_get_matches_from(&arguments).and_then(|matches| {
            let is_json = format::is_json(&matches);
            Cli::from_arg_matches(&matches).map(|cli| (cli, is_json))
        });
        let (cli, is_json) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => return answer(error, &arguments),
        };
        let output = Output::new(cli.global.color).quiet(cli.global.quiet);
        let traces = start_logging(&cli.global, cli.command.is_service());
        let code = match self.run_command(cli, output) {
            Ok(code) => code,
            Err(error) => {
                if is_json {
                    report_to_programs(&error, output);
                }
                error.report(&output);
                error.exit_code()
            }
        };
        traces.into_iter().for_each(Traces::end);
        code
    }

    fn run_command(self, cli: Cli, output: Output) -> Result<ExitCode, CommandError> {
        // In node commands, `--config` names a document about the machine, as with kubeadm.
        let from_environment = std::env::var_os("SLIPWAY_CONFIG").map(PathBuf::from);
        let named = match &cli.command {
            Command::Node(_) => from_environment.as_deref(),
            _ => cli.global.config.as_deref(),
        };
        let system = self.system_configuration.as_deref().unwrap_or(Path::new(configuration::SYSTEM));
        let configuration = Configuration::read(system, named)?;
        let settings = configuration.trust.clone().with_arguments(&cli.global.trust);
        let settings =
            settings.map_err(|error| CommandError::new(code::TRUST_ARGUMENT, error.to_string()))?;
        let mode = if cli.command.is_untrusted() { Mode::Untrusted } else { Mode::Own };
        let policy = Policy::new(settings, mode).read_only(cli.command.only_shows());
        let context = Context {
            policy: Arc::new(policy),
            global: cli.global,
            configuration,
            output,
            decorate_backend: self.decorate_backend,
            lease: self.lease,
            read_age: self.read_age,
            processes: Processes::default(),
            keyring: OnceLock::new(),
            signals: Signals::default(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| CommandError::internal("the asynchronous runtime cannot start", error))?;
        let result = runtime.block_on(async {
            let result = commands::run(cli.command, &context).await;
            context.processes.end().await;
            result
        });
        // Nobody waits for work that still keeps a thread busy: it was given up.
        runtime.shutdown_timeout(GIVEN_UP);
        result
    }
}

impl Context {
    /// Opens the state store and decrypts what is encrypted. Opening writes nothing.
    pub fn backend(&self) -> Result<Arc<dyn Backend>, CommandError> {
        let seals = self.configuration.encryption.state;
        Ok(Arc::new(SealedBackend::new(self.bare_backend()?, self.keyring(), seals)))
    }

    /// Opens the state store to read all objects, also unencrypted ones where the configuration says that the
    /// state is encrypted.
    pub fn readable_backend(&self) -> Result<SealedBackend, CommandError> {
        Ok(SealedBackend::new(self.bare_backend()?, self.keyring(), false))
    }

    /// The user's keys.
    pub fn keyring(&self) -> Arc<Keyring> {
        self.keyring.get_or_init(|| Arc::new(Keyring::new(self.keys()))).clone()
    }

    /// The source of the user's keys.
    pub fn keys(&self) -> Arc<dyn Keys> {
        if self.policy.is_untrusted() {
            return Arc::new(NoKeys);
        }
        Arc::new(UserKeys::new(
            &self.configuration.encryption,
            (&self.search_path(), self.policy.lock_file()),
            &self.processes,
            self.output,
        ))
    }

    /// Opens the state store at a URL that a bootstrap document names, and decrypts what is encrypted with the keys of a
    /// machine.
    pub fn backend_with(
        &self,
        url: &str,
        keyring: Arc<Keyring>,
    ) -> Result<Arc<dyn Backend>, slipway_state_store::Error> {
        let seals = self.configuration.encryption.state;
        Ok(Arc::new(SealedBackend::new(self.bare_backend_at(url)?, keyring, seals)))
    }

    /// How stores in buckets are reached, and with which credentials.
    pub fn store_settings(&self) -> Settings {
        self.configuration.state.settings(Settings::from_process())
    }

    /// Opens the state store at a URL without decryption.
    pub fn bare_backend_at(&self, url: &str) -> Result<Arc<dyn Backend>, slipway_state_store::Error> {
        let bare = slipway_state_store::open_with(url, &self.store_settings())
            .map_err(slipway_state_store::Error::from)?;
        Ok(match &self.decorate_backend {
            Some(decorate) => decorate(bare),
            None => bare,
        })
    }

    /// Opens the state store without decryption.
    pub fn bare_backend(&self) -> Result<Arc<dyn Backend>, CommandError> {
        self.bare_backend_under(&self.policy)
    }

    fn bare_backend_under(&self, policy: &Policy) -> Result<Arc<dyn Backend>, CommandError> {
        let url = self.state_url();
        if self.global.state.is_none() && self.configuration.state.url.is_none() {
            policy.unnamed_state(Path::new(&url))?;
        }
        let settings = self.configuration.state.settings(Settings::from_process());
        let backend =
            slipway_state_store::open_with(&url, &settings).map_err(slipway_state_store::Error::from)?;
        tracing::debug!(%url, "the state store is open");
        Ok(match &self.decorate_backend {
            Some(decorate) => decorate(backend),
            None => backend,
        })
    }

    /// A state in a folder of this machine, whatever the options say; it is not encrypted.
    pub fn folder(&self, path: &Path) -> Arc<dyn Backend> {
        let backend: Arc<dyn Backend> = Arc::new(FileBackend::open(path));
        match &self.decorate_backend {
            Some(decorate) => decorate(backend),
            None => backend,
        }
    }

    /// The actor of this call.
    pub fn actor(&self) -> Result<Actor, CommandError> {
        Ok(actor::current(self.configuration.actor.clone())?)
    }

    /// The folders in which providers are looked for.
    pub fn search_path(&self) -> SearchPath {
        let named = self.global.provider_path.iter().chain(&self.configuration.provider_path).cloned();
        SearchPath::from_environment().after(named)
    }

    /// The environment that operations share. The state store is opened, and nothing is written to it.
    pub fn environment(&self) -> Result<Environment, CommandError> {
        let store = Store { backend: self.backend()?, place: self.state_url() };
        Ok(Environment { store: Some(store), ..self.without_store()? })
    }

    /// The environment for specs that another person wrote, as of a command with `--untrusted`: without keys and identities.
    pub fn untrusted_environment(&self) -> Result<Environment, CommandError> {
        let policy = Policy::clone(&self.policy).untrusted();
        let keyring = Arc::new(Keyring::new(Arc::new(NoKeys)));
        let seals = self.configuration.encryption.state;
        let sealed = SealedBackend::new(self.bare_backend_under(&policy)?, keyring.clone(), seals);
        let store = Store { backend: Arc::new(sealed), place: self.state_url() };
        Ok(Environment {
            policy: Arc::new(policy),
            store: Some(store),
            keyring,
            identities: Arc::new(|| Ok(Vec::new())),
            ..self.without_store()?
        })
    }

    /// The environment of operations without a state, or with their own.
    pub fn without_store(&self) -> Result<Environment, CommandError> {
        let encryption = self.configuration.encryption.clone();
        Ok(Environment {
            actor: self.actor()?,
            policy: self.policy.clone(),
            store: None,
            keyring: self.keyring(),
            identities: Arc::new(move || keys::sops_identities(&encryption)),
            search_path: self.search_path(),
            processes: self.processes.clone(),
            lease: self.lease,
            read_age: self.read_age.unwrap_or(slipway_operations::READ_AGE),
            parallelism: None,
            approvals: Approvals {
                needed: self.configuration.require_approval.unwrap_or(0),
                by_other: false,
            },
            policies: policies::all(&self.configuration.policies)?,
            observer: Arc::new(Follower::new(self.output, self.signals.clone(), StopSignal::default())),
            downloads: Arc::new(Downloads),
            buckets: Some(Settings::from_process()),
        })
    }

    /// The same for an operation that the signals of this process stop.
    pub fn followed(&self, environment: &Environment, stop: &StopSignal) -> Environment {
        let follower = Follower::new(self.output, self.signals.clone(), stop.clone());
        environment.clone().observed_by(Arc::new(follower))
    }

    /// Where the state is: the option, the environment, the configuration file, or a folder beside the spec.
    pub fn state_url(&self) -> String {
        self.global
            .state
            .clone()
            .or_else(|| self.configuration.state.url.clone())
            .unwrap_or_else(|| ".slipway/state".to_owned())
    }
}

/// Prints help or the version, or why the arguments are refused. Help and version are results; a mistake in the arguments is
/// an error like any other.
fn answer(error: clap::Error, arguments: &[OsString]) -> ExitCode {
    let is_mistake = error.use_stderr();
    let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let hint = mistakes::hint(&error, &words);
    let error = mistakes::without_wrong_tips(error, hint.is_some());
    let output = Output::standard();
    if is_mistake && format::names_json(&words) {
        report_to_programs(&CommandError::of_arguments(&error, hint.as_deref()), output);
    }
    let _ = error.print();
    if let Some(hint) = hint {
        output.notice(&format!("{}: {hint}", output.style_hint("hint")));
    }
    if is_mistake { ExitCode::from(1) } else { ExitCode::SUCCESS }
}

/// Writes a failure to standard output as JSON. A reader that closed the pipe gets nothing.
fn report_to_programs(error: &CommandError, output: Output) {
    if let Some(report) = error.for_programs() {
        let _ = output.result(&report);
    }
}

/// Starts the log, and the export of traces if the environment asks for it.
fn start_logging(global: &Global, is_service: bool) -> Option<Traces> {
    use tracing_subscriber::filter::Directive;
    use tracing_subscriber::layer::SubscriberExt as _;
    use tracing_subscriber::util::SubscriberInitExt as _;
    use tracing_subscriber::{EnvFilter, Layer as _, Registry, fmt, registry};
    let level = match global.verbosity {
        0 if global.quiet => "error",
        0 if is_service => "info",
        0 => "warn",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_env("SLIPWAY_LOG")
        .unwrap_or_else(|_| EnvFilter::new(format!("{level},kube_client=off")));
    // Spans are for traces. The log stays as it is without them.
    let filter = match format!("{}=off", slipway_engine::trace::TARGET).parse::<Directive>() {
        Ok(directive) => filter.add_directive(directive),
        Err(_) => filter,
    };
    let settings = traces::Settings::from_process();
    let started = settings.and_then(|settings| settings.map(Traces::start::<Registry>).transpose());
    let (traces, collector, problem) = match started {
        Ok(Some((traces, collector))) => (Some(traces), Some(collector), None),
        Ok(None) => (None, None, None),
        Err(reason) => (None, None, Some(reason)),
    };
    let subscriber = |filter: EnvFilter| fmt().with_env_filter(filter).with_writer(|| Log);
    // A second start in one process, as in tests, keeps the first subscriber.
    let _ = match (global.log_format, collector) {
        (LogFormat::Text, None) => subscriber(filter).with_ansi(false).finish().try_init(),
        (LogFormat::Json, None) => subscriber(filter).json().finish().try_init(),
        (LogFormat::Text, Some(collector)) => {
            let log = fmt::layer().with_writer(|| Log).with_ansi(false).with_filter(filter);
            registry().with(collector).with(log).try_init()
        }
        (LogFormat::Json, Some(collector)) => {
            let log = fmt::layer().with_writer(|| Log).json().with_filter(filter);
            registry().with(collector).with(log).try_init()
        }
    };
    if let Some(reason) = problem {
        tracing::warn!("traces are off: {reason}");
    }
    traces
}

/// Writes the log to standard error. Its lines may contain texts of providers, so control characters are made
/// visible.
struct Log;

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        std::io::stderr().lock().write_all(slipway_limits::text::visible(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}
