//! What a review of one pull request is made from.

use std::path::PathBuf;

use slipway_forges::PullRequest;

use crate::checkout::{Checkout, Extracted, Merge};
use crate::error::Error;

/// The files of a repository before and after a merge.
pub struct Material {
    /// The files of the base branch.
    pub before: Extracted,
    /// The files after the merge.
    pub merged: Extracted,
    /// The paths that differ.
    pub changed: Vec<PathBuf>,
}

/// Merges a pull request into its base branch without a checkout, and writes the files of some paths of both sides into
/// temporary folders. `None` if there are conflicts.
///
/// # Errors
/// When the repository lacks a commit, git fails, or the content is refused.
pub fn prepare(
    checkout: &Checkout,
    pull_request: &PullRequest,
    paths: &[PathBuf],
) -> Result<Option<Material>, Error> {
    let PullRequest { base, head, .. } = pull_request;
    let tree = match checkout.merge(base, head)? {
        Merge::Tree(tree) => tree,
        Merge::Conflict => return Ok(None),
    };
    let changed = checkout.changed(base, &tree)?;
    let merged = checkout.extract(&tree, paths)?;
    let before = checkout.extract(base.as_str(), paths)?;
    Ok(Some(Material { before, merged, changed }))
}
