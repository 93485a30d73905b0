//! Upgrades: one plan for each minor version on the way, each with its own approval. The plan of a reversible upgrade is followed by
//! another one, which finalises it or goes back.

mod baseline;
mod stages;

use slipway_engine::State;
use slipway_spec::diagnostic::Severity;
use slipway_spec::model::{Cluster, Programs};
use slipway_spec::releases::newest_patch;
use slipway_spec::validate::{NEWEST_MINOR, is_supported};
use slipway_spec::value::KubernetesVersion;

use crate::environment::Environment;
use crate::error::{Error, VersionError};
use crate::opened::Opened;
use crate::request::Request;
use crate::reversible::{self, Release, is_same_minor};
use crate::spec::ClusterSpec;
use crate::state::{committed, spec_of};
use crate::version::{Choices, hops};
use crate::version_change::{at_version, narrowed};

pub use baseline::Baseline;

/// Whether an upgrade to another minor version has a way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayBack {
    /// Each plan is final.
    None,
    /// The control plane emulates the version before, until another plan finalises the upgrade. There is one plan only: the next minor
    /// version follows when the upgrade is final.
    Emulation,
}

/// An upgrade of a cluster that exists.
pub struct Upgrade {
    written: ClusterSpec,
    way: Vec<Release>,
    /// The release that the next step leaves.
    from: Release,
    /// How many steps have begun.
    begun: usize,
    /// The cluster as the upgrade found it, until its first step.
    opened: Option<Opened>,
}

/// One step of an upgrade.
pub struct UpgradeStep {
    /// The cluster, with the spec that is applied at the version of the step.
    pub opened: Opened,
    /// The request for the step.
    pub request: Request,
    /// The version that the step brings.
    pub version: KubernetesVersion,
    /// The version that the control plane emulates after the step, if it does.
    pub emulates: Option<KubernetesVersion>,
    /// The number of the step, from 1 on.
    pub number: usize,
    /// The versions of the steps after it.
    pub later: Vec<KubernetesVersion>,
}

impl Upgrade {
    /// Looks at the version that a cluster has, and finds the way to another one. `via` are patch releases of the minor versions in
    /// between; of others, the way has the one that an interrupted upgrade has begun, the newest one whose kubelet the spec lists, or
    /// the newest known one. A reversible upgrade that was interrupted goes on as one. So does an upgrade of a spec with a soak.
    ///
    /// # Errors
    /// When the cluster does not exist, when there is no way, or when the upgrade cannot be reversible.
    pub async fn begin(
        environment: &Environment,
        written: ClusterSpec,
        to: &KubernetesVersion,
        via: &[KubernetesVersion],
        back: WayBack,
    ) -> Result<Self, Error> {
        let opened = Opened::open(environment, written.clone()).await?;
        opened.check_exists("upgrade")?;
        let from = complete_release(environment, &written).await?;
        let from = from.unwrap_or_else(|| Release::of(&written.cluster));
        let way = match &from.emulated {
            Some(emulated) if is_same_minor(&from.version, to) => {
                vec![Release { version: to.clone(), emulated: Some(emulated.clone()) }]
            }
            Some(emulated) => {
                return Err(reversible::under_way(&written.cluster.name, &from.version, emulated));
            }
            None => {
                let begun = opened.prior().map(spec_of).transpose()?.flatten();
                let begun = begun.map(|begun| begun.kubernetes_version);
                let via = with_begun(&from.version, to, via, begun.as_ref());
                let choices = Choices { via: &via, programs: &written.cluster.assets.programs };
                let way = hops(&from.version, to, &choices)?;
                // Where the state has the version already, the spec still may not.
                let way = if way.is_empty() { vec![to.clone()] } else { way };
                check_supported(&way)?;
                let is_asked = back == WayBack::Emulation;
                let has_soak = written.cluster.control_plane.soak.is_some() || has_begun_stage(&opened)?;
                match way.first() {
                    Some(first) if is_asked || has_soak && !is_same_minor(&from.version, first) => {
                        vec![reversible::first_stage(&opened, &from.version, first.clone())?]
                    }
                    _ => way.into_iter().map(Release::of_version).collect(),
                }
            }
        };
        check_specs(&written, way.iter().map(|release| &release.version))?;
        Ok(Self { written, way, from, begun: 0, opened: Some(opened) })
    }

    /// The version that the next step leaves.
    #[must_use]
    pub fn present(&self) -> &KubernetesVersion {
        &self.from.version
    }

