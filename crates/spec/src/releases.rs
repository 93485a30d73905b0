//! Releases of Kubernetes that this version of Slipway knows.

use crate::value::KubernetesVersion;

/// The newest known patch release of each supported minor version of Kubernetes 1: versions of the Go module
/// `k8s.io/client-go` of November 2026, whose minor and patch versions are those of Kubernetes.
const NEWEST_PATCHES: &[(u64, u64)] = &[(31, 14), (32, 13), (33, 13), (34, 13), (35, 10), (36, 6), (37, 2)];

/// The newest known patch release of a minor version of Kubernetes 1; its first one if none is known.
#[must_use]
pub fn newest_patch(minor: u64) -> KubernetesVersion {
    let known = NEWEST_PATCHES.iter().find(|(known, _)| *known == minor);
    KubernetesVersion::new(1, minor, known.map_or(0, |(_, patch)| *patch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::{NEWEST_MINOR, OLDEST_MINOR};

    #[test]
    fn each_supported_minor_version_has_a_known_patch_release() {
        let known: Vec<u64> = NEWEST_PATCHES.iter().map(|(minor, _)| *minor).collect();
        assert_eq!(known, (OLDEST_MINOR..=NEWEST_MINOR).collect::<Vec<_>>());
        assert_eq!(newest_patch(34).to_string(), "1.34.13");
        assert_eq!(newest_patch(99).to_string(), "1.99.0");
    }
}
