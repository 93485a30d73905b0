//! The arguments of `slipway node`: what is done on one machine, by whoever is logged in there.

mod begin;
mod tools;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

pub(crate) use begin::{
    InitSettings, JoinOptions, JoinSettings, NodeSettingsArguments, ResetSettings, SourceArguments,
};
pub(crate) use tools::{
    CertificatesCommand, CheckExpirationArguments, ConfigCommand, ConfigDefaults, GenerateRequestArguments,
    ImagesArguments, ImagesCommand, KubeconfigArguments, LogsArguments, RenewArguments, ServeArguments,
    TokenApproveArguments, TokenCommand, TokenCreateArguments, TokenDeleteArguments, TokenListArguments,
};

use super::OutputFormat;

/// Work on this machine: make it a node of a Kubernetes cluster, look after it, take it out again.
///
/// It reads kubeadm's documents and writes what kubeadm writes, so that a cluster made by one can be managed by the other.
/// What is made here is remembered below /var/lib/slipway on the machine.
#[derive(Debug, Subcommand)]
pub(crate) enum NodeCommand {
    /// Begin a cluster: make this machine its first control plane.
    Init(NodeInitArguments),
    /// Join a cluster as a worker or as a further control plane.
    Join(NodeJoinArguments),
    /// Take this machine out of its cluster and remove what was made on it, and nothing else.
    ///
    /// Drains the node, leaves etcd, removes the Node, unmounts, cleans files and network rules. The plan is shown first.
    Reset(NodeResetArguments),
    /// Carry out one phase of init, join or reset alone; without a phase, list them.
    #[command(subcommand)]
    Phase(PhaseCommand),
    /// Show what differs on this machine from what it should be, and change nothing.
    ///
    /// Exits with 0 when nothing differs, 2 when something does, 1 on an error.
    Plan(NodePlanArguments),
    /// Mend what differs on this machine, and nothing else.
    Apply(NodeApplyArguments),
    /// Serve the node provider, for whoever applies a cluster to this machine.
    Serve(ServeArguments),
    /// Bootstrap tokens, with which machines join.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Certificates of this machine.
    #[command(subcommand)]
    Certs(CertificatesCommand),
    /// Write a kubeconfig for a user, signed by the cluster's CA on this machine.
    Kubeconfig(KubeconfigArguments),
    /// Configuration documents: defaults, checks, newer versions, images.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Show the logs of the kubelet or of a component of this machine.
    Logs(LogsArguments),
}

/// What all work on the machine has in common.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct MachineArguments {
    /// The root of the machine's files: an image or a chroot instead of the running system.
    #[arg(long, default_value = "/", value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub rootfs: PathBuf,
    /// Checks whose failure is a warning, as NumCPU,Mem; `all` for every one.
    #[arg(long, value_name = "CHECKS", value_delimiter = ',')]
    pub ignore_preflight_errors: Vec<String>,
    /// The form of what is printed.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: OutputFormat,
}

/// How work on the machine is carried out.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CarryOutArguments {
    /// Show the plan, as a difference of files and objects, and change nothing; exits with 2 when something would change.
    #[arg(long)]
    pub dry_run: bool,
    /// Phases to leave out, as certs/etcd-ca,addon.
    #[arg(long, value_name = "PHASES", value_delimiter = ',')]
    pub skip_phases: Vec<String>,
    /// Fold nothing when showing the plan.
    #[arg(long)]
    pub full: bool,
}

#[derive(Debug, Args)]
pub(crate) struct NodeInitArguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub settings: InitSettings,
    #[command(flatten)]
    pub carry_out: CarryOutArguments,
    #[command(flatten)]
    pub machine: MachineArguments,
}

#[derive(Debug, Args)]
pub(crate) struct NodeJoinArguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub settings: JoinSettings,
    #[command(flatten)]
    pub carry_out: CarryOutArguments,
    #[command(flatten)]
    pub machine: MachineArguments,
}

#[derive(Debug, Args)]
pub(crate) struct NodeResetArguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub settings: ResetSettings,
    #[command(flatten)]
    pub carry_out: CarryOutArguments,
    #[command(flatten)]
    pub machine: MachineArguments,
}

/// Whose phase.
#[derive(Debug, Subcommand)]
pub(crate) enum PhaseCommand {
    /// A phase of `node init`, as `slipway node phase init certs apiserver`.
    Init(PhaseInitArguments),
    /// A phase of `node join`.
    Join(PhaseJoinArguments),
    /// A phase of `node reset`.
    Reset(PhaseResetArguments),
}

#[derive(Debug, Args)]
pub(crate) struct PhaseInitArguments {
    /// The phase and its part, as `certs apiserver` or `certs/apiserver`; `all` for every part.
    #[arg(value_name = "PHASE")]
    pub phase: Vec<String>,
    #[command(flatten)]
    pub arguments: NodeInitArguments,
}

#[derive(Debug, Args)]
pub(crate) struct PhaseJoinArguments {
    /// The phase and its part, as `control-plane-prepare certs`; `all` for every part.
    #[arg(value_name = "PHASE")]
    pub phase: Vec<String>,
    /// An API server of the cluster, as 10.0.0.1:6443.
    #[arg(long, value_name = "HOST:PORT")]
    pub api_server: Option<String>,
    #[command(flatten)]
    pub arguments: JoinPhaseSettings,
}

/// What a phase of a join needs to know: as `node join`, without its positional argument.
#[derive(Debug, Args)]
pub(crate) struct JoinPhaseSettings {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub settings: JoinOptions,
    #[command(flatten)]
    pub carry_out: CarryOutArguments,
    #[command(flatten)]
    pub machine: MachineArguments,
}

#[derive(Debug, Args)]
pub(crate) struct PhaseResetArguments {
    /// The phase.
    #[arg(value_name = "PHASE")]
    pub phase: Vec<String>,
    #[command(flatten)]
    pub arguments: NodeResetArguments,
}

#[derive(Debug, Args)]
pub(crate) struct NodePlanArguments {
    /// The configuration to hold the machine against, instead of the one it was made by.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Fold nothing.
    #[arg(long)]
    pub full: bool,
    #[command(flatten)]
    pub machine: MachineArguments,
}

#[derive(Debug, Args)]
pub(crate) struct NodeApplyArguments {
    /// The configuration to bring the machine to, instead of the one it was made by.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub carry_out: CarryOutArguments,
    #[command(flatten)]
    pub run: super::RunArguments,
    #[command(flatten)]
    pub machine: MachineArguments,
}
