//! `slipway export cloud-controller-manifest`

use std::io::{Error, ErrorKind};
use std::path::Path;
use std::process::ExitCode;

use slipway_addons::{CloudControllerManifest, cloud_controller_manifest};

use crate::cli::adoption::CloudControllerArguments;
use crate::error::CommandError;
use crate::files;
use crate::program::Context;

/// Writes the manifest to standard output.
pub(super) fn manifest(
    context: &Context,
    arguments: &CloudControllerArguments,
) -> Result<ExitCode, CommandError> {
    let configuration = arguments.cloud_config.as_deref().map(configuration).transpose()?;
    let objects = cloud_controller_manifest(CloudControllerManifest {
        provider: &arguments.provider,
        image: &arguments.image,
        cluster_name: &arguments.cluster_name,
        configuration: configuration.as_deref(),
        namespace: &arguments.namespace,
        cluster_cidr: arguments.cluster_cidr.as_deref(),
        allocate_node_cidrs: arguments.allocate_node_cidrs,
    });
    let mut text = String::from("# Written by `slipway export cloud-controller-manifest`.\n");
    for object in objects {
        let document = serde_yaml::to_string(&object)
            .map_err(|error| CommandError::internal("the manifest cannot be written", error))?;
        text.push_str("---\n");
        text.push_str(&document);
    }
    context.output.result(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn configuration(path: &Path) -> Result<String, CommandError> {
    let failure = |error: Error| CommandError::file("the cloud configuration", path, error);
    files::read(path).map_err(failure)?.ok_or_else(|| failure(Error::from(ErrorKind::NotFound)))
}
