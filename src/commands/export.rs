//! `slipway export`

mod cloud_controller;

use std::collections::BTreeMap;
use std::process::ExitCode;

use slipway_engine::observe;
use slipway_operations::{Expansion, Opened};
use slipway_plan::Observations;
use slipway_plan::terraform::{Export, SOURCES};
use slipway_spec::model::{Addon, Cluster};

use crate::cli::adoption::{ExportCommand, TerraformArguments};
use crate::code;
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
    let source = source(spec.cluster.provider.name.as_str(), arguments)?.to_owned();
    let environment = if arguments.offline { context.without_store()? } else { context.environment()? };
    let opened = Opened::open(&environment, spec).await?;
    let prior = opened.state.as_ref().map(|state| &state.snapshot);
    let pinned = prior.map_or_else(BTreeMap::new, |prior| prior.catalogs.clone());
    if opened.is_on_hosts() {
        return Err(without_terraform(opened.spec.cluster.provider.name.as_str()));
    }
    let expansion = opened.expand(pinned).await?;
    let left_out = left_out(&expansion, &opened.spec.cluster);
    let desired = expansion.desired;
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
        sources: &[(cluster.provider.name.as_str(), source.as_str())],
    };
    let blocks = export
        .write()
        .map_err(|error| CommandError::internal("the configuration cannot be written", error))?;
    let comment: String = left_out.lines().map(|line| format!("# {line}\n")).collect();
    let text = match comment.is_empty() {
        true => format!("{HEADER}\n\n{blocks}"),
        false => format!("{HEADER}\n#\n{comment}\n{blocks}"),
    };
    match &arguments.out {
        Some(path) => {
            files::write_out(path, text.as_bytes(), Readers::AsUsual, CONFIGURATION)?;
            context.output.message(&format!("Written to {}.", path.display()));
        }
        None => context.output.result(&text)?,
    }
    if !left_out.is_empty() {
        context.output.message(&left_out);
    }
    Ok(ExitCode::SUCCESS)
}

/// The source of the Terraform provider that has the resource types of a provider.
fn source<'a>(provider: &str, arguments: &'a TerraformArguments) -> Result<&'a str, CommandError> {
    let known = SOURCES.iter().find(|(name, _)| *name == provider).map(|(_, source)| *source);
    arguments.source.as_deref().or(known).ok_or_else(|| without_terraform(provider))
}

fn without_terraform(provider: &str) -> CommandError {
    let message =
        format!("provider {provider} has no Terraform provider with its resource types; nothing was written");
    CommandError::new(code::NO_TERRAFORM, message)
        .hint("if one exists, name its source in Terraform's registry with `--source NAMESPACE/NAME`")
}

/// What the plan of the cluster has and the configuration does not have, one type on each line; empty if there is none.
fn left_out(expansion: &Expansion, cluster: &Cluster) -> String {
    let resources = expansion.only_here().into_iter();
    let mut lines: Vec<String> =
        resources.map(|(kind, (count, what))| format!("  {count} {kind}: {what}")).collect();
    let is_own = |addon: &&Addon| addon.enabled && addon.manifest.is_some();
    let addons = cluster.addons.iter().filter(is_own).count();
    if addons > 0 {
        lines.push(format!("  the objects of {addons} add-ons whose manifests the spec names"));
    }
    if lines.is_empty() {
        return String::new();
    }
    format!(
        "Left out, because only Slipway creates it:\n{}\nThe machines read the keys from Slipway's state when they boot. \
         Terraform alone creates no working cluster.",
        lines.join("\n")
    )
}
