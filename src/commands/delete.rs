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
    let request = Request { mode: Mode::Delete, options, offline: false, roll: None };
    if arguments.dry_run {
        let plan = prepared.plan(&request).await?.plan;
        ui::show::plan(context, &plan, &arguments.show)?;
        if arguments.save.out.is_some() {
            // Whoever applies it later is not asked again.
            check_protection(&prepared)?;
            plan_source::save(context, &prepared, &plan, arguments.save.out.as_deref()).await?;
        }
        return Ok(pending(&plan));
    }
    if let Err(error) = check_protection(&prepared) {
        // Protection hides nothing: the whole plan is shown before it is refused.
        let plan = prepared.plan(&request).await?.plan;
        ui::show::plan(context, &plan, &arguments.show)?;
        return Err(error);
    }
    Ok(done(applying::bring(context, &prepared, &request, &arguments.run, arguments.show.full).await?))
}

/// As the state has it; as the spec says where there is no state.
fn check_protection(prepared: &Prepared) -> Result<(), CommandError> {
    let recorded =
        prepared.state.as_ref().and_then(|state| state.snapshot.spec.get("deletionProtection")?.as_bool());
    if !recorded.unwrap_or(prepared.wanted.cluster.deletion_protection) {
        return Ok(());
    }
    let name = &prepared.wanted.cluster.name;
    Err(CommandError::new("CLI0010", format!("{name} is protected from deletion; nothing was done"))
        .hint("set deletionProtection: false in its spec, apply that, and delete again"))
}
