//! Providers in Python, written from the contract alone: a script, the `.proto` file and the schema of the cluster.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::cache;

/// The version of gRPC that is installed, with its compiler.
const GRPC: &str = "1.85.1";

/// The parts of a provider in Python.
#[derive(Clone, Debug)]
pub struct PythonProvider {
    /// The script.
    pub script: PathBuf,
    /// The folder that has `slipway/provider/v1alpha1/provider.proto`.
    pub proto: PathBuf,
    /// The schema of the cluster.
    pub schema: PathBuf,
}

impl PythonProvider {
    /// A provider whose folder has all of it, with the contract that it was written from.
    #[must_use]
    pub fn of_folder(folder: &Path) -> Self {
        Self {
            script: folder.join("provider.py"),
            proto: folder.join("proto"),
            schema: folder.join("cluster-input.v1alpha1.schema.json"),
        }
    }

    /// Generates the messages into a folder, and writes an executable there that starts the provider.
    ///
    /// # Errors
    /// When gRPC cannot be installed, or the contract does not compile.
    pub fn build(&self, folder: &Path) -> Result<PathBuf> {
        let packages = packages()?;
        let generated = folder.join("generated");
        std::fs::create_dir_all(&generated)?;
        cache::run(
            Command::new("python3")
                .env("PYTHONPATH", &packages)
                .args(["-m", "grpc_tools.protoc"])
                .arg(format!("--proto_path={}", self.proto.display()))
                .arg(format!("--python_out={}", generated.display()))
                .arg(format!("--grpc_python_out={}", generated.display()))
                .arg("slipway/provider/v1alpha1/provider.proto"),
        )?;
        let start = format!(
            "#!/bin/sh\nPYTHONDONTWRITEBYTECODE=1 PYTHONPATH='{}' exec python3 '{}' '{}' '{}'\n",
            packages.display(),
            self.script.display(),
            generated.display(),
            self.schema.display()
        );
        let executable = folder.join("slipway-provider-python");
        std::fs::write(&executable, start)?;
        std::fs::set_permissions(&executable, std::fs::Permissions::from_mode(0o755))?;
        Ok(executable)
    }
}

/// The folder of gRPC's packages, installed once.
fn packages() -> Result<PathBuf> {
    let folder = cache::installed("grpc-python", GRPC, |folder| {
        cache::run(
            Command::new("python3")
                .args(["-m", "pip", "install", "--quiet", "--target"])
                .arg(folder.join("packages"))
                .args([format!("grpcio=={GRPC}"), format!("grpcio-tools=={GRPC}")]),
        )
    })?;
    Ok(folder.join("packages"))
}
