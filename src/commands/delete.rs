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
    Ok(done(applying::bring(context, &prepared, &request, &arguments.run, arguments.show.full).await?))
}
