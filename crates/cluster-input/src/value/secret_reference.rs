use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a secret is kept. A spec holds the reference, never the secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum SecretReference {
    /// The name of an environment variable of the process that plans or applies.
    Env(String),
    /// The path of a file, relative to the spec file that names it.
    File(String),
    /// A value of a file that SOPS has encrypted for age recipients, as `path#key`: a YAML or JSON file, relative to the
    /// spec file that names it, and the keys of the value joined by dots.
    Sops(String),
}

impl SecretReference {
    /// The reference as plans and records have it: `env:NAME`, `file:path`, `sops:path#key`.
    #[must_use]
    pub fn source(&self) -> String {
        match self {
            Self::Env(name) => format!("env:{name}"),
            Self::File(path) => format!("file:{path}"),
            Self::Sops(place) => format!("sops:{place}"),
        }
    }
}

impl fmt::Display for SecretReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(formatter, "the environment variable {name}"),
            Self::File(path) => write!(formatter, "the file {path}"),
            Self::Sops(place) => write!(formatter, "the SOPS file {place}"),
        }
    }
}
