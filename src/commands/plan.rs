//! `slipway plan`

use std::process::ExitCode;

use slipway_engine::State;
use slipway_operations::plans::STORE;
use slipway_operations::{Opened, Request};
use slipway_state_store::Locality;

use super::controller::tell_pauses;
use super::{drift, pending, worse};
use crate::cli::{OutputFormat, PlanArguments};
use crate::code;
use crate::error::CommandError;
use crate::plan_source;
use crate::policies;
use crate::program::Context;
use crate::specs::{self, Selection};
use crate::ui;

/// Shows the changes of an apply. Writes only the requested plan file.
pub(crate) async fn run(context: &Context, arguments: &PlanArguments) -> Result<ExitCode, CommandError> {
    plan_source::check(arguments.out.as_deref())?;
    let selection = Selection::from(&arguments.specs);
    if arguments.refresh_only {
        let names = specs::wanted(context, &selection)?.into_iter().map(|spec| spec.cluster.name).collect();
        return drift::of(context, names, &selection, &arguments.show).await;
    }
    // A file has one plan; in the state store, each one is stored beside its cluster.
    let is_file = arguments.out.as_deref().is_some_and(|path| path.to_str() != Some(STORE));
    let all = match is_file || arguments.show.output != OutputFormat::Text {
        true => vec![specs::one(context, &selection).map_err(|error| one_file(error, is_file))?],
        false => specs::wanted(context, &selection)?,
    };
    if !arguments.offline {
        specs::tell_bases(context, &all).await?;
    }
    let several = all.len() > 1;
    let mut worst = ExitCode::SUCCESS;
    for spec in all {
        let environment = if arguments.offline { context.without_store()? } else { context.environment()? };
        let environment = policies::with(environment, &arguments.policy)?;
        let mut options = arguments.scope.options(!arguments.no_preflight);
        options.infrastructure_only = arguments.infrastructure_only;
        let opened = Opened::open_to_apply(&environment, spec, &options).await?;
        if !arguments.offline {
            tell_pauses(context, [opened.spec.cluster.name.as_str()]).await?;
        }
        let planned = opened.plan(&Request::apply_with(options)).await?;
        if let Some(state) = opened.state.as_ref().filter(|state| state.is_interrupted()) {
            let is_local = context.backend()?.locality() == Locality::Local;
            context.output.message(&unfinished(state, is_local));
        }
        let (out, format) = (arguments.out.as_deref(), arguments.show.output);
        let show = if arguments.offline { ui::show::offline_plan } else { ui::show::plan_of };
        match plan_source::save(context, &opened, &planned, out, format).await? {
            Some(place) => ui::show::stored_json(context, &planned.plan, &place)?,
            None => show(context, &planned.plan, &arguments.show, several)?,
        }
        worst = worse(worst, pending(&planned.plan));
    }
    Ok(worst)
}

/// Says where the plans of several clusters can be saved.
fn one_file(error: CommandError, is_file: bool) -> CommandError {
    match error.code() {
        Some(code::SEVERAL_CLUSTERS) if is_file => {
            error.hint("`--out state:` stores a plan for each cluster")
        }
        _ => error,
    }
}

/// The message about a run that did not end. Only processes of a store on this machine can be looked for.
fn unfinished(state: &State, is_local: bool) -> String {
    match &state.head.holder {
        Some(holder) if is_local && holder.process.is_surely_dead() => format!(
            "{} held {} ({}), and this process is gone: its run was interrupted. The plan is made from what it has done; the next \
             apply takes the run up.",
            holder.who, state.head.cluster, holder.operation
        ),
        Some(holder) => format!(
            "{} holds {} ({}): that run is under way or was interrupted. The plan is made from what it has done so far.",
            holder.who, state.head.cluster, holder.operation
        ),
        None => "An earlier run failed or was interrupted; the next apply continues it.".to_owned(),
    }
}
