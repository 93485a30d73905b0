use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::value::SecretReference;

/// Encryption of what the API server stores.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Encryption {
    /// Encryption of objects in etcd; absent stores them as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_rest: Option<AtRest>,
}

/// Encryption of objects in etcd (`EncryptionConfiguration`, apiserver.config.k8s.io/v1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AtRest {
    /// How objects are encrypted.
    #[serde(default)]
    pub provider: AtRestProvider,
    /// The key, 32 bytes in base64; absent generates one, kept in the state store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<SecretReference>,
    /// The socket of the KMS v2 plugin, as a `unix://` URL; needed by the provider `kms` and by no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kms_endpoint: Option<String>,
    /// The resources that are encrypted, as in `secrets` or `configmaps`.
    #[serde(default = "secrets")]
    pub resources: Vec<String>,
}

fn secrets() -> Vec<String> {
    vec!["secrets".to_owned()]
}

/// How objects in etcd are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AtRestProvider {
    /// XSalsa20 and Poly1305 with a key in the configuration file.
    #[default]
    Secretbox,
    /// AES in CBC mode with a key in the configuration file.
    Aescbc,
    /// A KMS v2 plugin.
    Kms,
}