    /// How many steps there are.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.way.len()
    }

    /// The next step; `None` after the last one. It starts from the result of the previous step, so call this
    /// after that step is complete.
    ///
    /// # Errors
    /// When the state of the cluster cannot be read, or does not have its spec.
    pub async fn next(&mut self, environment: &Environment) -> Result<Option<UpgradeStep>, Error> {
        let Some(release) = self.way.get(self.begun).cloned() else { return Ok(None) };
        let opened = match self.opened.take() {
            Some(opened) => opened,
            None => Opened::open(environment, self.written.clone()).await?,
        };
        let step = UpgradeStep::between(opened, &self.written, &self.from, &release)?;
        self.begun += 1;
        self.from = release;
        Ok(Some(UpgradeStep {
            number: self.begun,
            later: self.way.iter().skip(self.begun).map(|release| release.version.clone()).collect(),
            ..step
        }))
    }
}

impl UpgradeStep {
    /// The only step between two releases.
    fn between(opened: Opened, written: &ClusterSpec, from: &Release, to: &Release) -> Result<Self, Error> {
        let (spec, change) = narrowed(written, opened.state.as_ref(), from, to)?;
        Ok(Self {
            opened: opened.with_spec(spec),
            request: Request::version(change),
            version: to.version.clone(),
            emulates: to.emulated.clone(),
            number: 1,
            later: Vec::new(),
        })
    }
}

/// The version of a cluster, and the versions to which it can be upgraded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpgradeVersions {
    /// The version that the cluster has.
    pub current: KubernetesVersion,
    /// The version that its control plane emulates, if an upgrade is not final. Other minor versions are not offered then.
    pub emulated: Option<KubernetesVersion>,
    /// The version of an upgrade that did not complete. No older version is offered then.
    pub unfinished: Option<KubernetesVersion>,
    /// One way for each version that is offered, the oldest first: the version of each step, the offered one last.
    pub ways: Vec<Vec<KubernetesVersion>>,
}

impl UpgradeVersions {
    /// Reads the version of a cluster from its state, and finds the versions after it. Calls neither a provider nor the cluster.
    ///
    /// # Errors
    /// When the cluster does not exist, or its state cannot be read.
    pub async fn of(environment: &Environment, written: &ClusterSpec) -> Result<Self, Error> {
        let name = &written.cluster.name;
        let place = environment.store(name)?.place.clone();
        let missing = || Error::NotMadeYet { cluster: name.clone(), place, verb: "upgrade" };
        let current = complete_release(environment, written).await?.ok_or_else(missing)?;
        let state = State::read(&*environment.store(name)?.backend, name).await?;
        let begun = state.map(|state| spec_of(&state.snapshot)).transpose()?.flatten();
        let begun = begun.map(|begun| begun.kubernetes_version);
        let unfinished = begun.filter(|begun| *begun > current.version);
        Self::after(current, unfinished, &written.cluster.assets.programs)
    }

    /// The versions after this one.
    fn after(
        current: Release,
        unfinished: Option<KubernetesVersion>,
        programs: &Programs,
    ) -> Result<Self, Error> {
        let Release { version: current, emulated } = current;
        let choices = Choices { via: &[], programs };
        let begun = unfinished.as_ref();
        let mut offered: Vec<KubernetesVersion> =
            (current.minor..=NEWEST_MINOR).map(|minor| choices.of(minor)).collect();
        // A listed kubelet is no reason to hide a newer patch release of the version that the cluster has.
        offered.push(newest_patch(current.minor));
        offered.extend(unfinished.clone());
        let is_open = |version: &KubernetesVersion| emulated.is_none() || is_same_minor(version, &current);
        let is_ahead = |version: &KubernetesVersion| {
            *version > current && unfinished.as_ref().is_none_or(|unfinished| version >= unfinished)
        };
        offered.retain(|version| is_ahead(version) && is_open(version));
        offered.sort();
        offered.dedup();
        let way = |to: &KubernetesVersion| {
            let via = with_begun(&current, to, &[], begun);
            hops(&current, to, &Choices { via: &via, programs })
        };
        let ways = offered.iter().map(way).collect::<Result<_, _>>()?;
        Ok(Self { current, emulated, unfinished, ways })
    }
}

/// The patch releases on the way from a version to another one that are chosen already: those that the caller names, and the one that
/// an interrupted upgrade has begun. Some machines have this one: the way passes it, unless the caller names another patch release of
/// its minor version.
fn with_begun(
    from: &KubernetesVersion,
    to: &KubernetesVersion,
    named: &[KubernetesVersion],
    begun: Option<&KubernetesVersion>,
) -> Vec<KubernetesVersion> {
    let is_passed = |begun: &&KubernetesVersion| {
        *begun > from
            && *begun < to
            && !is_same_minor(begun, from)
            && !is_same_minor(begun, to)
            && !named.iter().any(|version| is_same_minor(version, begun))
    };
    named.iter().chain(begun.filter(is_passed)).cloned().collect()
}

/// The spec of the last run that completed. Where a run towards another version did not complete, the machines do not have that
/// version yet.
async fn complete_spec(environment: &Environment, written: &ClusterSpec) -> Result<Option<Cluster>, Error> {
    let name = &written.cluster.name;
    let complete = committed(&*environment.store(name)?.backend, name).await?;
    Ok(complete.as_ref().map(spec_of).transpose()?.flatten())
}

