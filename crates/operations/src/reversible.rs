//! Reversible upgrades to another minor version.
//!
//! In the first stage, the components of the control plane are those of the new release and emulate the release before. Until the
//! upgrade is finalised, there is a way back. The applied spec has the release that is emulated, so that the state knows the stage, also
//! after a run that was interrupted. Plans of files keep it: only `slipway upgrade` finalises.

use slipway_bootstrap::from_cluster::EMULATED_VERSION;
use slipway_spec::model::{Cluster, ComponentName};
use slipway_spec::value::KubernetesVersion;

use crate::error::{Error, VersionError};
use crate::opened::Opened;
use crate::spec::ClusterSpec;
use crate::version_change::at_version;

/// The components that emulate a release.
const COMPONENTS: [ComponentName; 3] =
    [ComponentName::ApiServer, ComponentName::ControllerManager, ComponentName::Scheduler];

/// The release of a control plane, and the one that it emulates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Release {
    /// The release of its components.
    pub version: KubernetesVersion,
    /// The release that they emulate; `None` for a control plane that is final.
    pub emulated: Option<KubernetesVersion>,
}

impl Release {
    /// The release of a cluster.
    pub fn of(cluster: &Cluster) -> Self {
        Self { version: cluster.kubernetes_version.clone(), emulated: cluster.emulated_version.clone() }
    }

    /// A release that emulates no other one.
    pub const fn of_version(version: KubernetesVersion) -> Self {
        Self { version, emulated: None }
    }
}

/// What a plan does with a reversible upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It begins the upgrade: the new release emulates the present one.
    Begins,
    /// It finalises the upgrade: the new release emulates no other one.
    Finalises,
    /// It goes back to the release that is emulated.
    Back,
}

/// What the change between two releases does with a reversible upgrade; `None` if it changes no stage.
pub(crate) fn turn(from: &Release, to: &Release) -> Option<Turn> {
    match (&from.emulated, &to.emulated) {
        (None, Some(_)) => Some(Turn::Begins),
        (Some(emulated), None) if to.version == *emulated => Some(Turn::Back),
        (Some(_), None) => Some(Turn::Finalises),
        (None, None) | (Some(_), Some(_)) => None,
    }
}

/// Refuses a spec whose release does not follow the applied one while an upgrade is reversible, and a stage that does not follow.
///
/// # Errors
/// [`VersionError::UnderWay`] or [`VersionError::CannotReverse`].
pub(crate) fn check(applied: &Cluster, spec: &ClusterSpec) -> Result<Option<Turn>, Error> {
    let (from, to) = (Release::of(applied), Release::of(&spec.cluster));
    let turn = turn(&from, &to);
    match (&from.emulated, &to.emulated, turn) {
        (None, None, _) | (_, _, Some(Turn::Back)) => Ok(turn),
        (None, Some(emulated), _) if *emulated == from.version && is_next(emulated, &to.version) => {
            let own_flag = sets_flag(&spec.cluster);
            own_flag.map_or(Ok(turn), |why| {
                Err(VersionError::CannotReverse { cluster: spec.cluster.name.clone(), why }.into())
            })
        }
        (None, Some(emulated), _) => Err(VersionError::CannotReverse {
            cluster: spec.cluster.name.clone(),
            why: format!(
                "{} is applied, and the control plane would emulate {emulated} with {}",
                from.version, to.version
            ),
        }
        .into()),
        (Some(before), after, _)
            if after.as_ref().is_none_or(|after| after == before)
                && is_same_minor(&from.version, &to.version) =>
        {
            Ok(turn)
        }
        (Some(emulated), _, _) => Err(under_way(&spec.cluster.name, &from.version, emulated)),
    }
}

/// The refusal of another change of version before the upgrade is final.
pub(crate) fn under_way(cluster: &str, version: &KubernetesVersion, emulated: &KubernetesVersion) -> Error {
    VersionError::UnderWay {
        cluster: cluster.to_owned(),
        version: version.clone(),
        emulated: emulated.clone(),
    }
    .into()
}

