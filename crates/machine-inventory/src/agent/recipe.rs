//! Bootstrap data in a form that the agent can carry out: files, then a script.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Bootstrap data cannot be carried out. Nothing of it was done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecipeError {
    /// The format is not known.
    #[error("the format `{0}` of the bootstrap data is not supported: cloud-config and ignition are")]
    Format(String),
    /// The data cannot be parsed.
    #[error("the bootstrap data cannot be read: {0}")]
    Unreadable(String),
    /// The data asks for something that the agent does not do.
    #[error("the bootstrap data has `{0}`, which the agent does not carry out")]
    Unsupported(String),
}

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Absolute path.
    pub path: String,
    /// Content.
    pub content: Vec<u8>,
    /// Permissions.
    pub mode: u32,
    /// Owner, as `chown` reads it; `None` for the user of the agent.
    pub owner: Option<String>,
    /// Whether the content is added to a file that exists.
    pub append: bool,
}

impl File {
    /// A file that only the user of the agent may read.
    #[must_use]
    pub fn private(path: String, content: String) -> Self {
        Self { path, content: content.into_bytes(), mode: 0o600, owner: None, append: false }
    }
}

/// The files and the script of bootstrap data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recipe {
    /// Files, in their order.
    pub files: Vec<File>,
    /// Script for `/bin/sh`, which runs after the files were written.
    pub script: String,
}

impl Recipe {
    /// Reads bootstrap data. `names` are the values that a template may use.
    ///
    /// # Errors
    /// When it cannot be read, or asks for something that the agent does not do.
    pub fn read(format: &str, text: &str, names: &BTreeMap<&str, String>) -> Result<Self, RecipeError> {
        match format {
            "" | "cloud-config" => super::cloud_config::read(text, names),
            "ignition" => super::ignition::read(text),
            other => Err(RecipeError::Format(other.to_owned())),
        }
    }
}

/// Permissions in octal digits.
pub(super) fn mode(text: &str) -> Result<u32, RecipeError> {
    let digits = text.strip_prefix("0o").unwrap_or(text);
    let mode = u32::from_str_radix(digits, 8).ok().filter(|mode| *mode <= 0o7777);
    mode.ok_or_else(|| RecipeError::Unreadable(format!("`{text}` are no permissions")))
}

/// The bytes of a Base64 text, which may have line breaks.
pub(super) fn base64(text: &str) -> Result<Vec<u8>, RecipeError> {
    let compact: String = text.split_whitespace().collect();
    STANDARD.decode(compact).map_err(|error| RecipeError::Unreadable(format!("Base64: {error}")))
}

/// A word for the shell.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
