//! `slipway controller install`

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::Value as Json;
use slipway_reconciler::objects::definitions;
use slipway_reconciler::{Configuration, Manifest, systemd_unit};

use crate::cli::controller::InstallArguments;
use crate::error::CommandError;
use crate::files;
use crate::program::Context;

/// Writes a systemd unit, or a manifest for Kubernetes, to standard output.
pub(super) fn run(context: &Context, arguments: &InstallArguments) -> Result<ExitCode, CommandError> {
    let text = match arguments.file.as_deref() {
        Some(file) => {
            let configuration = Configuration::read(file)?;
            let image = arguments.image.as_deref().filter(|_| arguments.kubernetes && !arguments.systemd);
            match image {
                Some(image) => manifest(context, arguments, (file, image))?,
                None if arguments.definitions => written("--definitions", &definitions())?,
                None => unit(context, file, &configuration)?,
            }
        }
        // The other forms have a configuration.
        None => written("--definitions", &definitions())?,
    };
    context.output.result(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn manifest(
    context: &Context,
    arguments: &InstallArguments,
    (file, image): (&Path, &str),
) -> Result<String, CommandError> {
    let configuration = text("the configuration of the controller", file)?;
    let user = context.global.config.as_deref();
    let user_configuration = user.map(|path| text("the configuration", path)).transpose()?;
    let manifest = Manifest {
        image,
        namespace: &arguments.namespace,
        replicas: arguments.replicas,
        state: &context.state_url(),
        configuration: &configuration,
        user_configuration: user_configuration.as_deref(),
    };
    written("--kubernetes", &manifest.objects()?)
}

/// The text of a manifest.
fn written(flag: &str, objects: &[Json]) -> Result<String, CommandError> {
    let mut text = format!("# Written by `slipway controller install {flag}`.\n");
    for object in objects {
        let document = serde_yaml::to_string(object)
            .map_err(|error| CommandError::internal("the manifest cannot be written", error))?;
        text.push_str("---\n");
        text.push_str(&document);
    }
    Ok(text)
}

fn text(what: &str, path: &Path) -> Result<String, CommandError> {
    let failure = |error: Error| CommandError::file(what, path, error);
    files::read(path).map_err(failure)?.ok_or_else(|| failure(Error::from(ErrorKind::NotFound)))
}

#[allow(clippy::disallowed_methods, reason = "the service finds git where this call does")]
fn unit(context: &Context, file: &Path, configuration: &Configuration) -> Result<String, CommandError> {
    let program = std::env::current_exe()?;
    let absolute = |path: &Path| std::path::absolute(path).map(|path| path.display().to_string());
    let state = context.state_url();
    // A folder; anything with a scheme is an address.
    let state = if state.contains("://") { state } else { absolute(Path::new(&state))? };
    let mut command = vec![program.display().to_string()];
    command.extend(["controller", "run", "--file"].map(str::to_owned));
    command.extend([absolute(file)?, "--state".to_owned(), state]);
    if let Some(config) = &context.global.config {
        command.extend(["--config".to_owned(), absolute(config)?]);
    }
    for folder in &context.global.provider_path {
        command.extend(["--provider-path".to_owned(), absolute(folder)?]);
    }
    let path = std::env::var_os("PATH").map_or_else(|| PathBuf::from("/usr/bin:/bin"), PathBuf::from);
    let file = std::path::absolute(file)?;
    let folder = file.parent().unwrap_or(Path::new("/"));
    Ok(systemd_unit(&command, folder, &path.display().to_string(), &configuration.data))
}
