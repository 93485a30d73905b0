//! Upgrades: one plan for each minor version on the way, each with its own approval.

use slipway_spec::diagnostic::Severity;
use slipway_spec::value::KubernetesVersion;

use crate::environment::Environment;
use crate::error::Error;
use crate::opened::Opened;
use crate::request::Request;
use crate::spec::ClusterSpec;
use crate::state::committed;
use crate::version::{applied_version, hops};
use crate::version_change::{at_version, narrowed};

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
    /// Looks at the version that a cluster has, and finds the way to another one.
    ///
    /// # Errors
    /// When the cluster does not exist, or when there is no way.
    pub async fn begin(
        environment: &Environment,
        written: ClusterSpec,
        to: &KubernetesVersion,
    ) -> Result<Self, Error> {
        let opened = Opened::open(environment, written.clone()).await?;
        opened.check_exists("upgrade")?;
        let name = &written.cluster.name;
        // Where a run towards another version did not complete, the machines do not have that version yet.
        let complete = committed(&*environment.store(name)?.backend, name).await?;
        let from =
            applied_version(complete.as_ref())?.unwrap_or_else(|| written.cluster.kubernetes_version.clone());
        let way = hops(&from, to)?;
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

/// Refuses a way on which the spec would not be valid: a release that is not supported, or pools with versions of their own that
/// would be too old.
fn check_specs(written: &ClusterSpec, way: &[KubernetesVersion]) -> Result<(), Error> {
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
