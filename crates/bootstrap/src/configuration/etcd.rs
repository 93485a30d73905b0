use serde::{Deserialize, Serialize};

use super::Argument;

/// etcd, beside the API servers or elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Etcd {
    /// A member on every control plane, as a static pod.
    Local(LocalEtcd),
    /// An external cluster, which Slipway does not run.
    External(ExternalEtcd),
}

impl Default for Etcd {
    fn default() -> Self {
        Self::Local(LocalEtcd::default())
    }
}

impl Etcd {
    /// The settings of a member on every control plane; `None` for an external cluster.
    #[must_use]
    pub const fn local(&self) -> Option<&LocalEtcd> {
        match self {
            Self::Local(local) => Some(local),
            Self::External(_) => None,
        }
    }

    /// The access to an external cluster; `None` for local members.
    #[must_use]
    pub const fn external(&self) -> Option<&ExternalEtcd> {
        match self {
            Self::External(external) => Some(external),
            Self::Local(_) => None,
        }
    }
}

/// A member of etcd on every control plane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LocalEtcd {
    /// Its image, where it differs from the other components'.
    pub image: Image,
    /// The absolute path of its data; `/var/lib/etcd` unless given.
    pub data_dir: String,
    /// Flags, in the order written.
    pub extra_args: Vec<Argument>,
    /// Environment variables: `EnvVar` of the core API, as JSON.
    pub extra_envs: Vec<serde_json::Value>,
    /// Further DNS names and IP addresses in the serving certificate.
    pub server_cert_sans: Vec<String>,
    /// Further DNS names and IP addresses in the certificate for peers.
    pub peer_cert_sans: Vec<String>,
}

impl Default for LocalEtcd {
    fn default() -> Self {
        Self {
            image: Image::default(),
            data_dir: "/var/lib/etcd".to_owned(),
            extra_args: Vec::new(),
            extra_envs: Vec::new(),
            server_cert_sans: Vec::new(),
            peer_cert_sans: Vec::new(),
        }
    }
}

/// The access to an external etcd cluster. Paths are those of the node; empty where none is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExternalEtcd {
    /// The URLs of its members.
    pub endpoints: Vec<String>,
    /// The path of the CA's certificate.
    pub ca_file: String,
    /// The path of the client certificate.
    pub cert_file: String,
    /// The path of the client certificate's key.
    pub key_file: String,
}

/// An image, where it differs from the other components'.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Image {
    /// The registry and path; absent for the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The tag; absent for the one that belongs to the release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
}
