use super::context::{Context, error};
use crate::diagnostic::code::{UNSUPPORTED_VERSION, VERSION_SKEW};
use crate::value::KubernetesVersion;

/// The oldest minor of Kubernetes 1 that is supported.
pub const OLDEST_MINOR: u64 = 31;
/// The newest minor of Kubernetes 1 that is supported.
pub const NEWEST_MINOR: u64 = 37;
/// The minor that new specs name: one that has had its patches.
pub const PROVEN_MINOR: u64 = 35;
/// How many minors a kubelet may be older than the API server (kubernetes.io/releases/version-skew-policy).
const KUBELET_SKEW: u64 = 3;

/// Whether this version of Slipway supports a version of Kubernetes.
#[must_use]
pub fn is_supported(version: &KubernetesVersion) -> bool {
    version.major == 1 && (OLDEST_MINOR..=NEWEST_MINOR).contains(&version.minor)
}

/// The releases are known, and fit together.
pub(super) fn check(context: &mut Context<'_>) {
    let cluster = context.cluster;
    let version = &cluster.kubernetes_version;
    if !is_supported(version) {
        let wanted = version.minor.clamp(OLDEST_MINOR, NEWEST_MINOR);
        let complaint = error(
            UNSUPPORTED_VERSION,
            format!("Kubernetes {version} is not supported"),
            format!("supported are 1.{OLDEST_MINOR} to 1.{NEWEST_MINOR}; the nearest is 1.{wanted}"),
        );
        context.at("kubernetesVersion", complaint);
    }
    if !context.trusts("kubernetesVersion") {
        return;
    }
    for pool in &cluster.pools {
        let kubelet = &pool.kubernetes_version;
        let path = format!("pools[{}].kubernetesVersion", pool.name);
        let problem = if kubelet.get() > version.get() {
            format!("is newer than the control plane's {version}")
        } else if kubelet.major != version.major || version.minor - kubelet.minor > KUBELET_SKEW {
            format!("is more than {KUBELET_SKEW} minors older than the control plane's {version}")
        } else if pool.role != crate::model::Role::Worker && kubelet != version {
            format!("differs from the control plane's {version}, which this pool is part of")
        } else {
            continue;
        };
        let complaint = error(
            VERSION_SKEW,
            format!("the pool `{}`: Kubernetes {kubelet} {problem}", pool.name),
            format!(
                "leave the field out to follow the cluster, or write a version of 1.{} to {version}",
                version.minor.saturating_sub(KUBELET_SKEW)
            ),
        )
        .related("the control plane's version", "kubernetesVersion");
        if pool.role != crate::model::Role::Bastion {
            context.at(&path, complaint);
        }
    }
}
