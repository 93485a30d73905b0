//! The arguments of `slipway state`, `slipway get` and `slipway approve`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::ReportFormat;

/// Look at what Slipway keeps of clusters, and mend it.
#[derive(Debug, Subcommand)]
pub(crate) enum StateCommand {
    /// Make the state store, or check that it can be relied on.
    Init(InitStoreArguments),
    /// List the resources that the state of a cluster has.
    List(ListArguments),
    /// Show what the state has of a cluster or of one of its resources. Never shows a secret.
    Show(ShowStateArguments),
    /// Show who made which generation of a cluster, when, and by what.
    History(HistoryArguments),
    /// Show what differs between two generations of a cluster.
    Diff(DiffArguments),
    /// Give a resource another address in the state. The cloud is not touched.
    ///
    /// The next plan shows what follows: the ownership of the object is rewritten where its provider can do that.
    Mv(MoveArguments),
    /// Forget a resource. The cloud is not touched.
    ///
    /// As long as the spec does not ask for its address, the object is left alone, also when the cluster is deleted.
    /// When the spec asks for it, the next apply finds it by its ownership and takes it over again.
    Rm(RemoveArguments),
    /// Write one generation of a cluster into a file.
    Export(ExportArguments),
    /// Put a generation back that was exported. It becomes a new generation.
    Import(ImportArguments),
    /// Make a lost or damaged state anew from what the cloud says.
    ///
    /// All that carries the cluster's ownership is found again. What was applied last is not known afterwards: fields
    /// that were removed from the spec in the meantime are seen again after the next apply.
    Rebuild(RebuildArguments),
    /// Take a cluster away from who holds it: nothing that they still want to write counts any more.
    BreakLease(BreakLeaseArguments),
    /// Remove what nobody needs any more: old snapshots, plans that fit no more, journals that are included.
    ///
    /// The present state is always kept, and so is the record of who made which generation.
    Gc(GcArguments),
    /// Seal everything of clusters anew, with new data keys, for the keys that the configuration names now.
    ///
    /// The old key has to be at hand too, once more. Afterwards it opens nothing that is stored. When it is
    /// interrupted, run it again.
    Rekey(RekeyArguments),
    /// Read every object of clusters and check digests, chains, seals and formats.
    ///
    /// Exits with 0 when all is sound, 1 when something is damaged.
    Verify(VerifyArguments),
}

#[derive(Debug, Args)]
pub(crate) struct InitStoreArguments {
    /// The form of the report.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// The cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// Only these addresses; `*` stands for anything.
    #[arg(value_name = "ADDRESS")]
    pub addresses: Vec<String>,
    /// The generation; the present one without.
    #[arg(long, value_name = "GENERATION")]
    pub generation: Option<u64>,
    /// The form of the list.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ShowStateArguments {
    /// The cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// Only these resources; `*` stands for anything.
    #[arg(value_name = "ADDRESS")]
    pub addresses: Vec<String>,
    /// The generation; the present one without.
    #[arg(long, value_name = "GENERATION")]
    pub generation: Option<u64>,
    /// The form of the answer.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArguments {
    /// The cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// How many of the newest generations; 0 for all.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    pub limit: usize,
    /// The form of the list.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// The cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// The generation to begin with.
    #[arg(value_name = "FROM")]
    pub from: u64,
    /// The generation to compare it with; the present one without.
    #[arg(value_name = "TO")]
    pub to: Option<u64>,
    /// The form of the answer.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
    /// Fold nothing.
    #[arg(long)]
    pub full: bool,
}

