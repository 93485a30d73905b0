use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::value::AccessSource;

/// Who may log in to nodes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Ssh {
    /// Public keys in the form of `authorized_keys` (RFC 4253), as in `ssh-ed25519 AAAA… name`.
    pub keys: Vec<String>,
    /// An existing key of the provider, by its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_name: Option<String>,
    /// From where: address ranges and prefix lists; empty closes the port.
    #[schemars(extend("x-slipway-must-understand" = true))]
    pub access: Vec<AccessSource>,
}