/// The release of the last run that completed.
async fn complete_release(
    environment: &Environment,
    written: &ClusterSpec,
) -> Result<Option<Release>, Error> {
    Ok(complete_spec(environment, written).await?.as_ref().map(Release::of))
}

/// Whether a run has begun the first stage of a reversible upgrade.
fn has_begun_stage(opened: &Opened) -> Result<bool, Error> {
    let begun = opened.prior().map(spec_of).transpose()?.flatten();
    Ok(begun.is_some_and(|cluster| cluster.emulated_version.is_some()))
}

/// Refuses a way with a release that is not supported.
fn check_supported(way: &[KubernetesVersion]) -> Result<(), Error> {
    // The last one first: it is the one that was asked for.
    match way.iter().rev().find(|version| !is_supported(version)) {
        Some(version) => Err(VersionError::Unsupported { to: version.clone() }.into()),
        None => Ok(()),
    }
}

/// Refuses a way on which the spec would not be valid: pools with versions of their own would be too old.
fn check_specs<'a>(
    written: &ClusterSpec,
    way: impl Iterator<Item = &'a KubernetesVersion>,
) -> Result<(), Error> {
    for version in way {
        let next = at_version(written, written, version);
        let mut problems = slipway_spec::validate::cluster(&next.cluster, &next.sources, &[]);
        problems.retain(|problem| problem.severity == Severity::Error);
        if !problems.is_empty() {
            return Err(Error::Specs(problems));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_patch_release_and_each_later_minor_version_are_offered() {
        let ways = |current: &str| -> Vec<Vec<String>> {
            let current = Release::of_version(current.parse().unwrap());
            let versions = UpgradeVersions::after(current, None, &Programs::default()).unwrap();
            versions.ways.iter().map(|way| way.iter().map(ToString::to_string).collect()).collect()
        };
        let known = |minor| newest_patch(minor).to_string();
        assert_eq!(ways("1.35.2"), [vec![known(35)], vec![known(36)], vec![known(36), known(NEWEST_MINOR)]]);
        assert!(ways(&known(NEWEST_MINOR)).is_empty());
        assert!(ways("1.99.0").is_empty());
    }

    #[test]
    fn only_patch_releases_are_offered_while_an_upgrade_is_not_final() {
        let version = |text: &str| -> KubernetesVersion { text.parse().unwrap() };
        let current = Release { version: version("1.35.2"), emulated: Some(version("1.34.4")) };
        let versions = UpgradeVersions::after(current, None, &Programs::default()).unwrap();
        assert_eq!(versions.ways, [vec![newest_patch(35)]]);
        assert_eq!(versions.emulated, Some(version("1.34.4")));
    }

    #[test]
    fn the_way_passes_the_release_that_an_interrupted_upgrade_has_begun() {
        let version = |text: &str| -> KubernetesVersion { text.parse().unwrap() };
        let via = |to: &str, named: &[&str], begun: Option<&str>| -> Vec<String> {
            let named: Vec<KubernetesVersion> = named.iter().map(|text| version(text)).collect();
            let begun = begun.map(version);
            let via = with_begun(&version("1.35.0"), &version(to), &named, begun.as_ref());
            via.iter().map(ToString::to_string).collect()
        };
        assert_eq!(via("1.37.2", &[], Some("1.36.2")), ["1.36.2"]);
        assert_eq!(via("1.37.2", &["1.36.6"], Some("1.36.2")), ["1.36.6"], "it is asked for");
        assert!(via("1.36.6", &[], Some("1.36.2")).is_empty(), "the minor version is the last one");
        assert!(via("1.37.2", &[], Some("1.35.0")).is_empty(), "no upgrade has begun");
        assert!(via("1.37.2", &[], None).is_empty());
    }

    #[test]
    fn an_upgrade_that_did_not_complete_is_continued_before_others() {
        let version = |text: &str| -> KubernetesVersion { text.parse().unwrap() };
        let current = Release::of_version(version("1.35.2"));
        let unfinished = Some(version("1.36.2"));
        let versions = UpgradeVersions::after(current, unfinished, &Programs::default()).unwrap();
        let ways: Vec<Vec<String>> =
            versions.ways.iter().map(|way| way.iter().map(ToString::to_string).collect()).collect();
        assert_eq!(ways[0], ["1.36.2"], "{ways:?}");
        assert_eq!(ways.last().unwrap().first().unwrap(), "1.36.2", "{ways:?}");
        assert_eq!(*ways.last().unwrap().last().unwrap(), newest_patch(NEWEST_MINOR).to_string());
        assert!(ways.iter().flatten().all(|step| !step.starts_with("1.35.")), "{ways:?}");
    }
}
