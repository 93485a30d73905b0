//! Arguments of `slipway rotate`.

use clap::{Args, Subcommand};
use slipway_operations::rotation::RotatedKey;

use super::{RunArguments, ShowOptions, SpecArguments};

/// Rotate a key or an authority of a cluster on hosts, one stage at a time.
#[derive(Debug, Subcommand)]
pub(crate) enum RotateCommand {
    /// Rotate the key that encrypts objects in etcd.
    ///
    /// Stage 1: all API servers can decrypt with a new key. Stage 2: they encrypt with it, all objects are written again, and the bytes
    /// in etcd are checked. Stage 3: the old key is deleted. API servers are not restarted: each reads its configuration
    /// again within a minute.
    EncryptionKey(RotateArguments),
    /// Rotate the key that signs the tokens of service accounts.
    ///
    /// Stage 1: all API servers accept tokens of a new key. Stage 2: they sign with it. Stage 3: the old key is deleted, and its
    /// tokens are refused. API servers are restarted in each stage, one control plane after the other.
    SaKey(RotateArguments),
    /// Rotate the authority of the API: of its servers, its clients and the kubelets.
    ///
    /// Stage 1: API servers, kubelets and kubeconfigs trust a new authority too, and pods get both. Stage 2: all certificates are signed by
    /// the new one. Stage 3: the old one is removed, and its key is deleted. Stages 1 and 3 restart API servers, controller
    /// managers, schedulers and kubelets on one machine after the other, stage 2 only controller managers, schedulers and kubelets.
    Ca(RotateCaArguments),
    /// Rotate the authority of the API's front proxies, which aggregated APIs trust.
    ///
    /// Stage 1: API servers accept a new authority too, and publish it for aggregated APIs. Stage 2: they present certificates of the
    /// new one. Stage 3: the old one is removed, and its key is deleted. No component is restarted.
    FrontProxyCa(RotateArguments),
    /// Rotate the authority of etcd's members and of their clients.
    ///
    /// Stage 1: members and API servers accept a new authority too. Stage 2: all certificates are signed by it. Stage 3: the old one is
    /// removed; its key stays in the state for older snapshots. Stages 1 and 3 restart etcd and the API server on one control plane
    /// after the other.
    EtcdCa(RotateArguments),
}

impl RotateCommand {
    /// The key, and the arguments.
    pub fn parts(&self) -> (RotatedKey, &RotateArguments) {
        match self {
            Self::EncryptionKey(arguments) => (RotatedKey::EncryptionKey, arguments),
            Self::SaKey(arguments) => (RotatedKey::SaKey, arguments),
            Self::Ca(arguments) => (RotatedKey::KubernetesCa, &arguments.rotate),
            Self::FrontProxyCa(arguments) => (RotatedKey::FrontProxyCa, arguments),
            Self::EtcdCa(arguments) => (RotatedKey::EtcdCa, arguments),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct RotateCaArguments {
    #[command(flatten)]
    pub rotate: RotateArguments,
    /// Start pods again that were started before the cluster published its present authorities, and carry out no stage.
    ///
    /// Deployments, DaemonSets and StatefulSets start their pods again by their own rollouts, as with `kubectl rollout restart`. Other
    /// pods are listed. With `--dry-run`, all are listed and none is started again.
    #[arg(long, conflicts_with = "back")]
    pub restart_pods: bool,
    /// Approve the restart of pods instead of making it, for a configuration that has `require-approval`.
    #[arg(long, requires = "restart_pods", conflicts_with = "dry_run")]
    pub approve: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RotateArguments {
    #[command(flatten)]
    pub specs: SpecArguments,
    /// Go back to the stage before. After the last stage there is no way back.
    #[arg(long)]
    pub back: bool,
    /// Show the plan of the stage and change nothing.
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    #[command(flatten)]
    pub show: ShowOptions,
    #[command(flatten)]
    pub run: RunArguments,
}
