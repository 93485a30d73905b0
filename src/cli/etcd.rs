//! Arguments of `slipway etcd`.

use clap::{Args, Subcommand};

use super::{ClusterArguments, ReportFormat};

/// List, take and restore snapshots of a cluster's etcd, or recover it.
///
/// The control planes of a cluster on hosts take snapshots by themselves, on the schedule of `etcd.backups` in the spec. These
/// commands ask the control planes.
#[derive(Debug, Subcommand)]
pub(crate) enum EtcdCommand {
    /// List the snapshots of a cluster, the newest first. Changes nothing.
    ///
    /// A snapshot is listed after it was read back from its store and found to be what etcd sent.
    Snapshots(SnapshotsArguments),
    /// Take a snapshot now, and verify it.
    ///
    /// The member that leads etcd takes it. The snapshot is stored and kept like those that are taken on the schedule.
    Backup(BackupArguments),
    /// Release the free space in the databases of etcd's members, one after the other.
    ///
    /// A member answers no requests meanwhile, and one that leads hands over before. If a database has reached its quota (alarm
    /// NOSPACE), old revisions are removed before, and the alarm is cleared.
    Defragment(DefragmentArguments),
    /// Restore a cluster from a snapshot. Everything that was written after the snapshot is lost.
    ///
    /// The cluster's name confirms the restore: typed when asked, or given with `--confirm NAME`. All control planes are
    /// restored together. Their old data is kept until the API answers again. An interrupted restore goes on when the command
    /// is run again.
    Restore(RestoreArguments),
    /// Recover etcd after the loss of its majority, from the data of a control plane that is left.
    ///
    /// All control planes are asked. The newest data among them becomes a new etcd of the control planes that can be reached.
    /// The others join it with the next `slipway apply`, or are replaced. If a majority is left, the command refuses.
    ///
    /// The cluster's name confirms the recovery: typed when asked, or given with `--confirm NAME`. The old data is kept until the
    /// API answers again. An interrupted recovery goes on when the command is run again.
    Recover(RecoverArguments),
}

#[derive(Debug, Args)]
pub(crate) struct SnapshotsArguments {
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// Format of the list.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// Format of the report.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct DefragmentArguments {
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// Format of the report.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// Name of the snapshot, as `slipway etcd snapshots` lists it.
    #[arg(long, value_name = "SNAPSHOT", required_unless_present = "undo")]
    pub snapshot: Option<String>,
    /// Show what would be done and lost, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Confirm the loss with the name of the cluster.
    #[arg(long, value_name = "NAME")]
    pub confirm: Option<String>,
    /// Approve the change instead of making it, for a configuration that has `require-approval`.
    #[arg(long, conflicts_with = "dry_run")]
    pub approve: bool,
    /// Put the old data back after a restore that did not get to its end.
    #[arg(long, conflicts_with_all = ["snapshot", "dry_run"])]
    pub undo: bool,
    /// Format of the preview.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct RecoverArguments {
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// Use this snapshot instead of the data of a control plane. `slipway etcd snapshots` lists the names.
    #[arg(long, value_name = "SNAPSHOT")]
    pub from_snapshot: Option<String>,
    /// Show what would be done and lost, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Confirm the loss with the name of the cluster.
    #[arg(long, value_name = "NAME")]
    pub confirm: Option<String>,
    /// Approve the change instead of making it, for a configuration that has `require-approval`.
    #[arg(long, conflicts_with = "dry_run")]
    pub approve: bool,
    /// Put the old data back after a recovery that did not get to its end.
    #[arg(long, conflicts_with_all = ["from_snapshot", "dry_run"])]
    pub undo: bool,
    /// Format of the preview.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}
