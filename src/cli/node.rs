//! Arguments of `slipway node`: commands that run on the machine itself.

mod begin;
mod boot;
mod tools;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

pub(crate) use begin::{
    InitSettings, JoinOptions, JoinSettings, NodeSettingsArguments, ResetSettings, SourceArguments,
};
pub(crate) use boot::{BootArguments, IdentityArguments};
pub(crate) use tools::{
    ApiBalancerArguments, CertificatesCommand, CheckExpirationArguments, ConfigCommand, ConfigDefaults,
    ControlPlaneRecoveryArguments, EtcdBackupArguments, GenerateRequestArguments, ImagesArguments,
    ImagesCommand, KubeconfigArguments, LogsArguments, RenewArguments, ServeArguments, TokenApproveArguments,
    TokenCommand, TokenCreateArguments, TokenDeleteArguments, TokenListArguments, VirtualAddressArguments,
};

use super::OutputFormat;

/// Make this machine a Kubernetes node, maintain it, or reset it.
///
/// The commands read kubeadm's configuration documents and write the files that kubeadm writes. A cluster that was created
/// with one can be managed with the other. State is kept in /var/lib/slipway on the machine.
#[derive(Debug, Subcommand)]
pub(crate) enum NodeCommand {
    /// Create a cluster with this machine as its first control plane.
    Init(NodeInitArguments),
    /// Join this machine to a cluster, as a worker or as an additional control plane.
    Join(NodeJoinArguments),
    /// Make this machine the node that its bootstrap document describes, as the user data of machines of a cloud does.
    ///
    /// The command waits for what the machine needs, and continues after an interruption or a restart of the machine.
    Boot(BootArguments),
    /// Remove this machine from its cluster, and delete what Slipway created on it.
    ///
    /// It drains the node, removes its etcd member and its Node object, and deletes mounts, files and network rules. The plan
    /// is shown first.
    Reset(NodeResetArguments),
    /// Run a single phase of init, join or reset; without a phase, list the phases.
    #[command(subcommand)]
    Phase(PhaseCommand),
    /// Show how this machine differs from its configuration. Changes nothing.
    Plan(NodePlanArguments),
    /// Correct the differences that `slipway node plan` shows.
    Apply(NodeApplyArguments),
    /// Give machines of the cloud the credential of their node, on a control plane that booted.
    ///
    /// A machine proves by the provider of the cloud which machine it is. The unit slipway-identity.service runs this command.
    Identity(IdentityArguments),
    /// Bring the settings that `slipway apply` has set for the pool to this machine, and report. The machine booted in a cloud.
    ///
    /// The command looks at the Node of this machine every few seconds. The unit slipway-settings.service runs it where
    /// `rollout.strategy` lets settings change in place.
    Settings,
    /// Serve the node provider, for a `slipway apply` that runs on another machine.
    Serve(ServeArguments),
    /// Take snapshots of the etcd on this control plane, on the schedule of `etcd.backups` in the spec.
    ///
    /// Snapshots are taken while the member of this machine leads etcd. The unit slipway-etcd-backup.service runs this
    /// command.
    EtcdBackup(EtcdBackupArguments),
    /// Forward connections to the API servers of the cluster, on the loopback address of this machine.
    ///
    /// The unit slipway-api-balancer.service runs this command where `controlPlane.nodeLocalBalancer` is in effect. It follows
    /// changes of its settings, and logs which API servers are ready.
    ApiBalancer(ApiBalancerArguments),
    /// Have the virtual address of the API on this control plane, while the control planes elect it.
    ///
    /// The unit slipway-virtual-address.service runs this command where the endpoint is a `virtualIp` with `holder: slipway`. It
    /// logs when this machine gets the address, and why it does not have it any more.
    VirtualAddress(VirtualAddressArguments),
    /// Start the self-hosted control plane of this machine from its disk while its DaemonSets do not run it.
    ///
    /// The unit slipway-control-plane-recovery.service runs this command where `controlPlane.hosting` is `selfHosted`. It needs the
    /// container runtime only, and no API. It logs when the kubelet gets a manifest, and when the DaemonSet runs again.
    ControlPlaneRecovery(ControlPlaneRecoveryArguments),
    /// Create, list and delete bootstrap tokens.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Inspect and renew the certificates of this machine.
    #[command(subcommand)]
    Certs(CertificatesCommand),
    /// Print a kubeconfig for a user, signed by the cluster CA on this machine.
    Kubeconfig(KubeconfigArguments),
    /// Print, validate and migrate configuration documents; list and pull images.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Show the logs of the kubelet or of a component on this machine.
    Logs(LogsArguments),
}

/// Arguments of every command that changes the machine.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct MachineArguments {
    /// Root of the machine's file system: an image or a chroot instead of the running system.
    #[arg(long, default_value = "/", value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub rootfs: PathBuf,
    /// Preflight checks that only warn, such as NumCPU,Mem; `all` for every check.
    #[arg(long, value_name = "CHECKS", value_delimiter = ',')]
    pub ignore_preflight_errors: Vec<String>,
    /// Format of the plan.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: OutputFormat,
}

/// How a command changes the machine.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CarryOutArguments {
    /// Show the plan, with the differences of files and objects, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Phases to skip, such as certs/etcd-ca,addon.
    #[arg(long, value_name = "PHASES", value_delimiter = ',')]
    pub skip_phases: Vec<String>,
    /// Show the plan without folded changes and shortened values.
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

/// The command that a phase belongs to.
#[derive(Debug, Subcommand)]
pub(crate) enum PhaseCommand {
    /// Run a phase of `node init`, such as `slipway node phase init certs apiserver`.
    Init(PhaseInitArguments),
    /// Run a phase of `node join`.
    Join(PhaseJoinArguments),
    /// Run a phase of `node reset`.
    Reset(PhaseResetArguments),
}

#[derive(Debug, Args)]
pub(crate) struct PhaseInitArguments {
    /// Phase and subphase, such as `certs apiserver` or `certs/apiserver`; `all` for every subphase.
    #[arg(value_name = "PHASE")]
    pub phase: Vec<String>,
    #[command(flatten)]
    pub arguments: NodeInitArguments,
}

#[derive(Debug, Args)]
pub(crate) struct PhaseJoinArguments {
    /// Phase and subphase, such as `control-plane-prepare certs`; `all` for every subphase.
    #[arg(value_name = "PHASE")]
    pub phase: Vec<String>,
    /// Address of an API server of the cluster, such as 10.0.0.1:6443.
    #[arg(long, value_name = "HOST:PORT")]
    pub api_server: Option<String>,
    #[command(flatten)]
    pub arguments: JoinPhaseSettings,
}

/// Arguments of a phase of `node join`: those of `node join` without its positional argument.
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
    /// Name of the phase.
    #[arg(value_name = "PHASE")]
    pub phase: Vec<String>,
    #[command(flatten)]
    pub arguments: NodeResetArguments,
}

#[derive(Debug, Args)]
pub(crate) struct NodePlanArguments {
    /// Configuration to compare with, instead of the one that the machine was created with.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Show everything: no folded changes, no shortened values.
    #[arg(long)]
    pub full: bool,
    #[command(flatten)]
    pub machine: MachineArguments,
}

#[derive(Debug, Args)]
pub(crate) struct NodeApplyArguments {
    /// Configuration to apply, instead of the one that the machine was created with.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub carry_out: CarryOutArguments,
    #[command(flatten)]
    pub run: super::RunArguments,
    #[command(flatten)]
    pub machine: MachineArguments,
}
