//! Arguments about applying or saving a plan.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueHint};

/// How a plan is applied.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RunArguments {
    /// Do not ask for a confirmation.
    #[arg(short, long)]
    pub yes: bool,
    /// Confirm a loss by name: the address of a resource, or the name of a cluster that is deleted.
    ///
    /// The plan lists the names that have to be confirmed. `--yes` does not confirm them. With several clusters, a name begins
    /// with its cluster: `CLUSTER/NAME`.
    #[arg(long, value_name = "NAME")]
    pub confirm: Vec<String>,
    /// Wait at most this long for another run to release the cluster, such as 30s or 10m.
    #[arg(long, value_name = "DURATION", value_parser = super::duration::parse_duration)]
    pub wait: Option<std::time::Duration>,
    /// Carry out at most this number of steps in the cloud at the same time.
    ///
    /// Without it, each provider limits its own calls. A lower number is slower and spares the quotas of an account that others use
    /// too. Steps on hosts and inside the cluster do not count, because some of them wait for others.
    #[arg(long, value_name = "COUNT")]
    pub parallelism: Option<NonZeroUsize>,
    /// Apply only a plan that this number of persons approved with `slipway approve`; 1 if no number is given.
    #[arg(
        long,
        value_name = "COUNT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1",
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    pub require_approval: Option<u16>,
    /// Apply only a plan that was approved by a person other than the caller.
    ///
    /// Approvals of the caller do not count. With `--require-approval=2`, two other persons must approve the plan.
    #[arg(long)]
    pub require_approval_by_other: bool,
}

/// Where the plan of a dry run is saved.
#[derive(Clone, Debug, Args)]
pub(crate) struct SaveArguments {
    /// Save the plan of a dry run to this file, for `slipway apply PLANFILE`; `state:` saves it in the state store under its
    /// digest.
    // With `--yes`, which excludes `--dry-run`, clap would require `--dry-run` no more.
    #[arg(
        long,
        value_name = "PLANFILE",
        requires = "dry_run",
        conflicts_with = "yes",
        value_hint = ValueHint::FilePath
    )]
    pub out: Option<PathBuf>,
}
