//! `slipway delete`

use std::process::ExitCode;

use slipway_operations::{Opened, Request, protection, state};

use super::{done, pending};
use crate::cli::{DeleteArguments, OutputFormat};
use crate::deciding::{Dialogue, carry_out};
use crate::error::CommandError;
use crate::plan_source;
use crate::program::Context;
use crate::specs::{self, Selection};
use crate::ui;

/// Removes a cluster and everything that Slipway made for it.
pub(crate) async fn run(context: &Context, arguments: &DeleteArguments) -> Result<ExitCode, CommandError> {
    plan_source::check(arguments.save.out.as_deref())?;
    let environment = context.environment()?;
    let spec = match &arguments.cluster.name {
        Some(name) => state::recorded(&environment, name).await?,
        None => specs::one(context, &Selection::from(&arguments.cluster))?,
    };
    let opened = Opened::leaving(&environment, spec).await?;
    let request = Request::delete(arguments.delete_backups, arguments.unprotect);
    let request = if arguments.no_preflight { request.without_preflight() } else { request };
    let allowed = protection::check_opened(&opened, arguments.unprotect);
    if arguments.dry_run {
        let mut planned = opened.plan(&request).await?;
        if allowed.is_err() {
            planned.plan.notes.push(protection::will_be_refused());
        }
        let out = arguments.save.out.as_deref();
        if out.is_none() || allowed.is_err() {
            ui::show::plan(context, &planned.plan, &arguments.show)?;
        }
        if out.is_some() {
            // A saved plan is applied without this question.
            allowed?;
            plan_source::save_and_show(context, &opened, &planned, out, &arguments.show).await?;
        }
        return Ok(pending(&planned.plan));
    }
    if let Err(error) = allowed {
        // Protection hides nothing: the whole plan is shown before it is refused. The JSON of a real run is its result only.
        if arguments.show.output != OutputFormat::Json {
            let mut plan = opened.plan(&request).await?.plan;
            plan.notes.push(protection::will_be_refused());
            ui::show::plan(context, &plan, &arguments.show)?;
        }
        return Err(error.into());
    }
    let dialogue = Dialogue::showing(&arguments.run, &arguments.show);
    let through = carry_out(context, &environment, &opened, &request, dialogue).await?;
    if !through {
        tell_forgotten(context, &opened);
    }
    Ok(done(through))
}

/// Names the objects that `state rm` made the state forget. They are not deleted, and objects that they
/// depend on cannot be deleted either.
fn tell_forgotten(context: &Context, opened: &Opened) {
    let forgotten = opened.state.iter().flat_map(|state| &state.snapshot.forgotten);
    let objects = forgotten.filter(|(_, identities)| !identities.is_empty());
    let forgotten: Vec<String> = objects.map(|(address, _)| address.to_string()).collect();
    if forgotten.is_empty() {
        return;
    }
    let name = &opened.spec.cluster.name;
    context.output.message(&format!(
        "Forgotten by `slipway state rm` or `removed`, and so not deleted: {}. What they use cannot be deleted as long as they exist. \
         `slipway state rebuild {name} -f FILE --force` takes them into the state again; then `slipway delete {name}` \
         deletes them too.",
        forgotten.join(", ")
    ));
}
