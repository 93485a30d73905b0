use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use slipway_cluster_input::value::KubernetesVersion;

use super::{ApiBalancer, ApiServer, Component, Endpoint, Etcd, GoDuration, Image, Networking};
use crate::version;

/// What all nodes of a cluster share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterSettings {
    /// The cluster's name in kubeconfigs and in the controller manager's flags; `kubernetes` unless given.
    pub name: String,
    /// The release of the control plane.
    pub kubernetes_version: KubernetesVersion,
    /// The stable address of the API for nodes and users, where there is one beside each node's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<Endpoint>,
    /// The balancer through which the components of each node reach the API. kubeadm has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_balancer: Option<ApiBalancer>,
    /// The ranges of services and pods, and the DNS domain.
    pub networking: Networking,
    /// The absolute path of the folder of keys and certificates; `/etc/kubernetes/pki` unless given.
    pub certificates_dir: String,
    /// The registry and path of the control plane's images; `registry.k8s.io` unless given.
    pub image_repository: String,
    /// The images of components in place of those of the release. kubeadm has no field for them.
    #[serde(default, skip_serializing_if = "GivenImages::is_empty")]
    pub given_images: GivenImages,
    /// The algorithm of keys that are made.
    pub encryption_algorithm: EncryptionAlgorithm,
    /// How long certificates that are no CA are valid; a year unless given.
    pub certificate_validity_period: GoDuration,
    /// How long CAs are valid; ten years unless given.
    pub ca_certificate_validity_period: GoDuration,
    /// The API server.
    pub api_server: ApiServer,
    /// The controller manager.
    pub controller_manager: Component,
    /// The scheduler.
    pub scheduler: Component,
    /// etcd, beside the API servers or elsewhere.
    pub etcd: Etcd,
    /// The DNS add-on.
    pub dns: Dns,
    /// The kube-proxy add-on.
    pub proxy: KubeProxy,
    /// kubeadm's feature gates, as written.
    pub feature_gates: BTreeMap<String, bool>,
}

/// Images of components in place of those of the release.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GivenImages {
    /// The API server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_server: Option<String>,
    /// The controller manager's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller_manager: Option<String>,
    /// The scheduler's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
}

impl GivenImages {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for ClusterSettings {
    /// kubeadm's defaults.
    fn default() -> Self {
        Self {
            name: "kubernetes".to_owned(),
            kubernetes_version: version::DEFAULT_KUBERNETES,
            control_plane_endpoint: None,
            api_balancer: None,
            networking: Networking::default(),
            certificates_dir: "/etc/kubernetes/pki".to_owned(),
            image_repository: "registry.k8s.io".to_owned(),
            given_images: GivenImages::default(),
            encryption_algorithm: EncryptionAlgorithm::Rsa2048,
            certificate_validity_period: GoDuration::from_hours(365 * 24),
            ca_certificate_validity_period: GoDuration::from_hours(10 * 365 * 24),
            api_server: ApiServer::default(),
            controller_manager: Component::default(),
            scheduler: Component::default(),
            etcd: Etcd::default(),
            dns: Dns::default(),
            proxy: KubeProxy::default(),
            feature_gates: BTreeMap::new(),
        }
    }
}

impl ClusterSettings {
    /// The algorithm of keys that are made: kubeadm's deprecated gate `PublicKeysECDSA` has a say before the field.
    #[must_use]
    pub fn key_algorithm(&self) -> EncryptionAlgorithm {
        match self.feature_gates.get("PublicKeysECDSA") {
            Some(true) => EncryptionAlgorithm::EcdsaP256,
            Some(false) => EncryptionAlgorithm::Rsa2048,
            None => self.encryption_algorithm,
        }
    }

    /// Whether one of kubeadm's feature gates is on, given or by kubeadm 1.34's default; unknown ones are off.
    #[must_use]
    pub fn feature_gate(&self, name: &str) -> bool {
        self.feature_gates.get(name).copied().unwrap_or_else(|| version::feature_gate_default(name))
    }
}

/// The algorithms of keys.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
pub enum EncryptionAlgorithm {
    /// RSA with 2048 bits.
    #[default]
    #[serde(rename = "RSA-2048")]
    Rsa2048,
    /// RSA with 3072 bits.
    #[serde(rename = "RSA-3072")]
    Rsa3072,
    /// RSA with 4096 bits.
    #[serde(rename = "RSA-4096")]
    Rsa4096,
    /// ECDSA on P-256.
    #[serde(rename = "ECDSA-P256")]
    EcdsaP256,
    /// ECDSA on P-384.
    #[serde(rename = "ECDSA-P384")]
    EcdsaP384,
}

impl EncryptionAlgorithm {
    /// Every algorithm, in the order in which kubeadm lists them.
    pub const ALL: [Self; 5] =
        [Self::EcdsaP256, Self::EcdsaP384, Self::Rsa2048, Self::Rsa3072, Self::Rsa4096];

    /// The name in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rsa2048 => "RSA-2048",
            Self::Rsa3072 => "RSA-3072",
            Self::Rsa4096 => "RSA-4096",
            Self::EcdsaP256 => "ECDSA-P256",
            Self::EcdsaP384 => "ECDSA-P384",
        }
    }
}

impl fmt::Display for EncryptionAlgorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for EncryptionAlgorithm {
    type Err = UnknownAlgorithm;

    fn from_str(text: &str) -> Result<Self, UnknownAlgorithm> {
        let found = Self::ALL.into_iter().find(|algorithm| algorithm.as_str() == text);
        found.ok_or_else(|| UnknownAlgorithm(text.to_owned()))
    }
}

/// A name that no algorithm has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a key algorithm; known are ECDSA-P256, ECDSA-P384, RSA-2048, RSA-3072 and RSA-4096")]
pub struct UnknownAlgorithm(String);

/// The DNS add-on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Dns {
    /// Where its image comes from, where that differs from the other components'.
    pub image: Image,
    /// Whether it is left out.
    pub disabled: bool,
}

/// The kube-proxy add-on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KubeProxy {
    /// Whether it is left out.
    pub disabled: bool,
    /// Its release, where that is not the one of the control plane. kubeadm has no such setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<KubernetesVersion>,
}
