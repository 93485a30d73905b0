//! `slipway drift`

use std::process::ExitCode;

use slipway_operations::{Environment, Opened, Request, state};
use slipway_plan::Plan;
use slipway_state_store::{ClusterName, list_clusters, read_head};

use super::worse;
use crate::cli::{DriftArguments, OutputFormat, ShowOptions};
use crate::code;
use crate::error::CommandError;
use crate::program::Context;
use crate::specs::{self, Selection};
use crate::ui;

/// Shows what was changed since the last apply: held against what was applied, not against the spec files.
pub(crate) async fn run(context: &Context, arguments: &DriftArguments) -> Result<ExitCode, CommandError> {
    let selection = Selection::from(arguments);
    let names = names(context, arguments, &selection).await?;
    of(context, names, &selection, &arguments.show).await
}

/// Shows what was changed outside Slipway in clusters of the state, by name.
pub(super) async fn of(
    context: &Context,
    names: Vec<String>,
    selection: &Selection,
    show: &ShowOptions,
) -> Result<ExitCode, CommandError> {
    let environment = context.environment()?;
    let several = names.len() > 1;
    let is_json = show.output == OutputFormat::Json;
    if several && !is_json && show.output != OutputFormat::Text {
        let message = format!("{} are several clusters, and this format shows one", names.join(", "));
        return Err(CommandError::new(code::SEVERAL_CLUSTERS, message)
            .hint("name one of them: `slipway drift NAME`; `-o json` writes one document for each cluster"));
    }
    if names.is_empty() {
        let text = format!("No clusters in {}.", context.state_url());
        match show.output {
            OutputFormat::Text => context.output.outcome(&text)?,
            // Programs read standard output.
            _ => context.output.message(&text),
        }
    }
    let mut worst = ExitCode::SUCCESS;
    for name in names {
        let code = match made(&environment, &name, selection).await {
            Ok(plan) => {
                ui::show::plan_of(context, &plan, show, several)?;
                code(&plan)
            }
            // One cluster hides no other.
            Err(error) if several => {
                if is_json && let Some(report) = error.for_programs_about(&name) {
                    context.output.result(&report)?;
                }
                error.report(&context.output);
                error.exit_code()
            }
            Err(error) => return Err(error),
        };
        worst = worse(worst, code);
    }
    Ok(worst)
}

/// The names of the clusters: one, those of specs, or all that the state store has and that were not deleted.
async fn names(
    context: &Context,
    arguments: &DriftArguments,
    selection: &Selection,
) -> Result<Vec<String>, CommandError> {
    if let Some(name) = &arguments.name {
        return Ok(vec![name.clone()]);
    }
    if !arguments.all {
        let wanted = specs::wanted(context, selection)?;
        return Ok(wanted.into_iter().map(|spec| spec.cluster.name).collect());
    }
    let backend = context.backend()?;
    let mut names = Vec::new();
    for name in list_clusters(&*backend).await? {
        if may_drift(&*backend, &name).await {
            names.push(name.to_string());
        }
    }
    Ok(names)
}

/// Whether a cluster has something that can be changed. One that cannot be read says so later.
async fn may_drift(backend: &dyn slipway_state_store::Backend, name: &ClusterName) -> bool {
    match read_head(backend, name).await {
        Ok(Some((head, _))) => !head.deleted,
        Ok(None) => false,
        Err(_) => true,
    }
}

async fn made(environment: &Environment, name: &str, selection: &Selection) -> Result<Plan, CommandError> {
    let mut recorded = state::recorded(environment, name).await?;
    specs::override_provider(&mut recorded, selection)?;
    let opened = Opened::open(environment, recorded).await?;
    Ok(opened.plan(&Request::drift()).await?.plan)
}

/// A change that the spec asks for beyond the last applied attributes is no drift.
fn code(plan: &Plan) -> ExitCode {
    match plan.has_deferred() || !plan.findings.is_empty() {
        true => ExitCode::from(1),
        false if plan.drift.is_empty() => ExitCode::SUCCESS,
        false => ExitCode::from(2),
    }
}
