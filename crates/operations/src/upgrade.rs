//! Upgrades: one plan for each minor version on the way, each with its own approval.

mod baseline;

use slipway_spec::diagnostic::Severity;
use slipway_spec::model::Programs;
use slipway_spec::releases::newest_patch;
use slipway_spec::validate::{NEWEST_MINOR, is_supported};
use slipway_spec::value::KubernetesVersion;

use crate::environment::Environment;
use crate::error::Error;
use crate::opened::Opened;
use crate::request::Request;
use crate::spec::ClusterSpec;
use crate::state::committed;
use crate::version::{Choices, applied_version, hops};
use crate::version_change::{at_version, narrowed};

pub use baseline::Baseline;

/// An upgrade of a cluster that exists.
pub struct Upgrade {
    written: ClusterSpec,
    way: Vec<KubernetesVersion>,
    /// The version that the next step leaves.
    from: KubernetesVersion,
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
    /// The number of the step, from 1 on.
    pub number: usize,
    /// The versions of the steps after it.
    pub later: Vec<KubernetesVersion>,
}

impl Upgrade {
    /// Looks at the version that a cluster has, and finds the way to another one. `via` are patch releases of the minor versions in
    /// between; of others, the way has the newest one whose kubelet the spec lists, or the newest known one.
    ///
    /// # Errors
    /// When the cluster does not exist, or when there is no way.
    pub async fn begin(
        environment: &Environment,
        written: ClusterSpec,
        to: &KubernetesVersion,
        via: &[KubernetesVersion],
    ) -> Result<Self, Error> {
        let opened = Opened::open(environment, written.clone()).await?;
        opened.check_exists("upgrade")?;
        let from = complete_version(environment, &written).await?;
        let from = from.unwrap_or_else(|| written.cluster.kubernetes_version.clone());
        let way = hops(&from, to, &Choices { via, programs: &written.cluster.assets.programs })?;
        // Where the state has the version already, the spec still may not.
        let way = if way.is_empty() { vec![to.clone()] } else { way };
        check_specs(&written, &way)?;
        Ok(Self { written, way, from, begun: 0, opened: Some(opened) })
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
        let Some(version) = self.way.get(self.begun).cloned() else { return Ok(None) };
        let opened = match self.opened.take() {
            Some(opened) => opened,
            None => Opened::open(environment, self.written.clone()).await?,
        };
        let (spec, change) = narrowed(&self.written, opened.state.as_ref(), &self.from, &version)?;
        self.begun += 1;
        self.from = version.clone();
        Ok(Some(UpgradeStep {
            opened: opened.with_spec(spec),
            request: Request::version(change),
            version,
            number: self.begun,
            later: self.way.iter().skip(self.begun).cloned().collect(),
        }))
    }
}

/// The version of a cluster, and the versions to which it can be upgraded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpgradeVersions {
    /// The version that the cluster has.
    pub current: KubernetesVersion,
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
        let current = complete_version(environment, written).await?.ok_or_else(missing)?;
        Self::after(current, &written.cluster.assets.programs)
    }

    /// The versions after this one.
    fn after(current: KubernetesVersion, programs: &Programs) -> Result<Self, Error> {
        let choices = Choices { via: &[], programs };
        let mut offered: Vec<KubernetesVersion> =
            (current.minor..=NEWEST_MINOR).map(|minor| choices.of(minor)).collect();
        // A listed kubelet is no reason to hide a newer patch release of the version that the cluster has.
        offered.push(newest_patch(current.minor));
        offered.retain(|version| *version > current);
        offered.sort();
        offered.dedup();
        let ways = offered.iter().map(|to| hops(&current, to, &choices)).collect::<Result<_, _>>()?;
        Ok(Self { current, ways })
    }
}

/// The version of the last run that completed. Where a run towards another version did not complete, the machines do not have that
/// version yet.
async fn complete_version(
    environment: &Environment,
    written: &ClusterSpec,
) -> Result<Option<KubernetesVersion>, Error> {
    let name = &written.cluster.name;
    let complete = committed(&*environment.store(name)?.backend, name).await?;
    applied_version(complete.as_ref())
}

/// Refuses a way with a release that is not supported, or on which the spec would not be valid: pools with versions of their own
/// would be too old.
fn check_specs(written: &ClusterSpec, way: &[KubernetesVersion]) -> Result<(), Error> {
    // The last one first: it is the one that was asked for.
    if let Some(version) = way.iter().rev().find(|version| !is_supported(version)) {
        return Err(Error::UnsupportedVersion { to: version.clone() });
    }
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
            let versions = UpgradeVersions::after(current.parse().unwrap(), &Programs::default()).unwrap();
            versions.ways.iter().map(|way| way.iter().map(ToString::to_string).collect()).collect()
        };
        let known = |minor| newest_patch(minor).to_string();
        assert_eq!(ways("1.35.2"), [vec![known(35)], vec![known(36)], vec![known(36), known(NEWEST_MINOR)]]);
        assert!(ways(&known(NEWEST_MINOR)).is_empty());
        assert!(ways("1.99.0").is_empty());
    }
}
