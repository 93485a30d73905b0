//! The arguments. Their doc comments are the help text.

pub(crate) mod adoption;
pub(crate) mod clusters;
pub(crate) mod node;
mod provider;
mod run;
mod spec;
pub(crate) mod state;

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
pub(crate) use provider::{
    ProviderCommand, ProviderInfoArguments, ProviderListArguments, ProviderLockArguments,
};
pub(crate) use run::{RunArguments, SaveArguments};
pub(crate) use spec::{
    ExplainArguments, InitArguments, InitShape, SpecCheckArguments, SpecCommand, SpecConvertArguments,
    SpecShowArguments,
};

/// Declarative Kubernetes clusters: specs in, a reviewed plan out, carried out resumably.
#[derive(Debug, Parser)]
#[command(name = "slipway", version, propagate_version = true, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// The whole command line, for completions and manual pages.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Where the state is: a folder, or a URL such as s3://bucket/prefix.
    #[arg(long, global = true, env = "SLIPWAY_STATE", value_name = "URL")]
    pub state: Option<String>,
    /// The configuration file (TOML).
    #[arg(long, global = true, env = "SLIPWAY_CONFIG", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Folders with provider executables, searched before the usual ones.
    #[arg(
        long,
        global = true,
        env = "SLIPWAY_PROVIDER_PATH",
        value_name = "DIRECTORY",
        value_delimiter = ':'
    )]
    pub provider_path: Vec<PathBuf>,
    /// What specs may name beyond the defaults, as `endpoint=https://aws.example.com`; see `[trust]` of the configuration.
    ///
    /// Keys: provider, lock-file, file-root, variable, kubeconfig, endpoint, host-network, url.
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub trust: Vec<String>,
    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: ColorWhen,
    /// More log messages on standard error; again for even more.
    #[arg(short = 'v', long = "verbose-log", global = true, action = clap::ArgAction::Count)]
    pub verbosity: u8,
    /// The form of log messages.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    pub log_format: LogFormat,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The form of log messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what apply would do, and change nothing.
    ///
    /// Exits with 0 when there is nothing to do, 2 when changes are pending, 1 on an error.
    Plan(PlanArguments),
    /// Bring clusters to their specs, or carry out a saved plan.
    Apply(ApplyArguments),
    /// Show a saved plan.
    Show(ShowArguments),
    /// Approve a plan, for `apply --require-approval`.
    Approve(state::ApproveArguments),
    /// Show what was changed outside Slipway since the last apply.
    ///
    /// Exits with 0 when nothing was, 2 when something was, 1 on an error.
    Drift(DriftArguments),
    /// Replace the machines of pools one after the other, although nothing in the spec asks for it.
    Roll(RollArguments),
    /// Bring a cluster to another Kubernetes version, one minor version at a time.
    Upgrade(UpgradeArguments),
    /// Remove a cluster and everything that Slipway made for it.
    Delete(DeleteArguments),
    /// Report whether a cluster is healthy, and how far each of its nodes has come.
    ///
    /// Exits with 0 when it is healthy, 1 when it is not.
    Validate(clusters::ValidateArguments),
    /// Make credentials for a cluster's API, good for some hours.
    Kubeconfig(clusters::KubeconfigArguments),
    /// Show what the kubelet or a component of a node says.
    Logs(clusters::NodeLogsArguments),
    /// Collect what helps somebody who was not there, without secrets.
    SupportBundle(clusters::SupportBundleArguments),
    /// Take over a cluster that another tool made; nothing is written but the state.
    ///
    /// Images and user data of machines stay as found until the spec asks for others.
    Adopt(adoption::AdoptArguments),
    /// Write the wanted resources in the form of another tool.
    #[command(subcommand)]
    Export(adoption::ExportCommand),
    /// List what the state store has.
    #[command(subcommand)]
    Get(state::GetCommand),
    /// Look at what Slipway keeps of clusters, and mend it.
    #[command(subcommand)]
    State(state::StateCommand),
    /// Work on this machine: make it a node of a Kubernetes cluster, look after it, take it out again.
    #[command(subcommand)]
    Node(Box<node::NodeCommand>),
    /// Write a commented spec to begin with.
    Init(InitArguments),
    /// Explain a field of the spec, as in `slipway explain cluster.spec.network`.
    Explain(ExplainArguments),
    /// Look at specs.
    #[command(subcommand)]
    Spec(SpecCommand),
    /// Look at providers and pin them.
    #[command(subcommand)]
    Provider(ProviderCommand),
    /// Write a completion script for a shell to standard output.
    Completions(CompletionsArguments),
    /// Write the manual pages into a folder.
    Man(ManArguments),
}

