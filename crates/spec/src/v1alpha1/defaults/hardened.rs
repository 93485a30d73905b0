//! Defaults of the profile `hardened` that a document can see and change. Flags of components are in
//! `slipway-bootstrap`.

use std::collections::BTreeMap;

use crate::model::{Audit, KUBELET_SYSCTLS, PodSecurity, Profile};

/// The audit log, with the retention that the CIS Kubernetes Benchmark asks for.
pub(super) fn audit() -> Audit {
    Audit { enabled: true, max_age_days: 30, max_backups: 10, ..Audit::default() }
}

/// The Pod Security Standards of a profile.
pub(in crate::v1alpha1) fn pod_security(profile: Profile) -> Option<PodSecurity> {
    (profile == Profile::Hardened).then(PodSecurity::default)
}

/// The kernel parameters of a document, and in the profile `hardened` those that its kubelets require.
pub(in crate::v1alpha1) fn sysctls(
    written: BTreeMap<String, String>,
    profile: Profile,
) -> BTreeMap<String, String> {
    if profile != Profile::Hardened {
        return written;
    }
    let required = KUBELET_SYSCTLS.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut all = BTreeMap::from(required);
    all.extend(written);
    all
}
