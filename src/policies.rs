//! Policy files: those of the configuration, and those that arguments name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use slipway_limits::{file, size};
use slipway_operations::Environment;
use slipway_operations::policies::{Policies, PolicyError, PolicyFile};

use crate::code;
use crate::error::CommandError;

/// Reads a policy file.
pub(crate) fn read(path: &Path) -> Result<PolicyFile, CommandError> {
    let text = file::read_given_text(path, size::CONFIGURATION)
        .map_err(|error| CommandError::file("the policy file", path, error))?;
    PolicyFile::parse(&text).map_err(|error| refused(path, error))
}

/// The policies of files.
pub(crate) fn all(paths: &[PathBuf]) -> Result<Policies, CommandError> {
    added(Policies::default(), paths)
}

/// An environment with the policies of further files.
pub(crate) fn with(environment: Environment, paths: &[PathBuf]) -> Result<Environment, CommandError> {
    let policies = added(environment.policies.clone(), paths)?;
    Ok(Environment { policies, ..environment })
}

/// Policies with those of further files. The system and the user can name the same file.
fn added(mut policies: Policies, paths: &[PathBuf]) -> Result<Policies, CommandError> {
    let mut seen = BTreeSet::new();
    for path in paths.iter().filter(|path| seen.insert(*path)) {
        policies.add(read(path)?.policies).map_err(|error| refused(path, error))?;
    }
    Ok(policies)
}

/// The error of a policy file.
fn refused(path: &Path, error: PolicyError) -> CommandError {
    CommandError::new(code::POLICY_FILE, format!("the policies of {} cannot be used", path.display()))
        .cause(error)
}
