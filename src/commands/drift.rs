//! `slipway drift`

use std::process::ExitCode;

use slipway_plan::{Mode, Options};

use crate::cli::DriftArguments;
use crate::error::CommandError;
use crate::planning::{self, Prepared, Request};
use crate::program::Context;
use crate::specs::{self, Selection};
use crate::ui;

/// Shows what was changed since the last apply: held against what was applied, not against the spec files.
pub(crate) async fn run(context: &Context, arguments: &DriftArguments) -> Result<ExitCode, CommandError> {
    let name = match &arguments.cluster.name {
        Some(name) => name.clone(),
        None => specs::one(context, &Selection::from(&arguments.cluster))?.cluster.name,
    };
    let wanted = planning::recorded(context, &name).await?;
    let prepared = Prepared::open(context, wanted, false).await?;
    let request = Request {
        mode: Mode::Drift,
        options: Options::default(),
        offline: false,
        roll: None,
        version_change: None,
        unprotect: false,
    };
    let plan = prepared.plan(&request).await?.plan;
    ui::show::plan(context, &plan, &arguments.show)?;
    Ok(super::pending(&plan))
}
