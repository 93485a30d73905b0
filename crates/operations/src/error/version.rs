//! Why the version of a cluster is not changed.

use slipway_spec::diagnostic::code::UNSUPPORTED_VERSION;
use slipway_spec::source::Location;
use slipway_spec::validate::{NEWEST_MINOR, OLDEST_MINOR};
use slipway_spec::value::KubernetesVersion;

use super::problem::{KubeletProblem, about, at};

/// Why the version of a cluster is not changed, or why an upgrade neither goes on nor back.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    /// Another spec was applied while an upgrade was under way.
    #[error("{cluster}: another spec was applied since this upgrade began")]
    OtherSpecApplied {
        /// The cluster.
        cluster: String,
    },
    /// The state does not have the spec that an upgrade starts from.
    #[error("{cluster}: the state does not have the spec that was applied last")]
    NoAppliedSpec {
        /// The cluster.
        cluster: String,
    },
    /// A plan of a part of the cluster would change its version.
    #[error(
        "{cluster}: the spec asks for Kubernetes {to} and {from} is applied; a part of the cluster cannot change the version"
    )]
    Partial {
        /// The cluster.
        cluster: String,
        /// The version that is applied.
        from: KubernetesVersion,
        /// The version of the spec.
        to: KubernetesVersion,
    },
    /// Kubernetes does not support a lower version.
    #[error("{}Kubernetes cannot go back from {from} to {to}{}", about(cluster), at(place))]
    Back {
        /// The cluster, where one is meant.
        cluster: Option<String>,
        /// The version that is applied.
        from: KubernetesVersion,
        /// The requested version.
        to: KubernetesVersion,
        /// Where the spec asks for it.
        place: Option<Location>,
        /// Whether that is in a base of an environment, which other environments may have too.
        is_in_base: bool,
    },
    /// An upgrade did not complete, and the spec has an older version than it.
    #[error(
        "{cluster}: its upgrade from Kubernetes {from} to {to} did not complete, and cannot go back to {requested}{}",
        at(place)
    )]
    Unfinished {
        /// The cluster.
        cluster: String,
        /// The version of the last run that is complete.
        from: KubernetesVersion,
        /// The version of the upgrade.
        to: KubernetesVersion,
        /// The requested version.
        requested: KubernetesVersion,
        /// Where the spec asks for it.
        place: Option<Location>,
    },
    /// Kubernetes is upgraded one minor version at a time.
    #[error("{cluster}: Kubernetes cannot go from {from} to {to} in one step")]
    Skipped {
        /// The cluster.
        cluster: String,
        /// The version that is applied.
        from: KubernetesVersion,
        /// The version of the spec.
        to: KubernetesVersion,
    },
    /// There is no way to another major version.
    #[error("there is no way from {from} to {to}")]
    OtherMajor {
        /// The version that is applied.
        from: KubernetesVersion,
        /// The requested version.
        to: KubernetesVersion,
    },
    /// An upgrade to a version that this version of Slipway does not support.
    #[error("Kubernetes {to}, to which the cluster would be upgraded, is not supported; nothing was done")]
    Unsupported {
        /// The requested version.
        to: KubernetesVersion,
    },
    /// A version that an upgrade is asked to take is none of its steps.
    #[error("Kubernetes {version} is no step of an upgrade from {from} to {to}")]
    NotOnTheWay {
        /// The version that the caller names.
        version: KubernetesVersion,
        /// The version that is applied.
        from: KubernetesVersion,
        /// The requested version.
        to: KubernetesVersion,
    },
    /// Two patch releases of one minor version are named for the way of an upgrade.
    #[error(
        "an upgrade takes one patch release of each minor version: {first} and {second} are of the same one"
    )]
    TwoOnTheWay {
        /// The version that is named first.
        first: KubernetesVersion,
        /// The other one.
        second: KubernetesVersion,
    },
    /// Another change of version while an upgrade is reversible.
    #[error(
        "{cluster} has Kubernetes {version} and emulates {emulated}: this upgrade is not final; nothing was done"
    )]
    UnderWay {
        /// The cluster.
        cluster: String,
        /// The version of its control plane.
        version: KubernetesVersion,
        /// The version that its control plane emulates.
        emulated: KubernetesVersion,
    },
    /// A control plane cannot emulate the version before.
    #[error("the upgrade of {cluster} cannot be reversible: {why}; nothing was done")]
    CannotReverse {
        /// The cluster.
        cluster: String,
        /// Why not.
        why: String,
    },
    /// There is no reversible upgrade to finalise or to take back.
    #[error("no upgrade of {cluster} can be {verb}: {why}; nothing was done")]
    NotReversible {
        /// The cluster.
        cluster: String,
        /// What cannot be done: finalised, or taken back.
        verb: &'static str,
        /// Why not.
        why: String,
    },
    /// Kubelets on hosts would be left too far behind.
    #[error("{cluster}: Kubernetes cannot go from {from} to {to}: its kubelets stand in the way")]
    Kubelets {
        /// The cluster.
        cluster: String,
        /// The version that is applied.
        from: KubernetesVersion,
        /// The version of the spec.
        to: KubernetesVersion,
        /// Which, or why that is not known.
        problem: KubeletProblem,
    },
}

