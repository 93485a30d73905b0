//! The custom resource definitions of Cluster API.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::{cache, go};

/// The version of Cluster API, without its `v`.
pub const VERSION: &str = "1.13.6";
const MODULE: &str = "sigs.k8s.io/cluster-api";

/// The definitions of clusters, of their machines, and of what kubeadm's providers make.
const DEFINITIONS: [&str; 5] = [
    "config/crd/bases/cluster.x-k8s.io_clusters.yaml",
    "config/crd/bases/cluster.x-k8s.io_machinedeployments.yaml",
    "config/crd/bases/cluster.x-k8s.io_machines.yaml",
    "bootstrap/kubeadm/config/crd/bases/bootstrap.cluster.x-k8s.io_kubeadmconfigtemplates.yaml",
    "controlplane/kubeadm/config/crd/bases/controlplane.cluster.x-k8s.io_kubeadmcontrolplanes.yaml",
];

/// Fetches the definitions if need be, and gives the folder with their files.
///
/// # Errors
/// When there is no Go, or the module cannot be fetched.
pub fn install() -> Result<PathBuf> {
    cache::installed("cluster-api", VERSION, |folder| {
        let module = go::fetch(MODULE, &format!("v{VERSION}"))?.folder;
        for definition in DEFINITIONS {
            let name = definition.rsplit('/').next().unwrap_or(definition);
            fs::copy(module.join(definition), folder.join(name))
                .with_context(|| format!("{MODULE} has no {definition}"))?;
        }
        Ok(())
    })
}
