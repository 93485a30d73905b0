//! A folder with a spec of many cheap resources.

use std::path::Path;

use anyhow::Result;
use tempfile::TempDir;

pub(super) const APPLY: [&str; 4] = ["apply", "-f", "bench.yaml", "--yes"];
pub(super) const PLAN: [&str; 3] = ["plan", "-f", "bench.yaml"];

/// The folder; it is removed when the value is dropped.
pub(super) struct Place(TempDir);

impl Place {
    /// A folder with a cluster of so many objects, in chains of four, beside the cluster itself.
    pub fn with_objects(count: usize) -> Result<Self> {
        let directory = TempDir::new()?;
        let spec = include_str!("bench.yaml").replace("COUNT", &count.to_string());
        std::fs::write(directory.path().join("bench.yaml"), spec)?;
        Ok(Self(directory))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}
