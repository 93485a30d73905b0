//! Arguments of `slipway etcd`.

use clap::{Args, Subcommand};

use super::{ClusterArguments, ReportFormat};

/// List and take snapshots of a cluster's etcd.
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
