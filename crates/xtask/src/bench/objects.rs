//! The costs of objects in a cluster, beside kubectl: the measurement is an example of the provider, which
//! xtask does not link.

use anyhow::{Result, ensure};

use crate::workspace;

/// Builds it in release and runs it with these numbers of objects.
pub(super) fn measure(sizes: &[usize]) -> Result<()> {
    let arguments = ["run", "--release", "--quiet", "--package", "slipway-provider-kubernetes"];
    let status = workspace::cargo(arguments)
        .args(["--example", "bench-objects", "--"])
        .args(sizes.iter().map(ToString::to_string))
        .status()?;
    ensure!(status.success(), "the measurement ended with {status}");
    Ok(())
}
