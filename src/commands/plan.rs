//! `slipway plan`

use std::process::ExitCode;

use slipway_engine::State;

use super::pending;
use crate::cli::{OutputFormat, PlanArguments};
use crate::error::CommandError;
use crate::plan_source;
use crate::planning::{Prepared, Request};
use crate::program::Context;
use crate::specs::{self, Selection};
use crate::ui;

/// Shows what apply would do. Writes nothing but the plan file that was asked for.
pub(crate) async fn run(context: &Context, arguments: &PlanArguments) -> Result<ExitCode, CommandError> {
    let selection = Selection::from(&arguments.specs);
    let single = arguments.out.is_some() || arguments.show.output != OutputFormat::Text;
    let all =
        if single { vec![specs::one(context, &selection)?] } else { specs::wanted(context, &selection)? };
    let mut worst = ExitCode::SUCCESS;
    let mut rank = 0;
    for wanted in all {
        let prepared = Prepared::open(context, wanted, arguments.offline).await?;
        let mut request = Request::apply(&arguments.scope, !arguments.no_preflight);
        request.offline = arguments.offline;
        request.options.infrastructure_only = arguments.infrastructure_only;
        let planned = prepared.plan(&request).await?;
        if prepared.state.as_ref().is_some_and(State::is_interrupted) {
            context.output.message("An earlier run was interrupted; the next apply takes it up.");
        }
        plan_source::save(context, &prepared, &planned.plan, arguments.out.as_deref()).await?;
        let show = if arguments.offline { ui::show::offline_plan } else { ui::show::plan };
        show(context, &planned.plan, &arguments.show)?;
        let code = pending(&planned.plan);
        let order = [ExitCode::SUCCESS, ExitCode::from(2), ExitCode::from(1)];
        let place = order.iter().position(|other| *other == code).unwrap_or(2);
        if place > rank {
            (worst, rank) = (code, place);
        }
    }
    Ok(worst)
}
