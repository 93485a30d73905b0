//! Arguments of the command line. Their doc comments are the help text; examples and exit codes are in `help`.

pub(crate) mod adoption;
pub(crate) mod clusters;
pub(crate) mod completion;
pub(crate) mod controller;
mod documentation;
mod duration;
pub(crate) mod etcd;
pub(crate) mod format;
mod help;
pub(crate) mod mistakes;
pub(crate) mod node;
pub(crate) mod policy;
mod provider;
mod replacing;
pub(crate) mod review;
pub(crate) mod rotate;
mod run;
mod spec;
pub(crate) mod state;

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
pub(crate) use documentation::{CompleteArguments, CompletionsArguments, ManArguments, VersionArguments};
pub(crate) use provider::{
    ProviderCommand, ProviderInfoArguments, ProviderListArguments, ProviderLockArguments,
};
pub(crate) use replacing::{RollArguments, UpgradeArguments};
pub(crate) use run::{RunArguments, SaveArguments};
pub(crate) use spec::{
    ExplainArguments, InitArguments, InitShape, SpecCheckArguments, SpecCommand, SpecConvertArguments,
    SpecShowArguments,
};

/// Declarative Kubernetes clusters.
///
/// Slipway compares spec files with the cloud and the running cluster, shows the difference as a plan, and applies the plan.
/// State is kept in a folder or an object store. An interrupted run continues with the next `apply`.
#[derive(Debug, Parser)]
#[command(name = "slipway", version, propagate_version = true, disable_help_subcommand = false)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// The whole command line, with examples and exit codes, for help, completions and manual pages.
#[must_use]
pub fn command() -> clap::Command {
    help::document(Cli::command())
}

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// State store: a folder, or a URL such as s3://bucket/prefix.
    ///
    /// Without it: `state.url` of the configuration file, else the folder .slipway/state.
    #[arg(long, global = true, env = "SLIPWAY_STATE", value_name = "URL")]
    pub state: Option<String>,
    /// Configuration file (TOML).
    #[arg(long, global = true, env = "SLIPWAY_CONFIG", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Folders with provider executables, separated by `:`, searched before the default folders.
    #[arg(
        long,
        global = true,
        env = "SLIPWAY_PROVIDER_PATH",
        value_name = "DIRECTORY",
        value_delimiter = ':'
    )]
    pub provider_path: Vec<PathBuf>,
    /// Allow specs to name something that the trust policy refuses by default, such as
    /// `endpoint=https://aws.example.com`.
    ///
    /// Keys: provider, lock-file, file-root, variable, kubeconfig, endpoint, host-network, url. The section `[trust]` of
    /// the configuration file has the same settings.
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub trust: Vec<String>,
    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: ColorWhen,
    /// Show log messages on standard error: -v info, -vv debug, -vvv trace.
    #[arg(short = 'v', long = "verbose", alias = "verbose-log", global = true, action = clap::ArgAction::Count)]
    pub verbosity: u8,
    /// Print no progress, notes or warnings; results and errors are still printed.
    #[arg(short, long, global = true, conflicts_with = "verbosity")]
    pub quiet: bool,
    /// Format of log messages.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    pub log_format: LogFormat,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless the variable NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Format of log messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines of text.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what `slipway apply` would change. Changes nothing.
    ///
    /// The plan lists every resource that would be created, updated, replaced or deleted, with the reason, and the nodes that
    /// would be disrupted.
    Plan(PlanArguments),
    /// Create or update clusters to match their specs, or apply a saved plan.
    ///
    /// The plan is shown first and needs a confirmation, unless `--yes` is given. An interrupted run continues with the next
    /// `slipway apply`.
    Apply(ApplyArguments),
    /// Show a saved plan.
    Show(ShowArguments),
    /// Approve a saved plan, for `slipway apply --require-approval`.
    Approve(state::ApproveArguments),
    /// Show on a pull request what a merge would do: a comment with the plan of each cluster, and statuses.
    ///
    /// The result of the merge is planned, without a checkout. The comments are updated in place. Reviews and comments of the
    /// people that the policy names approve a plan.
    Review(review::ReviewArguments),
    /// Show changes that were made outside Slipway since the last apply. Changes nothing.
    #[command(override_usage = "slipway drift [OPTIONS] <CLUSTER|--file <FILE>...|--all>")]
    Drift(DriftArguments),
    /// Replace the machines of pools one after the other, even if nothing in the spec changed.
    ///
    /// After an interruption or a failure, run the command again: it continues the roll. `slipway apply` continues it too.
    Roll(RollArguments),
    /// Upgrade a cluster to another Kubernetes version, one minor version at a time.
    ///
    /// Slipway supports Kubernetes 1.31 to 1.37.
    Upgrade(UpgradeArguments),
    /// Rotate a key or an authority of a cluster on hosts, one stage at a time.
    ///
    /// Each run of the command makes one plan: the next stage. Until the last stage, the old and the new key are accepted, and
    /// `--back` returns to the stage before. The last stage removes the old key. If it deletes the key, it needs a confirmation by the
    /// name of the key. After an interruption, run the command again: it continues the stage.
    #[command(subcommand)]
    Rotate(rotate::RotateCommand),
    /// Delete a cluster and everything that Slipway created for it.
    ///
    /// The cluster's name confirms the deletion: typed when asked, or given with `--confirm NAME`. `--yes` alone is not
    /// enough.
    Delete(DeleteArguments),
    /// Check whether a cluster is healthy, and show the status of each node.
    Validate(clusters::ValidateArguments),
    /// Write a kubeconfig with credentials that are valid for some hours.
    Kubeconfig(clusters::KubeconfigArguments),
    /// Show the values of a cluster for scripts: endpoint, certificate authority, version, pools, identities of objects.
    ///
    /// The values are those of the last apply. None of them is a secret.
    Output(clusters::OutputArguments),
    /// Show the logs of the kubelet or of a component of a node.
    Logs(clusters::NodeLogsArguments),
    /// List, take and restore snapshots of a cluster's etcd, or recover it.
    #[command(subcommand)]
    Etcd(etcd::EtcdCommand),
    /// Collect state, logs and objects of a cluster into a folder for support, without secrets.
    SupportBundle(clusters::SupportBundleArguments),
    /// Take over a cluster that another tool made. Only Slipway's state is written.
    ///
    /// Images and user data of machines stay as they are until the spec changes them.
    Adopt(adoption::AdoptArguments),
    /// Write the desired resources in the format of another tool.
    #[command(subcommand)]
    Export(adoption::ExportCommand),
    /// Keep clusters in line with specs in Git: run a controller, look at it, pause it.
    #[command(subcommand)]
    Controller(controller::ControllerCommand),
    /// List clusters, pools, nodes and stored plans.
    #[command(subcommand)]
    Get(state::GetCommand),
    /// Inspect and repair the state of clusters.
    #[command(subcommand)]
    State(state::StateCommand),
    /// Make this machine a Kubernetes node, maintain it, or reset it.
    #[command(subcommand)]
    Node(Box<node::NodeCommand>),
    /// Write a commented example spec.
    Init(InitArguments),
    /// Explain a field of the spec or an error code.
    Explain(ExplainArguments),
    /// Check, show and convert specs.
    #[command(subcommand)]
    Spec(SpecCommand),
    /// Test policies over plans.
    ///
    /// Policies are files that the setting `policies` of the configuration or `--policy` names. A spec names none.
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    /// List, inspect and pin providers.
    #[command(subcommand)]
    Provider(ProviderCommand),
    /// Print a completion script for a shell.
    ///
    /// The scripts of bash, zsh and fish also complete names of clusters, pools and hosts, from the specs of `-f` or from the
    /// state.
    Completions(CompletionsArguments),
    /// Print the words that can follow in a command line, for completion scripts.
    #[command(hide = true)]
    Complete(CompleteArguments),
    /// Write the manual pages into a folder.
    Man(ManArguments),
    /// Show the version of this program.
    Version(VersionArguments),
}

