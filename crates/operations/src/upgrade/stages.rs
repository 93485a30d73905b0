//! The plans after the first stage of a reversible upgrade: it becomes final, or is taken back.

use slipway_spec::model::Cluster;

use super::{UpgradeStep, complete_spec};
use crate::environment::Environment;
use crate::error::{Error, VersionError};
use crate::opened::Opened;
use crate::reversible::Release;
use crate::spec::ClusterSpec;
use crate::state::spec_of;

impl UpgradeStep {
    /// The plan that makes a reversible upgrade final. Afterwards there is no way back.
    ///
    /// # Errors
    /// When the cluster does not exist, or its control plane does not emulate a version.
    pub async fn finalise(environment: &Environment, written: ClusterSpec) -> Result<Self, Error> {
        let (opened, complete, present) = specs(environment, &written).await?;
        match way_forward(&complete, &present) {
            Ok((from, to)) => Self::between(opened, &written, &from, &to),
            Err(why) => Err(none(&complete, "finalised", why)),
        }
    }

    /// The plan that takes a reversible upgrade back: the control plane becomes that of the version which it emulates. Also the first
    /// stage can be taken back if its run did not complete.
    ///
    /// # Errors
    /// When the cluster does not exist, or when there is no way back.
    pub async fn back(environment: &Environment, written: ClusterSpec) -> Result<Self, Error> {
        let (opened, complete, present) = specs(environment, &written).await?;
        match way_back(&complete, &present) {
            Ok((from, to)) => {
                let mut step = Self::between(opened, &written, &from, &to)?;
                // A controller whose files still have the version does not begin again.
                step.opened.spec.cluster.turned_back_from = Some(from.version);
                Ok(step)
            }
            Err(why) => Err(none(&complete, "taken back", why)),
        }
    }
}

/// The cluster, its spec of the last run that completed, and that of the last run which has begun.
async fn specs(
    environment: &Environment,
    written: &ClusterSpec,
) -> Result<(Opened, Cluster, Cluster), Error> {
    let opened = Opened::open(environment, written.clone()).await?;
    opened.check_exists("upgrade")?;
    let missing = || VersionError::NoAppliedSpec { cluster: written.cluster.name.clone() };
    let complete = complete_spec(environment, written).await?.ok_or_else(missing)?;
    let present = opened.prior().map(spec_of).transpose()?.flatten().ok_or_else(missing)?;
    Ok((opened, complete, present))
}

/// The release that emulates another one and the final one, or why the upgrade cannot be finalised.
fn way_forward(complete: &Cluster, present: &Cluster) -> Result<(Release, Release), String> {
    let (complete, present) = (Release::of(complete), Release::of(present));
    match (&complete.emulated, &present.emulated) {
        (Some(emulated), None) if present.version == *emulated => Err(format!(
            "a run that takes the upgrade back to {emulated} has begun; `slipway upgrade -f … --back` completes it"
        )),
        (Some(_), _) => {
            let to = Release::of_version(complete.version.clone());
            Ok((complete.clone(), to))
        }
        (None, Some(_)) => Err(format!(
            "the run of its first stage did not complete; `slipway upgrade -f … --to {}` completes it",
            present.version
        )),
        (None, None) => Err(format!(
            "its control plane has Kubernetes {}, and emulates no other version",
            complete.version
        )),
    }
}

/// The release that is left and the one that is gone back to, or why there is no way back.
fn way_back(complete: &Cluster, present: &Cluster) -> Result<(Release, Release), String> {
    let (complete, present) = (Release::of(complete), Release::of(present));
    match (&complete.emulated, &present.emulated) {
        (Some(emulated), None) if present.version != *emulated => Err(format!(
            "a run that finalises the upgrade to {} has begun; `slipway upgrade -f … --finalise` completes it",
            complete.version
        )),
        (Some(emulated), _) => {
            let to = Release::of_version(emulated.clone());
            Ok((complete.clone(), to))
        }
        // The run of the first stage did not complete.
        (None, Some(emulated)) => Ok((present.clone(), Release::of_version(emulated.clone()))),
        (None, None) => Err(format!(
            "its control plane has Kubernetes {}, and emulates no version that it could go back to",
            complete.version
        )),
    }
}

fn none(cluster: &Cluster, verb: &'static str, why: String) -> Error {
    VersionError::NotReversible { cluster: cluster.name.clone(), verb, why }.into()
}

#[cfg(test)]
mod tests {
    use slipway_spec::load_files;
    use slipway_spec::source::SourceFile;

    use super::*;

    fn cluster(version: &str, emulated: Option<&str>) -> Cluster {
        let text = format!(
            "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: {{ name: demo }}\nspec:\n  provider: {{ name: hosts }}\n  \
             kubernetesVersion: {version}\n  controlPlane:\n    endpoint: {{ elected: {{}} }}\n---\n\
             apiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{ name: control-plane }}\nspec:\n  role: controlPlane\n  \
             size: {{ fixed: 1 }}\n  hosts: {{ inventory: rack }}\n"
        );
        let mut cluster = load_files(vec![SourceFile::new("cluster.yaml", text)], &[]).clusters.remove(0);
        cluster.emulated_version = emulated.map(|emulated| emulated.parse().unwrap());
        cluster
    }

    fn back(complete: (&str, Option<&str>), present: (&str, Option<&str>)) -> Result<String, String> {
        let (complete, present) = (cluster(complete.0, complete.1), cluster(present.0, present.1));
        way_back(&complete, &present).map(|(from, to)| format!("{} {}", from.version, to.version))
    }

    fn forward(complete: (&str, Option<&str>), present: (&str, Option<&str>)) -> Result<String, String> {
        let (complete, present) = (cluster(complete.0, complete.1), cluster(present.0, present.1));
        way_forward(&complete, &present).map(|(from, to)| format!("{} {:?}", from.version, to.emulated))
    }

    #[test]
    fn an_upgrade_is_finalised_after_its_first_stage() {
        let (before, emulating, after) = (("1.33.13", None), ("1.34.4", Some("1.33.13")), ("1.34.4", None));
        let there = Ok("1.34.4 None".to_owned());
        assert_eq!(forward(emulating, emulating), there);
        assert_eq!(forward(emulating, after), there, "the run was interrupted");
        assert!(forward(before, emulating).unwrap_err().contains("--to 1.34.4"));
        assert!(forward(emulating, before).unwrap_err().contains("--back"));
        assert!(forward(before, before).unwrap_err().contains("emulates no other version"));
    }

    #[test]
    fn there_is_a_way_back_until_a_run_finalises() {
        let (before, emulating, after) = (("1.33.13", None), ("1.34.4", Some("1.33.13")), ("1.34.4", None));
        let there = Ok("1.34.4 1.33.13".to_owned());
        assert_eq!(back(emulating, emulating), there);
        assert_eq!(back(before, emulating), there, "the first stage was interrupted");
        assert_eq!(back(emulating, before), there, "the way back was interrupted");
        assert!(back(emulating, after).unwrap_err().contains("--finalise"));
        assert!(back(after, after).unwrap_err().contains("emulates no version"));
    }
}
