//! `slipway plan`

use std::process::ExitCode;

use slipway_engine::State;
use slipway_operations::{Opened, Request};

use super::controller::tell_pauses;
use super::pending;
use crate::cli::{OutputFormat, PlanArguments};
use crate::error::CommandError;
use crate::plan_source;
use crate::program::Context;
use crate::specs::{self, Selection};
use crate::ui;

/// Shows the changes of an apply. Writes only the requested plan file.
pub(crate) async fn run(context: &Context, arguments: &PlanArguments) -> Result<ExitCode, CommandError> {
    plan_source::check(arguments.out.as_deref())?;
    let selection = Selection::from(&arguments.specs);
    let single = arguments.out.is_some() || arguments.show.output != OutputFormat::Text;
    let all =
        if single { vec![specs::one(context, &selection)?] } else { specs::wanted(context, &selection)? };
    let several = all.len() > 1;
    let mut worst = ExitCode::SUCCESS;
    let mut rank = 0;
    for spec in all {
        let environment = if arguments.offline { context.without_store()? } else { context.environment()? };
        let opened = Opened::open(&environment, spec).await?;
        if !arguments.offline {
            tell_pauses(context, [opened.spec.cluster.name.as_str()]).await?;
        }
        let mut options = arguments.scope.options(!arguments.no_preflight);
        options.infrastructure_only = arguments.infrastructure_only;
        let planned = opened.plan(&Request::apply_with(options)).await?;
        if let Some(state) = opened.state.as_ref().filter(|state| state.is_interrupted()) {
            context.output.message(&unfinished(state));
        }
        plan_source::save(context, &opened, &planned, arguments.out.as_deref()).await?;
        let show = if arguments.offline { ui::show::offline_plan } else { ui::show::plan_of };
        show(context, &planned.plan, &arguments.show, several)?;
        let code = pending(&planned.plan);
        let order = [ExitCode::SUCCESS, ExitCode::from(2), ExitCode::from(1)];
        let place = order.iter().position(|other| *other == code).unwrap_or(2);
        if place > rank {
            (worst, rank) = (code, place);
        }
    }
    Ok(worst)
}

/// The message about a run that did not end.
fn unfinished(state: &State) -> String {
    match &state.head.holder {
        Some(holder) => format!(
            "{} holds {} ({}): that run is under way or was interrupted. The plan is made from what it has done so far.",
            holder.who, state.head.cluster, holder.operation
        ),
        None => "An earlier run was interrupted; the next apply takes it up.".to_owned(),
    }
}