impl Command {
    /// Whether the specs are untrusted.
    pub fn is_untrusted(&self) -> bool {
        matches!(self, Self::Plan(arguments) if arguments.untrusted)
    }

    /// Whether it is a service, whose log is what people see of it.
    pub fn is_service(&self) -> bool {
        matches!(self, Self::Controller(controller::ControllerCommand::Run(_)))
    }

    /// Whether it only shows something: nothing is written but the files that its arguments name.
    pub fn only_shows(&self) -> bool {
        match self {
            Self::Plan(_)
            | Self::Review(_)
            | Self::Drift(_)
            | Self::Show(_)
            | Self::Validate(_)
            | Self::Output(_)
            | Self::Get(_)
            | Self::Complete(_)
            | Self::Spec(_) => true,
            Self::Export(_) | Self::Explain(_) | Self::Policy(_) => true,
            Self::Roll(arguments) => arguments.dry_run,
            Self::Upgrade(arguments) => arguments.dry_run,
            Self::Rotate(command) => command.parts().1.dry_run,
            Self::Delete(arguments) => arguments.dry_run,
            _ => false,
        }
    }
}

/// The spec files of a command.
#[derive(Clone, Debug, Args)]
pub(crate) struct SpecArguments {
    /// Spec files and folders; `-` reads standard input.
    #[arg(short = 'f', long = "file", required = true, num_args = 1.., value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Use only this cluster of the specs.
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// Use this provider instead of the one in the spec.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Provider settings as a JSON object; they override those in the spec.
    #[arg(long, value_name = "JSON", requires = "provider")]
    pub provider_config: Option<String>,
}

