//! `slipway export`

mod cloud_controller;

use std::collections::BTreeMap;
use std::process::ExitCode;

use slipway_engine::observe;
use slipway_operations::Opened;
use slipway_plan::Observations;
use slipway_plan::terraform::Export;

use crate::cli::adoption::{ExportCommand, TerraformArguments};
use crate::error::CommandError;
use crate::files::{self, Readers, Written};
use crate::program::Context;
use crate::specs::{self, Selection};

/// The first line of a configuration: it tells an older export, which may be written over, from files of people.
const HEADER: &str = "# Written by `slipway export terraform`.";

/// An older export.
const CONFIGURATION: Written = Written {
    what: "an export of Slipway",
    largest: slipway_limits::size::PLAN,
    is_one: |bytes| bytes.starts_with(HEADER.as_bytes()),
};

/// Writes the desired resources in the form of another tool.
pub(crate) async fn run(context: &Context, command: &ExportCommand) -> Result<ExitCode, CommandError> {
    match command {
        ExportCommand::Terraform(arguments) => terraform(context, arguments).await,
        ExportCommand::CloudControllerManifest(arguments) => cloud_controller::manifest(context, arguments),
    }
}

async fn terraform(context: &Context, arguments: &TerraformArguments) -> Result<ExitCode, CommandError> {
    if let Some(path) = &arguments.out {
        files::check_out(path, CONFIGURATION)?;
    }
    let spec = specs::one(context, &Selection::from(&arguments.spec))?;
    let environment = if arguments.offline { context.without_store() } else { context.environment()? };
    let opened = Opened::open(&environment, spec).await?;
    let prior = opened.state.as_ref().map(|state| &state.snapshot);
    let pinned = prior.map_or_else(BTreeMap::new, |prior| prior.catalogs.clone());
    let desired = opened.expand(pinned).await?.desired;
    let (cluster, providers) = (&opened.spec.cluster, opened.providers());
    let observations = if arguments.offline {
        Observations::default()
    } else {
        observe(&cluster.name, providers, prior, &desired).await?.observations
    };
    let schemas: Vec<_> = providers.iter().map(|(name, handle)| (name, &*handle.schema)).collect();
    let export = Export {
        desired: &desired,
        observations: &observations,
        schemas: &schemas,
        region: cluster.region.as_deref(),
    };
    let blocks = export
        .write()
        .map_err(|error| CommandError::internal("the configuration cannot be written", &error))?;
    let text = format!("{HEADER}\n\n{blocks}");
    match &arguments.out {
        Some(path) => {
            files::write_out(path, text.as_bytes(), Readers::AsUsual, CONFIGURATION)?;
            context.output.message(&format!("Written to {}.", path.display()));
        }
        None => context.output.result(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}
