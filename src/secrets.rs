//! Secrets from the environment and from files.

use std::path::PathBuf;

use slipway_engine::{SecretError, SecretSource};
use slipway_resource::SecretText;

/// Reads `env:NAME` and `file:path`; a relative path begins at the folder of the spec.
#[derive(Debug, Default)]
pub(crate) struct UserSecrets {
    /// The folder of the spec.
    pub folder: PathBuf,
}

impl SecretSource for UserSecrets {
    fn text(&self, source: &str) -> Result<SecretText, SecretError> {
        let fail = |message: String| SecretError { source_name: source.to_owned(), message };
        match source.split_once(':') {
            Some(("env", name)) => std::env::var(name)
                .map(SecretText::new)
                .map_err(|_| fail(format!("the environment variable {name} is not set"))),
            Some(("file", path)) => std::fs::read_to_string(self.folder.join(path))
                .map(|text| SecretText::new(text.trim_end_matches('\n')))
                .map_err(|error| fail(error.to_string())),
            _ => Err(fail("a secret comes from `env:NAME` or `file:path`".to_owned())),
        }
    }
}