/// The part of a plan that is planned.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ScopeArguments {
    /// Plan only these resources and their dependencies; `*` matches any characters.
    #[arg(long, value_name = "ADDRESS")]
    pub target: Vec<String>,
    /// Replace these resources even if nothing differs.
    #[arg(long, value_name = "ADDRESS")]
    pub replace: Vec<String>,
}

impl ScopeArguments {
    /// The planner's options.
    pub fn options(&self, preflight: bool) -> slipway_plan::Options {
        slipway_plan::Options {
            targets: self.target.clone(),
            replace: self.replace.clone(),
            preflight,
            ..slipway_plan::Options::default()
        }
    }
}

/// How a plan is shown.
#[derive(Clone, Debug, Args)]
pub(crate) struct ShowOptions {
    /// Format of the plan.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: OutputFormat,
    /// Show everything: no folded changes, no shortened values.
    #[arg(long)]
    pub full: bool,
}

/// Format of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Text for a terminal.
    #[default]
    Text,
    /// JSON: the plan format of Terraform, with additional fields of Slipway.
    Json,
    /// Markdown for a comment on a pull request.
    Markdown,
    /// Page for a browser, in one file.
    Html,
    /// Graph of steps for Graphviz.
    Dot,
    /// Graph of steps as a picture.
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
    /// Save the plan to this file, for `slipway apply PLANFILE`.
    ///
    /// `state:` saves it in the state store under its digest instead, for `slipway apply state:DIGEST` on any machine. The specs
    /// may have several clusters then.
    #[arg(long, value_name = "PLANFILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// Policy file that the plan has to satisfy, beside those of the configuration. Can be repeated.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub policy: Vec<PathBuf>,
    /// Show only what was changed outside Slipway since the last apply, as `slipway drift` does.
    ///
    /// The objects are compared with what was applied last, and not with the specs, which only name the clusters.
    #[arg(
        long,
        conflicts_with_all = [
            "out", "policy", "target", "replace", "offline", "no_preflight", "infrastructure_only", "untrusted",
        ]
    )]
    pub refresh_only: bool,
    /// Plan without state and credentials, as if nothing existed.
    #[arg(long)]
    pub offline: bool,
    /// Skip the preflight checks: permissions, quotas, capacity, name conflicts, hosts.
    #[arg(long)]
    pub no_preflight: bool,
    /// Plan the infrastructure only, without the API and what is installed in the cluster.
    #[arg(long)]
    pub infrastructure_only: bool,
    /// Treat the specs as untrusted, as in a pull request of another person.
    ///
    /// The plan opens no file outside the folder of the specs, and no provider, URL, endpoint or network unless `[trust]` of
    /// your configuration or `--trust` allows it. It reads no environment variable and no secret, and writes nothing.
    #[arg(long, conflicts_with = "out")]
    pub untrusted: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ApplyArguments {
    /// Saved plan to apply: a file, or `state:DIGEST` (at least eight digits of the digest).
    #[arg(
        value_name = "PLANFILE",
        conflicts_with_all = ["files", "cluster", "provider", "provider_config", "target", "replace", "no_preflight"],
        required_unless_present = "files",
        value_hint = ValueHint::FilePath
    )]
    pub plan: Option<PathBuf>,
    /// Spec files and folders; `-` reads standard input.
    #[arg(short = 'f', long = "file", num_args = 1.., value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Use only this cluster of the specs.
    #[arg(long, value_name = "NAME", requires = "files")]
    pub cluster: Option<String>,
    /// Use this provider instead of the one in the spec.
    #[arg(long, value_name = "NAME", requires = "files")]
    pub provider: Option<String>,
    /// Provider settings as a JSON object; they override those in the spec.
    #[arg(long, value_name = "JSON", requires = "provider")]
    pub provider_config: Option<String>,
    #[command(flatten)]
    pub scope: ScopeArguments,
    /// Create the infrastructure only: do not wait for the API, install nothing in the cluster.
    #[arg(long)]
    pub infrastructure_only: bool,
    #[command(flatten)]
    pub run: RunArguments,
    /// Show the plan without folded changes and shortened values.
    #[arg(long)]
    pub full: bool,
    /// Policy file that the plan has to satisfy, beside those of the configuration. Can be repeated.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub policy: Vec<PathBuf>,
    /// Skip the preflight checks: permissions, quotas, capacity, name conflicts, hosts.
    #[arg(long)]
    pub no_preflight: bool,
    /// Format of the result. With JSON, the plan is shown on standard error.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// Saved plan: a file, or `state:DIGEST` (at least eight digits of the digest).
    #[arg(value_name = "PLANFILE", value_hint = ValueHint::FilePath)]
    pub plan: PathBuf,
    #[command(flatten)]
    pub show: ShowOptions,
}