impl Command {
    /// Whether the specs are a stranger's.
    pub fn is_untrusted(&self) -> bool {
        matches!(self, Self::Plan(arguments) if arguments.untrusted)
    }

    /// Whether it only shows something, so that nothing is written anywhere but what was asked for.
    pub fn only_shows(&self) -> bool {
        match self {
            Self::Plan(_)
            | Self::Drift(_)
            | Self::Show(_)
            | Self::Validate(_)
            | Self::Get(_)
            | Self::Spec(_) => true,
            Self::Export(_) | Self::Explain(_) => true,
            Self::Roll(arguments) => arguments.dry_run,
            Self::Upgrade(arguments) => arguments.dry_run,
            Self::Delete(arguments) => arguments.dry_run,
            _ => false,
        }
    }

    /// Whether the plan that it shows is for programs.
    pub fn shows_json(&self) -> bool {
        let show = match self {
            Self::Plan(arguments) => &arguments.show,
            Self::Drift(arguments) => &arguments.show,
            Self::Roll(arguments) => &arguments.show,
            Self::Upgrade(arguments) => &arguments.show,
            Self::Delete(arguments) => &arguments.show,
            _ => return false,
        };
        show.output == OutputFormat::Json
    }
}

/// Which specs.
#[derive(Clone, Debug, Args)]
pub(crate) struct SpecArguments {
    /// Spec files and folders.
    #[arg(short = 'f', long = "file", required = true, num_args = 1.., value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Only this cluster of those in the specs.
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// The provider to use instead of the one in the spec.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Settings for the provider over those in the spec, as JSON.
    #[arg(long, value_name = "JSON", requires = "provider")]
    pub provider_config: Option<String>,
}

/// Which part of a plan.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ScopeArguments {
    /// Only these resources and what they stand on; `*` stands for anything.
    #[arg(long, value_name = "ADDRESS")]
    pub target: Vec<String>,
    /// Replace these resources although nothing differs.
    #[arg(long, value_name = "ADDRESS")]
    pub replace: Vec<String>,
}

/// How to show a plan.
#[derive(Clone, Debug, Args)]
pub(crate) struct ShowOptions {
    /// The form of the plan.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: OutputFormat,
    /// Fold nothing.
    #[arg(long)]
    pub full: bool,
}

