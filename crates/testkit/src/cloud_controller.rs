//! The cloud controller manager of AWS, which initialises the nodes of clusters there.

use std::path::PathBuf;

use anyhow::Result;

use crate::cache;
use crate::go::Programs;

/// The version that is built, without its `v`: that of the minor version of Kubernetes that tests run.
const VERSION: &str = "1.34.4";
const MODULE: &str = "k8s.io/cloud-provider-aws";
const PROGRAM: &str = "aws-cloud-controller-manager";

/// Builds the program if need be, and gives it.
///
/// # Errors
/// When there is no Go, or it cannot be built.
pub fn install() -> Result<PathBuf> {
    let folder = cache::installed(PROGRAM, VERSION, |folder| {
        let program = Programs {
            modules: vec![(MODULE.to_owned(), format!("v{VERSION}"))],
            packages: vec![(format!("{MODULE}/cmd/{PROGRAM}"), PROGRAM.to_owned())],
            ..Programs::default()
        };
        program.build(folder)
    })?;
    Ok(folder.join(PROGRAM))
}