/// A cluster, by its spec or by its name in the state.
#[derive(Clone, Debug, Args)]
pub(crate) struct ClusterArguments {
    /// Name of the cluster in the state, instead of specs.
    #[arg(
        value_name = "CLUSTER",
        conflicts_with_all = ["files", "cluster", "provider", "provider_config"],
        required_unless_present = "files"
    )]
    pub name: Option<String>,
    /// Spec files and folders of the cluster; `-` reads standard input.
    #[arg(short = 'f', long = "file", num_args = 1.., value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Use only this cluster of the specs.
    #[arg(long, value_name = "NAME", requires = "files")]
    pub cluster: Option<String>,
    /// Use this provider instead of the one in the spec.
    #[arg(long, value_name = "NAME", requires = "files")]
    pub provider: Option<String>,
    /// Provider settings as a JSON object; they override those in the spec.
    #[arg(long, value_name = "JSON", requires = "provider")]
    pub provider_config: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DriftArguments {
    /// Name of the cluster in the state, instead of specs.
    #[arg(
        value_name = "CLUSTER",
        conflicts_with_all = ["files", "cluster", "provider", "provider_config", "all"],
        required_unless_present_any = ["files", "all"]
    )]
    pub name: Option<String>,
    /// Spec files and folders of clusters; `-` reads standard input.
    #[arg(short = 'f', long = "file", num_args = 1.., value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Use only this cluster of the specs.
    #[arg(long, value_name = "NAME", requires = "files", conflicts_with = "all")]
    pub cluster: Option<String>,
    /// Use this provider instead of the one in the spec.
    #[arg(long, value_name = "NAME", requires = "files")]
    pub provider: Option<String>,
    /// Provider settings as a JSON object; they override those in the spec.
    #[arg(long, value_name = "JSON", requires = "provider")]
    pub provider_config: Option<String>,
    /// All clusters of the state store.
    #[arg(long, conflicts_with = "files")]
    pub all: bool,
    #[command(flatten)]
    pub show: ShowOptions,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteArguments {
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// Show the plan and change nothing.
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    #[command(flatten)]
    pub save: SaveArguments,
    /// Delete backups as well.
    #[arg(long)]
    pub delete_backups: bool,
    /// Delete the cluster even if the run that removed its deletion protection did not complete.
    #[arg(long)]
    pub unprotect: bool,
    /// Skip the preflight checks: permissions, and other reasons for which a deletion would fail.
    #[arg(long)]
    pub no_preflight: bool,
    #[command(flatten)]
    pub show: ShowOptions,
    #[command(flatten)]
    pub run: RunArguments,
}

/// Format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Text for a terminal.
    #[default]
    Text,
    /// JSON.
    Json,
}
