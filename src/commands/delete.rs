//! `slipway delete`

use std::process::ExitCode;

use slipway_plan::{Mode, Options};

use super::{done, pending};
use crate::applying;
use crate::cli::DeleteArguments;
use crate::error::CommandError;
use crate::plan_source;
use crate::planning::{self, Prepared, Request};
use crate::program::Context;
use crate::protection;
use crate::specs::{self, Selection};
use crate::ui;

/// Removes a cluster and everything that Slipway made for it.
pub(crate) async fn run(context: &Context, arguments: &DeleteArguments) -> Result<ExitCode, CommandError> {
    let wanted = match &arguments.cluster.name {
        Some(name) => planning::recorded(context, name).await?,
        None => specs::one(context, &Selection::from(&arguments.cluster))?,
    };
    let prepared = Prepared::leaving(context, wanted).await?;
    let options = Options { delete_retained: arguments.delete_backups, ..Options::default() };
    let request = Request {
        mode: Mode::Delete,
        options,
        offline: false,
        roll: None,
        version_change: None,
        unprotect: arguments.unprotect,
    };
    let allowed = protection::check_prepared(&prepared, arguments.unprotect);
    if arguments.dry_run {
        let mut plan = prepared.plan(&request).await?.plan;
        if allowed.is_err() {
            plan.notes.push(protection::will_be_refused());
        }
        ui::show::plan(context, &plan, &arguments.show)?;
        if arguments.save.out.is_some() {
            // Whoever applies it later is not asked again.
            allowed?;
            plan_source::save(context, &prepared, &plan, arguments.save.out.as_deref()).await?;
        }
        return Ok(pending(&plan));
    }
    if let Err(error) = allowed {
        // Protection hides nothing: the whole plan is shown before it is refused.
        let plan = prepared.plan(&request).await?.plan;
        ui::show::plan(context, &plan, &arguments.show)?;
        return Err(error);
    }
    let through = applying::bring(context, &prepared, &request, &arguments.run, arguments.show.full).await?;
    if !through {
        tell_forgotten(context, &prepared);
    }
    Ok(done(through))
}

/// Names what `state rm` made the state forget: it is not deleted, and what it stands on cannot be deleted either.
fn tell_forgotten(context: &Context, prepared: &Prepared) {
    let forgotten = prepared.state.iter().flat_map(|state| &state.snapshot.forgotten);
    let forgotten: Vec<String> = forgotten.map(|(address, _)| address.to_string()).collect();
    if forgotten.is_empty() {
        return;
    }
    let name = &prepared.wanted.cluster.name;
    context.output.message(&format!(
        "Forgotten by `slipway state rm`, and so not deleted: {}. What they use cannot be deleted as long as they exist. \
         `slipway state rebuild {name} -f FILE --force` takes them into the state again; then `slipway delete {name}` \
         deletes them too.",
        forgotten.join(", ")
    ));
}