impl VersionError {
    /// The stable code, with a page in `docs/errors/`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Back { .. } => "CLI0011",
            Self::Skipped { .. } | Self::OtherMajor { .. } => "CLI0012",
            Self::Partial { .. } => "CLI0071",
            Self::NotOnTheWay { .. } | Self::TwoOnTheWay { .. } => "CLI0072",
            Self::UnderWay { .. } => "CLI0074",
            Self::CannotReverse { .. } => "CLI0075",
            Self::NotReversible { .. } => "CLI0076",
            Self::Unfinished { .. } => "CLI0078",
            Self::NoAppliedSpec { .. } => "CLI0080",
            Self::OtherSpecApplied { .. } => "CLI0081",
            Self::Kubelets { .. } => "HOST0002",
            Self::Unsupported { .. } => UNSUPPORTED_VERSION.id,
        }
    }

    /// Its causes, one sentence for each.
    #[must_use]
    pub fn causes(&self) -> Vec<String> {
        match self {
            Self::Kubelets { problem: KubeletProblem::TooOld(nodes), .. } => nodes.clone(),
            Self::Kubelets { problem: KubeletProblem::Unknown(reason), .. } => {
                vec![format!("the versions of the kubelets cannot be read: {reason}")]
            }
            _ => Vec::new(),
        }
    }

    /// The ways out, each a command or an edit.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        let one = |text: &str| vec![text.to_owned()];
        match self {
            Self::NoAppliedSpec { .. } => one(
                "`slipway apply -f …` with the version that the cluster has records it; upgrade after that",
            ),
            Self::OtherSpecApplied { .. } => {
                one("run `slipway upgrade` again: it starts from the spec that is applied now")
            }
            Self::Partial { to, .. } => vec![format!(
                "`slipway upgrade -f … --to {to}` changes it for the whole cluster; do the part before or after"
            )],
            Self::Back { cluster: Some(_), from, place, is_in_base, .. } => vec![match place {
                Some(_) if *is_in_base => format!(
                    "set the version to {from} in the environment of this cluster, in `values` or a patch: other environments may \
                     have its base"
                ),
                Some(place) => format!("write `kubernetesVersion: {from}` into {}", place.file),
                None => format!("set `kubernetesVersion` to {from} or later"),
            }],
            Self::Unfinished { to, .. } => {
                vec![format!(
                    "`slipway upgrade -f … --to {to}` continues the upgrade, and then writes the version into the spec"
                )]
            }
            Self::Back { cluster: None, from, .. } => {
                vec![format!("the cluster has {from}: name a later version with `--to`; {}", supported())]
            }
            Self::OtherMajor { .. } | Self::Unsupported { .. } => {
                vec![format!("name another version with `--to`; {}", supported())]
            }
            Self::Skipped { to, .. } => {
                vec![format!("`slipway upgrade -f … --to {to}` goes one minor version at a time")]
            }
            Self::NotOnTheWay { .. } | Self::TwoOnTheWay { .. } => one(
                "name one patch release of each minor version between the two, or none: `slipway upgrade -f …` lists them",
            ),
            Self::UnderWay { emulated, .. } => vec![
                "`slipway upgrade -f … --finalise` makes the upgrade final; upgrade further after that"
                    .to_owned(),
                format!("`slipway upgrade -f … --back` goes back to {emulated}"),
            ],
            Self::CannotReverse { .. } => one(
                "without `--reversible`, `slipway upgrade -f … --to VERSION` upgrades in one plan, without a way back",
            ),
            Self::NotReversible { .. } => one(
                "`slipway upgrade -f …` says which version the cluster has, and which one its control plane emulates",
            ),
            Self::Kubelets { problem: KubeletProblem::TooOld(_), .. } => {
                one("upgrade the kubelet's package on these hosts first, one host after the other")
            }
            Self::Kubelets { problem: KubeletProblem::Unknown(_), .. } => {
                one("bring the cluster's API back first: `slipway validate` says what is wrong")
            }
        }
    }
}

/// The supported versions of Kubernetes, as a part of a hint.
fn supported() -> String {
    format!("supported are 1.{OLDEST_MINOR} to 1.{NEWEST_MINOR}")
}
