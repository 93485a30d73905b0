//! Arguments of the verbs that replace machines: `roll` and `upgrade`.

use clap::Args;

use super::{RunArguments, SaveArguments, ShowOptions, SpecArguments};

#[derive(Debug, Args)]
pub(crate) struct RollArguments {
    #[command(flatten)]
    pub specs: SpecArguments,
    /// Roll only these pools; without it, all pools.
    #[arg(long, value_name = "POOL")]
    pub pool: Vec<String>,
    /// Begin an unfinished roll again: replace also the machines that it has started.
    #[arg(long, conflicts_with = "abandon")]
    pub restart: bool,
    /// End an unfinished roll: keep the machines that have no replacement yet.
    #[arg(long)]
    pub abandon: bool,
    /// Show the plan and change nothing.
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    #[command(flatten)]
    pub save: SaveArguments,
    #[command(flatten)]
    pub show: ShowOptions,
    /// Create the infrastructure only: do not wait for the API, install nothing in the cluster.
    #[arg(long)]
    pub infrastructure_only: bool,
    #[command(flatten)]
    pub run: RunArguments,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("change"), mut_arg("yes", |yes| yes.requires("change")))]
pub(crate) struct UpgradeArguments {
    #[command(flatten)]
    pub specs: SpecArguments,
    /// Target version of Kubernetes, such as 1.35.2. Without it, list the versions to which the cluster can be upgraded.
    #[arg(long, value_name = "VERSION", group = "change")]
    pub to: Option<String>,
    /// Patch release of a minor version on the way, such as 1.35.2.
    ///
    /// Without it, an upgrade takes the newest patch release whose kubelet the spec lists, or the newest one that this version of
    /// Slipway knows.
    #[arg(long, value_name = "VERSION", requires = "to")]
    pub via: Vec<String>,
    /// Keep a way back: the control plane has the next minor version and emulates the present one, until `--finalise`.
    ///
    /// Kubelets, kube-proxy and etcd follow when the upgrade is finalised. Only for clusters on existing hosts.
    #[arg(long, requires = "to")]
    pub reversible: bool,
    /// Finalise a reversible upgrade. Afterwards there is no way back.
    #[arg(long, alias = "finalize", group = "change")]
    pub finalise: bool,
    /// Take a reversible upgrade back: the control plane gets the version that it emulates.
    #[arg(long, group = "change")]
    pub back: bool,
    /// Show the first plan and change nothing.
    #[arg(long, requires = "change", conflicts_with = "yes")]
    pub dry_run: bool,
    #[command(flatten)]
    pub save: SaveArguments,
    /// Do not write the new version into the spec file.
    #[arg(long)]
    pub keep_spec: bool,
    #[command(flatten)]
    pub show: ShowOptions,
    /// Create the infrastructure only: do not wait for the API, install nothing in the cluster.
    #[arg(long)]
    pub infrastructure_only: bool,
    #[command(flatten)]
    pub run: RunArguments,
}
