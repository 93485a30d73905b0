//! Arguments of `slipway state`, `slipway get` and `slipway approve`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::ReportFormat;

/// Inspect and repair the state of clusters.
#[derive(Debug, Subcommand)]
pub(crate) enum StateCommand {
    /// Create the state store, or check that its conditional writes can be relied on.
    Init(InitStoreArguments),
    /// List the resources in the state of a cluster.
    List(ListArguments),
    /// Show the state of a cluster or of some of its resources. Secrets are never shown.
    Show(ShowStateArguments),
    /// Show the runs of a cluster: generation, actor, time and result.
    History(HistoryArguments),
    /// Show the difference between two generations of a cluster.
    Diff(DiffArguments),
    /// Change the address of a resource in the state. The object in the cloud is not changed.
    ///
    /// The next plan shows the consequences: its ownership tags are updated where the provider supports it.
    Mv(MoveArguments),
    /// Remove resources from the state. The objects in the cloud are not changed.
    ///
    /// If the spec does not contain the address any more, the object is kept, also when the cluster is deleted. If the spec
    /// still contains it, the next apply finds the object by its ownership tags and adds it to the state again.
    Rm(RemoveArguments),
    /// Write one generation of a cluster to a file.
    Export(ExportArguments),
    /// Restore an exported generation. It becomes a new generation.
    Import(ImportArguments),
    /// Rebuild a lost or damaged state from the objects in the cloud.
    ///
    /// Every object with the ownership tags of the cluster is found again. The values that were applied last are lost: fields
    /// that were removed from the spec in the meantime are detected again after the next apply.
    Rebuild(RebuildArguments),
    /// End the lease of the run that holds a cluster. The state rejects all later writes of that run.
    BreakLease(BreakLeaseArguments),
    /// Delete old snapshots, plans that cannot be applied any more, and journals of completed runs.
    ///
    /// The current state and the history of runs are always kept.
    Gc(GcArguments),
    /// Encrypt the state of clusters with new data keys, for the keys that the configuration names now.
    ///
    /// The old key is needed once more. Afterwards it cannot decrypt anything in the store. If the command is interrupted, run
    /// it again.
    Rekey(RekeyArguments),
    /// Read every object of clusters in the store and check digests, chains, encryption and formats.
    Verify(VerifyArguments),
}

#[derive(Debug, Args)]
pub(crate) struct InitStoreArguments {
    /// Format of the report.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Name of the cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// List only these addresses; `*` matches any characters.
    #[arg(value_name = "ADDRESS")]
    pub addresses: Vec<String>,
    /// Generation; by default the current one.
    #[arg(long, value_name = "GENERATION")]
    pub generation: Option<u64>,
    /// Format of the list.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ShowStateArguments {
    /// Name of the cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// Show only these resources; `*` matches any characters.
    #[arg(value_name = "ADDRESS")]
    pub addresses: Vec<String>,
    /// Generation; by default the current one.
    #[arg(long, value_name = "GENERATION")]
    pub generation: Option<u64>,
    /// Format of the answer.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArguments {
    /// Name of the cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// Number of runs, the newest first; 0 for all.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    pub limit: usize,
    /// Format of the list.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// Name of the cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// Generation to compare from.
    #[arg(value_name = "FROM")]
    pub from: u64,
    /// Generation to compare with; by default the current one.
    #[arg(value_name = "TO")]
    pub to: Option<u64>,
    /// Format of the answer.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
    /// Show everything: no folded changes, no shortened values.
    #[arg(long)]
    pub full: bool,
}

/// How a change of the state is confirmed, and how long it waits for the cluster.
#[derive(Debug, Args)]
pub(crate) struct ChangeArguments {
    /// Do not ask for a confirmation.
    #[arg(short, long)]
    pub yes: bool,
    /// Wait at most this long for another run to release the cluster, such as 30s or 10m.
    #[arg(long, value_name = "DURATION", value_parser = super::duration::parse_duration)]
    pub wait: Option<std::time::Duration>,
}

