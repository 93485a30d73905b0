//! Versions of Kubernetes and of its images.

use slipway_cluster_input::value::KubernetesVersion;

mod images;

pub use images::Images;
pub(crate) use images::image_tag;

/// The default release: that of kubeadm 1.34.
pub const DEFAULT_KUBERNETES: KubernetesVersion = KubernetesVersion::new(1, 34, 4);
/// Major and minor of the oldest release that a control plane may have.
pub const OLDEST_KUBERNETES: (u64, u64) = (1, 33);
/// The tag of the image that holds a pod's namespaces.
pub const PAUSE_TAG: &str = "3.10.1";
/// The oldest supported release of an external etcd.
pub const OLDEST_EXTERNAL_ETCD: (u64, u64, u64) = (3, 5, 24);

/// The tag of etcd's image for a release. For an unknown release, that of the closest known minor.
#[must_use]
pub fn etcd_tag(kubernetes: &KubernetesVersion) -> &'static str {
    if kubernetes.minor >= 34 { "3.6.5-0" } else { "3.5.24-0" }
}

/// The tag of CoreDNS's image for a release: that of kubeadm. 1.33 has the one of 1.34, which is a later patch release. For an unknown
/// release, that of the closest known minor.
#[must_use]
pub fn core_dns_tag(kubernetes: &KubernetesVersion) -> &'static str {
    match kubernetes.minor {
        ..=34 => "v1.12.1",
        35 => "v1.13.1",
        36.. => "v1.14.2",
    }
}

/// kubeadm's feature gates, and their defaults.
pub const FEATURE_GATES: [(&str, bool); 5] = [
    ("ControlPlaneKubeletLocalMode", true),
    ("NodeLocalCRISocket", true),
    ("PublicKeysECDSA", false),
    ("RootlessControlPlane", false),
    ("WaitForAllControlPlaneComponents", true),
];

/// Whether one of kubeadm's feature gates is on by default; unknown ones are off.
#[must_use]
pub fn feature_gate_default(name: &str) -> bool {
    FEATURE_GATES.iter().any(|(gate, on)| *gate == name && *on)
}
