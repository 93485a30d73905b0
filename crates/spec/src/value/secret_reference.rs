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
}

impl fmt::Display for SecretReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(formatter, "the environment variable {name}"),
            Self::File(path) => write!(formatter, "the file {path}"),
        }
    }
}