/// How the result of a change is written.
#[derive(Debug, Args)]
pub(crate) struct ResultArguments {
    /// Format of the result. With JSON, what was found is shown on standard error.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct MoveArguments {
    /// Name of the cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// Address in the state.
    #[arg(value_name = "FROM")]
    pub from: String,
    /// Address in the spec.
    #[arg(value_name = "TO")]
    pub to: String,
    /// Confirm with FROM that a pool, or an object that is protected or holds data or keys, gets another address.
    ///
    /// `--yes` does not confirm this.
    #[arg(long, value_name = "FROM")]
    pub confirm: Option<String>,
    /// Approve the change instead of making it, for a configuration that has `require-approval`.
    #[arg(long, conflicts_with = "output")]
    pub approve: bool,
    #[command(flatten)]
    pub change: ChangeArguments,
    #[command(flatten)]
    pub result: ResultArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    /// Name of the cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// Addresses of the resources; `*` matches any characters.
    #[arg(value_name = "ADDRESS", required = true)]
    pub addresses: Vec<String>,
    /// Approve the change instead of making it, for a configuration that has `require-approval`.
    #[arg(long, conflicts_with = "output")]
    pub approve: bool,
    #[command(flatten)]
    pub change: ChangeArguments,
    #[command(flatten)]
    pub result: ResultArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// Name of the cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// Generation; by default the current one.
    #[arg(long, value_name = "GENERATION")]
    pub generation: Option<u64>,
    /// File to write; `-` writes to standard output.
    #[arg(long, value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// Exported file.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Replace this generation, which is newer than the exported one.
    #[arg(long, value_name = "GENERATION")]
    pub force: Option<u64>,
    /// Replace the state of the cluster with this unique id, if the file is of another cluster of the same name.
    #[arg(long, value_name = "UID", requires = "force")]
    pub confirm: Option<String>,
    /// Approve the change instead of making it, for a configuration that has `require-approval`.
    #[arg(long, conflicts_with = "output")]
    pub approve: bool,
    #[command(flatten)]
    pub change: ChangeArguments,
    #[command(flatten)]
    pub result: ResultArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RebuildArguments {
    /// Name of the cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// Spec files and folders of the cluster; `-` reads standard input.
    #[arg(short = 'f', long = "file", required = true, num_args = 1.., value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// Use this provider instead of the one in the spec.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Provider settings as a JSON object; they override those in the spec.
    #[arg(long, value_name = "JSON", requires = "provider")]
    pub provider_config: Option<String>,
    /// Show what would be found, and write nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Rebuild a state even if it is not damaged.
    #[arg(long)]
    pub force: bool,
    /// Rebuild a state even if no available key decrypts the present one. Its secrets are lost.
    #[arg(long)]
    pub key_lost: bool,
    /// Approve the change instead of making it, for a configuration that has `require-approval`.
    #[arg(long, conflicts_with = "output")]
    pub approve: bool,
    #[command(flatten)]
    pub change: ChangeArguments,
    #[command(flatten)]
    pub result: ResultArguments,
}

#[derive(Debug, Args)]
pub(crate) struct BreakLeaseArguments {
    /// Name of the cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// Confirm with the name of the cluster, instead of being asked.
    #[arg(long, value_name = "CLUSTER")]
    pub confirm: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct GcArguments {
    /// Names of the clusters; without it, all clusters of the store.
    #[arg(value_name = "CLUSTER")]
    pub clusters: Vec<String>,
    /// Keep this number of generations before the current one.
    #[arg(long, value_name = "COUNT")]
    pub keep: Option<usize>,
    /// Keep generations that were the current one within this number of days.
    #[arg(long, value_name = "DAYS")]
    pub keep_days: Option<u32>,
    /// Show what would be deleted, and delete nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Format of the report.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
    #[command(flatten)]
    pub change: ChangeArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RekeyArguments {
    /// Names of the clusters; without it, all clusters of the store.
    #[arg(value_name = "CLUSTER")]
    pub clusters: Vec<String>,
    /// Wait at most this long for another run to release the clusters, such as 30s or 10m.
    #[arg(long, value_name = "DURATION", value_parser = super::duration::parse_duration)]
    pub wait: Option<std::time::Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// Names of the clusters; without it, all clusters of the store.
    #[arg(value_name = "CLUSTER")]
    pub clusters: Vec<String>,
    /// Format of the report.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

/// List clusters, pools, nodes and stored plans.
#[derive(Debug, Subcommand)]
pub(crate) enum GetCommand {
    /// List the clusters: provider, version, generation, holder of the lease, and result of the last run.
    Clusters(GetClustersArguments),
    /// List the pools as they were applied last: role, size, machine type, version and zones.
    Pools(GetOfClustersArguments),
    /// List the nodes, and machines that are not nodes yet: pool, phase and last error.
    ///
    /// The list comes from the API of each cluster, and for machines from its provider or its hosts, not from the state.
    Nodes(GetOfClustersArguments),
    /// List the plans in the state store: generation, approvals, and whether they still fit the state.
    Plans(GetOfClustersArguments),
}

#[derive(Debug, Args)]
pub(crate) struct GetOfClustersArguments {
    /// Name of the cluster; without it, all clusters of the state store.
    #[arg(value_name = "CLUSTER")]
    pub cluster: Option<String>,
    /// Format of the list.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct GetClustersArguments {
    /// Include deleted clusters.
    #[arg(long)]
    pub deleted: bool,
    /// Format of the list.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArguments {
    /// Saved plan to approve: a file, or `state:DIGEST` (at least eight digits of the digest).
    #[arg(value_name = "PLAN", value_hint = ValueHint::FilePath)]
    pub plan: PathBuf,
    /// Comment to store with the approval.
    #[arg(long, value_name = "TEXT")]
    pub comment: Option<String>,
    /// Take the own approval of the plan back. A run that has begun goes on.
    #[arg(long, conflicts_with = "comment")]
    pub revoke: bool,
    /// Do not ask for a confirmation.
    #[arg(short, long)]
    pub yes: bool,
    /// Show the plan without folded changes and shortened values.
    #[arg(long)]
    pub full: bool,
    #[command(flatten)]
    pub result: ResultArguments,
}