/// The form of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: the Terraform plan JSON, with Slipway's own parts beside it.
    Json,
    /// For a comment on a pull request.
    Markdown,
    /// The graph of steps for Graphviz.
    Dot,
    /// The graph of steps as a picture.
    Svg,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub specs: SpecArguments,
    #[command(flatten)]
    pub show: ShowOptions,
    #[command(flatten)]
    pub scope: ScopeArguments,
    /// Save the plan to this file, for `slipway apply FILE`; `state:` stores it beside the state by its digest, for
    /// `slipway apply state:DIGEST` from anywhere.
    #[arg(long, value_name = "PLANFILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// Plan against nothing, without state and credentials.
    #[arg(long)]
    pub offline: bool,
    /// Do not ask the provider what would stop the plan.
    #[arg(long)]
    pub no_preflight: bool,
    /// Plan infrastructure alone, also where its machines will not become nodes: the saved plan can be applied as it is.
    #[arg(long)]
    pub infrastructure_only: bool,
    /// The specs are somebody else's, as in a pull request: open nothing that they name outside of their own folder.
    ///
    /// No provider, file, URL, endpoint or network beyond those that `[trust]` of your configuration or `--trust` allows,
    /// no environment variable, no secret, nothing written.
    #[arg(long, conflicts_with = "out")]
    pub untrusted: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ApplyArguments {
    /// The saved plan to carry out, instead of specs: a file, or `state:` and its digest, of which eight digits may be
    /// enough.
    #[arg(value_name = "PLANFILE", conflicts_with = "files", required_unless_present = "files", value_hint = ValueHint::FilePath)]
    pub plan: Option<PathBuf>,
    /// Spec files and folders.
    #[arg(short = 'f', long = "file", num_args = 1.., value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Only this cluster of those in the specs.
    #[arg(long, value_name = "NAME", requires = "files")]
    pub cluster: Option<String>,
    /// The provider to use instead of the one in the spec.
    #[arg(long, value_name = "NAME", requires = "files")]
    pub provider: Option<String>,
    /// Settings for the provider over those in the spec, as JSON.
    #[arg(long, value_name = "JSON", requires = "provider")]
    pub provider_config: Option<String>,
    #[command(flatten)]
    pub scope: ScopeArguments,
    #[command(flatten)]
    pub run: RunArguments,
    /// Fold nothing when showing the plan.
    #[arg(long)]
    pub full: bool,
    /// Do not ask the provider what would stop the plan.
    #[arg(long)]
    pub no_preflight: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The saved plan: a file, or `state:` and its digest.
    #[arg(value_name = "PLANFILE", value_hint = ValueHint::FilePath)]
    pub plan: PathBuf,
    #[command(flatten)]
    pub show: ShowOptions,
}

/// Which cluster, by its spec or by its name in the state.
#[derive(Clone, Debug, Args)]
pub(crate) struct ClusterArguments {
    /// The cluster's name in the state, instead of specs.
    #[arg(value_name = "CLUSTER", conflicts_with = "files", required_unless_present = "files")]
    pub name: Option<String>,
    /// Spec files and folders that name the cluster.
    #[arg(short = 'f', long = "file", num_args = 1.., value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Only this cluster of those in the specs.
    #[arg(long, value_name = "NAME", requires = "files")]
    pub cluster: Option<String>,
    /// The provider to use instead of the one in the spec.
    #[arg(long, value_name = "NAME", requires = "files")]
    pub provider: Option<String>,
    /// Settings for the provider over those in the spec, as JSON.
    #[arg(long, value_name = "JSON", requires = "provider")]
    pub provider_config: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DriftArguments {
    #[command(flatten)]
    pub cluster: ClusterArguments,
    #[command(flatten)]
    pub show: ShowOptions,
}

#[derive(Debug, Args)]
pub(crate) struct RollArguments {
    #[command(flatten)]
    pub specs: SpecArguments,
    /// Only these pools; all of them without.
    #[arg(long, value_name = "POOL")]
    pub pool: Vec<String>,
    /// Show the plan and change nothing; exits with 2 when machines would be replaced.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub save: SaveArguments,
    #[command(flatten)]
    pub show: ShowOptions,
    #[command(flatten)]
    pub run: RunArguments,
}

#[derive(Debug, Args)]
pub(crate) struct UpgradeArguments {
    #[command(flatten)]
    pub specs: SpecArguments,
    /// The Kubernetes version to come to.
    #[arg(long, value_name = "VERSION")]
    pub to: String,
    /// Show the first plan and change nothing; exits with 2 when changes are pending.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub save: SaveArguments,
    /// Leave the version in the spec file as it is.
    #[arg(long)]
    pub keep_spec: bool,
    #[command(flatten)]
    pub show: ShowOptions,
    #[command(flatten)]
    pub run: RunArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteArguments {
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// Show the plan and change nothing; exits with 2 when something would be deleted.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub save: SaveArguments,
    /// Delete backups too.
    #[arg(long)]
    pub delete_backups: bool,
    /// Delete the cluster although the run that takes its deletion protection away did not complete.
    #[arg(long)]
    pub unprotect: bool,
    #[command(flatten)]
    pub show: ShowOptions,
    #[command(flatten)]
    pub run: RunArguments,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell.
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// The folder, made if it is not there.
    #[arg(value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,
}
