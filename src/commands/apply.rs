//! `slipway apply`

use std::path::Path;
use std::process::ExitCode;

use slipway_engine::{State, StopSignal};
use slipway_operations::{Manner, Opened, Request};

use super::done;
use crate::cli::ApplyArguments;
use crate::deciding::{self, Asking, Dialogue, Others, carry_out};
use crate::error::CommandError;
use crate::plan_source;
use crate::program::Context;
use crate::specs::{self, Selection};

/// Brings clusters to their specs, or carries a saved plan out.
pub(crate) async fn run(context: &Context, arguments: &ApplyArguments) -> Result<ExitCode, CommandError> {
    if let Some(path) = &arguments.plan {
        return saved(context, arguments, path).await;
    }
    let selection = Selection {
        files: arguments.files.clone(),
        cluster: arguments.cluster.clone(),
        provider: arguments.provider.clone(),
        provider_config: arguments.provider_config.clone(),
    };
    let mut through = true;
    let specs = specs::wanted(context, &selection)?;
    let names: Vec<String> = specs.iter().map(|spec| spec.cluster.name.clone()).collect();
    let others = if names.len() > 1 { Others::Clusters(&names) } else { Others::None };
    let dialogue = Dialogue { others, ..dialogue(arguments) };
    for spec in specs {
        if context.signals.is_stopped() {
            context.output.notice(&format!("Stopped: {} was not looked at.", spec.cluster.name));
            through = false;
            continue;
        }
        let environment = context.environment()?;
        let opened = Opened::open(&environment, spec).await?;
        let mut options = arguments.scope.options(!arguments.no_preflight);
        options.infrastructure_only = arguments.infrastructure_only;
        let request = Request::apply_with(options);
        through &= carry_out(context, &environment, &opened, &request, dialogue).await?;
    }
    Ok(done(through))
}

fn dialogue(arguments: &ApplyArguments) -> Dialogue<'_> {
    let infrastructure_only = arguments.infrastructure_only;
    Dialogue { infrastructure_only, ..Dialogue::new(&arguments.run, arguments.full) }
}

/// Carries a saved plan out exactly as it was saved.
async fn saved(context: &Context, arguments: &ApplyArguments, path: &Path) -> Result<ExitCode, CommandError> {
    let saved = plan_source::read_saved(context, path).await?;
    let stop = StopSignal::default();
    let environment = context.followed(&context.environment()?, &stop);
    let dialogue = dialogue(arguments);
    let terms = deciding::terms(dialogue);
    // Only needed for the names in `--confirm`.
    let state = match arguments.run.confirm.is_empty() {
        true => None,
        false => State::read(&*context.backend()?, &saved.plan.cluster).await?,
    };
    let decide = Asking { context, place: context.state_url(), dialogue, state: state.as_ref() };
    let outcome = saved.apply(&environment, Manner { terms: &terms, decide: &decide, stop }).await?;
    Ok(done(deciding::report(context, &outcome)?))
}