/// How a change of the state is made.
#[derive(Debug, Args)]
pub(crate) struct ChangeArguments {
    /// Do not ask.
    #[arg(short, long)]
    pub yes: bool,
    /// How long to wait for somebody else who holds the cluster, as 30s or 10m.
    #[arg(long, value_name = "DURATION", value_parser = super::run::parse_duration)]
    pub wait: Option<std::time::Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct MoveArguments {
    /// The cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// The address that the state has.
    #[arg(value_name = "FROM")]
    pub from: String,
    /// The address that the spec has.
    #[arg(value_name = "TO")]
    pub to: String,
    #[command(flatten)]
    pub change: ChangeArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    /// The cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// The resources to forget; `*` stands for anything.
    #[arg(value_name = "ADDRESS", required = true)]
    pub addresses: Vec<String>,
    #[command(flatten)]
    pub change: ChangeArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// The generation; the present one without.
    #[arg(long, value_name = "GENERATION")]
    pub generation: Option<u64>,
    /// The file to write; `-` for standard output.
    #[arg(long, value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// The file that was exported.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Put it back although the store is at this newer generation.
    #[arg(long, value_name = "GENERATION")]
    pub force: Option<u64>,
    /// Give up the cluster of this unique id, where the archive is of an earlier or later one of the same name.
    #[arg(long, value_name = "UID", requires = "force")]
    pub confirm: Option<String>,
    #[command(flatten)]
    pub change: ChangeArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RebuildArguments {
    /// The cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// Spec files and folders that have the cluster.
    #[arg(short = 'f', long = "file", required = true, num_args = 1.., value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub files: Vec<PathBuf>,
    /// The provider to use instead of the one in the spec.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Settings for the provider over those in the spec, as JSON.
    #[arg(long, value_name = "JSON", requires = "provider")]
    pub provider_config: Option<String>,
    /// Show what would be found, and write nothing; exits with 2 when there is a state to be written.
    #[arg(long)]
    pub dry_run: bool,
    /// Rebuild a state that is not damaged.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub change: ChangeArguments,
}

#[derive(Debug, Args)]
pub(crate) struct BreakLeaseArguments {
    /// The cluster.
    #[arg(value_name = "CLUSTER")]
    pub cluster: String,
    /// Confirm it by the cluster's name, without being asked.
    #[arg(long, value_name = "CLUSTER")]
    pub confirm: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct GcArguments {
    /// The clusters; all of the store without.
    #[arg(value_name = "CLUSTER")]
    pub clusters: Vec<String>,
    /// Keep so many generations before the present one.
    #[arg(long, value_name = "COUNT")]
    pub keep: Option<usize>,
    /// Keep what was the present generation within so many days.
    #[arg(long, value_name = "DAYS")]
    pub keep_days: Option<u32>,
    /// Show what would be removed, and remove nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// The form of the report.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
    #[command(flatten)]
    pub change: ChangeArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RekeyArguments {
    /// The clusters; all of the store without.
    #[arg(value_name = "CLUSTER")]
    pub clusters: Vec<String>,
    /// Wait so long for somebody else to finish, as in `30s` or `10m`.
    #[arg(long, value_name = "DURATION", value_parser = super::run::parse_duration)]
    pub wait: Option<std::time::Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// The clusters; all of the store without.
    #[arg(value_name = "CLUSTER")]
    pub clusters: Vec<String>,
    /// The form of the report.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

/// List what the state store has.
#[derive(Debug, Subcommand)]
pub(crate) enum GetCommand {
    /// List the clusters: provider, version, generation, who holds them, and how the last run ended.
    Clusters(GetClustersArguments),
}

#[derive(Debug, Args)]
pub(crate) struct GetClustersArguments {
    /// Also clusters that were deleted.
    #[arg(long)]
    pub deleted: bool,
    /// The form of the list.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArguments {
    /// The plan: a file, or `state:` and its digest, of which eight digits may be enough.
    #[arg(value_name = "PLAN", value_hint = ValueHint::FilePath)]
    pub plan: PathBuf,
    /// What there is to say about it.
    #[arg(long, value_name = "TEXT")]
    pub comment: Option<String>,
    /// Do not ask.
    #[arg(short, long)]
    pub yes: bool,
    /// Fold nothing when showing the plan.
    #[arg(long)]
    pub full: bool,
}