/// The stage of a spec from files, which do not have it. A spec keeps the stage of the applied one: with the version that is emulated, it
/// goes back. With a soak, another minor version begins with the first stage. A version from which an upgrade was taken back waits until
/// somebody asks for it.
pub(crate) fn with_stage(mut spec: ClusterSpec, applied: &Cluster) -> ClusterSpec {
    let (from, to) = (applied.kubernetes_version.clone(), spec.cluster.kubernetes_version.clone());
    if applied.turned_back_from.as_ref() == Some(&to) {
        let mut waiting = at_version(&spec, &spec, &from);
        waiting.cluster.turned_back_from = Some(to);
        return waiting;
    }
    if is_same_minor(&from, &to) {
        spec.cluster.emulated_version.clone_from(&applied.emulated_version);
    } else if spec.cluster.control_plane.soak.is_some()
        && applied.emulated_version.is_none()
        && is_next(&from, &to)
    {
        spec.cluster.emulated_version = Some(from);
    }
    spec
}

/// A spec that goes back because a gate is broken.
pub(crate) fn turned_back(spec: &ClusterSpec, emulated: &KubernetesVersion) -> ClusterSpec {
    let mut back = at_version(spec, spec, emulated);
    back.cluster.emulated_version = None;
    back.cluster.turned_back_from = Some(spec.cluster.kubernetes_version.clone());
    back
}

/// The first stage of an upgrade to this version.
///
/// # Errors
/// [`VersionError::CannotReverse`] if the control plane cannot emulate the present version.
pub(crate) fn first_stage(
    opened: &Opened,
    from: &KubernetesVersion,
    to: KubernetesVersion,
) -> Result<Release, Error> {
    let cluster = &opened.spec.cluster;
    match why_not(cluster, opened.is_on_hosts(), from, &to) {
        None => Ok(Release { version: to, emulated: Some(from.clone()) }),
        Some(why) => Err(VersionError::CannotReverse { cluster: cluster.name.clone(), why }.into()),
    }
}

/// Why an upgrade cannot be reversible; `None` if it can.
fn why_not(
    cluster: &Cluster,
    is_on_hosts: bool,
    from: &KubernetesVersion,
    to: &KubernetesVersion,
) -> Option<String> {
    if !is_on_hosts {
        let provider = &cluster.provider.name;
        return Some(format!(
            "its machines are made by the provider {provider}, which replaces them. Only control planes on existing hosts (provider \
             hosts) emulate a version"
        ));
    }
    if is_same_minor(from, to) {
        return Some(format!(
            "{to} is another patch release of the minor version, which has nothing to emulate"
        ));
    }
    sets_flag(cluster)
}

/// Why a control plane cannot emulate a version for Slipway: its spec has the flag already.
fn sets_flag(cluster: &Cluster) -> Option<String> {
    let sets_flag = |name: &ComponentName| cluster.component(*name).extra_args.contains_key(EMULATED_VERSION);
    let component = COMPONENTS.into_iter().find(sets_flag)?;
    Some(format!(
        "its spec sets the flag --{EMULATED_VERSION} in `components.{}.extraArgs`",
        component.as_str()
    ))
}

/// What a plan does with the stage of an upgrade, for its reader. `rest` says what happens to etcd and kubelets when it is finalised.
pub(crate) fn message(turn: Turn, from: &Release, to: &Release, rest: &str) -> String {
    let (old, new) = (&from.version, &to.version);
    match turn {
        Turn::Begins => format!(
            "stage 1 of 2: the API servers, controller managers and schedulers go from {old} to {new} and emulate 1.{}, one host after \
             the other: they provide the APIs and features of 1.{}. kube-proxy, kubelets and etcd stay as they are. `slipway upgrade --back` goes \
             back to {old}; `slipway upgrade --finalise` makes the upgrade final",
            old.minor, old.minor
        ),
        Turn::Finalises => {
            let emulated = from.emulated.as_ref().unwrap_or(old);
            format!(
                "stage 2 of 2, and the last point of return: before this plan is applied, `slipway upgrade --back` goes back to {emulated}; \
                 afterwards there is no way back. The API servers, controller managers and schedulers provide the APIs and features of \
                 1.{}, one host after the other, and kube-proxy goes to {new}; {rest}",
                new.minor
            )
        }
        Turn::Back => format!(
            "back: the API servers, controller managers and schedulers go from {old} to {new}, which they emulate, one host after the \
             other. kube-proxy, kubelets and etcd are those of {new}, and stay"
        ),
    }
}

/// Whether two versions are of one minor version.
pub(crate) fn is_same_minor(one: &KubernetesVersion, other: &KubernetesVersion) -> bool {
    (one.major, one.minor) == (other.major, other.minor)
}

/// Whether a version is of the minor version after another one.
fn is_next(before: &KubernetesVersion, after: &KubernetesVersion) -> bool {
    after.major == before.major && after.minor == before.minor + 1
}

#[cfg(test)]
mod tests;
