//! `slipway drift`

use std::process::ExitCode;

use slipway_operations::{Opened, Request, state};

use crate::cli::DriftArguments;
use crate::error::CommandError;
use crate::program::Context;
use crate::specs::{self, Selection};
use crate::ui;

/// Shows what was changed since the last apply: held against what was applied, not against the spec files.
pub(crate) async fn run(context: &Context, arguments: &DriftArguments) -> Result<ExitCode, CommandError> {
    let selection = Selection::from(&arguments.cluster);
    let name = match &arguments.cluster.name {
        Some(name) => name.clone(),
        None => specs::one(context, &selection)?.cluster.name,
    };
    let environment = context.environment()?;
    let mut recorded = state::recorded(&environment, &name).await?;
    specs::override_provider(&mut recorded, &selection)?;
    let opened = Opened::open(&environment, recorded).await?;
    let plan = opened.plan(&Request::drift()).await?.plan;
    ui::show::plan(context, &plan, &arguments.show)?;
    // A change that the spec asks for beyond the last applied attributes is no drift.
    Ok(match plan.has_deferred() || !plan.findings.is_empty() {
        true => ExitCode::from(1),
        false if plan.drift.is_empty() => ExitCode::SUCCESS,
        false => ExitCode::from(2),
    })
}
