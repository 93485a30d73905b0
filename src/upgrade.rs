//! The rules of version changes: forward, one minor version at a time.

use slipway_plan::Snapshot;
use slipway_spec::model::Cluster;
use slipway_spec::value::KubernetesVersion;

use crate::error::CommandError;

/// The version that the state has.
pub(crate) fn applied_version(prior: Option<&Snapshot>) -> Option<KubernetesVersion> {
    prior?.spec.get("kubernetesVersion")?.as_str()?.parse().ok()
}

/// Refuses a change of version that Kubernetes' skew policy does not allow in one step.
pub(crate) fn check_version_change(prior: Option<&Snapshot>, cluster: &Cluster) -> Result<(), CommandError> {
    let (Some(from), to) = (applied_version(prior), &cluster.kubernetes_version) else { return Ok(()) };
    if (to.major, to.minor) < (from.major, from.minor) {
        let text = format!("{}: Kubernetes cannot go back from {from} to {to}", cluster.name);
        return Err(CommandError::new("CLI0011", text)
            .hint(format!("set kubernetesVersion to {from} or later; a component of an older minor version may not read what is stored")));
    }
    if to.major != from.major || to.minor > from.minor + 1 {
        let text = format!("{}: Kubernetes cannot go from {from} to {to} in one step", cluster.name);
        return Err(CommandError::new("CLI0012", text)
            .hint(format!("`slipway upgrade --to {to}` goes one minor version at a time")));
    }
    Ok(())
}

/// The versions on the way, the last one `to` itself; empty when nothing is to be done.
///
/// Minor versions in between are taken at their first patch release.
pub(crate) fn hops(
    from: &KubernetesVersion,
    to: &KubernetesVersion,
) -> Result<Vec<KubernetesVersion>, CommandError> {
    if to < from {
        let text = format!("Kubernetes cannot go back from {from} to {to}");
        return Err(CommandError::new("CLI0011", text));
    }
    if to.major != from.major {
        return Err(CommandError::new("CLI0012", format!("there is no way from {from} to {to}")));
    }
    let mut hops: Vec<KubernetesVersion> =
        (from.minor + 1..to.minor).map(|minor| KubernetesVersion::new(from.major, minor, 0)).collect();
    if to != from {
        hops.push(to.clone());
    }
    Ok(hops)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> KubernetesVersion {
        text.parse().unwrap()
    }

    #[test]
    fn minor_versions_are_not_skipped() {
        let way = |from, to| -> Vec<String> {
            hops(&version(from), &version(to)).unwrap().iter().map(ToString::to_string).collect()
        };
        assert_eq!(way("1.33.4", "1.36.1"), ["1.34.0", "1.35.0", "1.36.1"]);
        assert_eq!(way("1.33.4", "1.33.5"), ["1.33.5"]);
        assert!(way("1.33.4", "1.33.4").is_empty());
        assert!(hops(&version("1.34.0"), &version("1.33.9")).is_err());
    }
}
