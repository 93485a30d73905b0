//! The objects that install the provider, as one file and as the repository that clusterctl reads.

mod objects;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::arguments::ManifestArguments;

/// The namespace of the manager.
pub const NAMESPACE: &str = "slipway-machine-inventory";

/// The template of a cluster, with the variables of clusterctl.
const CLUSTER_TEMPLATE: &str = include_str!("../templates/cluster-template.yaml");
/// The URL of the registration API in a file of clusterctl: a variable, with the Service as its default.
const API_URL_VARIABLE: &str =
    "${MACHINE_INVENTORY_API_URL:=https://slipway-machine-inventory.slipway-machine-inventory.svc}";

/// The manifest was not written.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// An object cannot be written as YAML.
    #[error("an object cannot be written")]
    Object(#[from] serde_yaml::Error),
    /// A definition cannot be written as JSON.
    #[error("a custom resource definition cannot be written")]
    Definition(#[from] serde_json::Error),
    /// A file cannot be written.
    #[error("{path} cannot be written")]
    File {
        /// Its path.
        path: PathBuf,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
}

/// The inputs of the objects.
#[derive(Clone, Copy, Debug)]
pub struct Manifest<'a> {
    /// Image with the executable.
    pub image: &'a str,
    /// URL of the registration API as hosts reach it.
    pub api_url: Option<&'a str>,
    /// Whether cert-manager makes the certificate of the registration API.
    pub cert_manager: bool,
}

/// All objects, in the order in which they can be created: namespace, definitions, service account, rights, certificate,
/// Service, Deployment.
///
/// # Errors
/// When a definition cannot be written.
pub fn objects(manifest: Manifest<'_>) -> Result<Vec<Json>, ManifestError> {
    let mut all = vec![objects::namespace()];
    for definition in crate::crds::all() {
        all.push(serde_json::to_value(definition)?);
    }
    all.extend(objects::rights());
    if manifest.cert_manager {
        all.extend(objects::certificate());
    }
    all.extend([objects::service(), objects::deployment(manifest)]);
    Ok(all)
}

/// Runs the command `manifest`; returns the text to print.
///
/// # Errors
/// When an object or a file cannot be written.
pub fn run(arguments: &ManifestArguments) -> Result<String, ManifestError> {
    let Some(folder) = &arguments.clusterctl else {
        let manifest = Manifest {
            image: &arguments.image,
            api_url: arguments.api_url.as_deref(),
            cert_manager: arguments.cert_manager,
        };
        return yaml(&objects(manifest)?);
    };
    let manifest = Manifest {
        image: &arguments.image,
        api_url: Some(arguments.api_url.as_deref().unwrap_or(API_URL_VARIABLE)),
        cert_manager: true,
    };
    let components = write_repository(folder, manifest)?;
    let configuration = json!({"providers": [
        {"name": "elemental", "type": "InfrastructureProvider", "url": components}]});
    Ok(serde_yaml::to_string(&configuration)?)
}

/// Writes the repository of clusterctl; returns the path of the components.
fn write_repository(folder: &Path, manifest: Manifest<'_>) -> Result<PathBuf, ManifestError> {
    let version = env!("CARGO_PKG_VERSION");
    let folder = folder.join("infrastructure-elemental").join(format!("v{version}"));
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |cause| ManifestError::File { path, cause }
    };
    fs::create_dir_all(&folder).map_err(failed(&folder))?;
    let folder = folder.canonicalize().map_err(failed(&folder))?;
    let components = folder.join("infrastructure-components.yaml");
    let files = [
        (components.clone(), yaml(&objects(manifest)?)?),
        (folder.join("metadata.yaml"), serde_yaml::to_string(&metadata(version))?),
        (folder.join("cluster-template.yaml"), CLUSTER_TEMPLATE.to_owned()),
    ];
    for (path, text) in files {
        fs::write(&path, text).map_err(failed(&path))?;
    }
    Ok(components)
}

/// The release series of this version, and its version of the contract.
fn metadata(version: &str) -> Json {
    let mut parts = version.split('.').map(|part| part.parse::<u64>().unwrap_or_default());
    let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    json!({
        "apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3", "kind": "Metadata",
        "releaseSeries": [{"major": major, "minor": minor, "contract": "v1beta2"}],
    })
}

fn yaml(objects: &[Json]) -> Result<String, ManifestError> {
    let mut text = String::new();
    for object in objects {
        text.push_str("---\n");
        text.push_str(&serde_yaml::to_string(object)?);
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
