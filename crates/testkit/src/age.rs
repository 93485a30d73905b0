//! age, the tool whose file format the state's envelopes use for keys.

use std::path::PathBuf;

use anyhow::Result;

use crate::{cache, go};

/// The version that is built.
const VERSION: &str = "1.2.1";

/// Builds `age` and `age-keygen` if need be, and gives the folder that they are in.
///
/// # Errors
/// When there is no Go, or they cannot be built.
pub fn install() -> Result<PathBuf> {
    cache::installed("age", VERSION, |folder| go::install("filippo.io/age/cmd/...", VERSION, folder))
}
