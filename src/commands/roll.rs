//! `slipway roll`

use std::process::ExitCode;

use slipway_operations::{Opened, Request};
use slipway_plan::Unfinished;

use super::{done, pending};
use crate::cli::RollArguments;
use crate::code;
use crate::deciding::{Dialogue, carry_out};
use crate::error::CommandError;
use crate::plan_source;
use crate::program::Context;
use crate::specs::{self, Selection};

/// Replaces the machines of pools under their budgets.
pub(crate) async fn run(context: &Context, arguments: &RollArguments) -> Result<ExitCode, CommandError> {
    plan_source::check(arguments.save.out.as_deref())?;
    let spec = specs::one(context, &Selection::from(&arguments.specs))?;
    // An error in the arguments is reported before anything is opened.
    spec.check_pools(&arguments.pool)?;
    let environment = context.environment()?;
    let opened = Opened::open(&environment, spec).await?;
    let unfinished = match (arguments.restart, arguments.abandon) {
        (true, _) => Unfinished::Restart,
        (false, true) => Unfinished::Abandon,
        (false, false) => Unfinished::Continue,
    };
    let mut request = Request::roll(&opened, &arguments.pool, unfinished)?;
    let is_open = opened.state.as_ref().is_some_and(|state| !state.snapshot.rolls.is_empty());
    if unfinished == Unfinished::Abandon && !is_open {
        let message = format!("no roll of {} is unfinished; nothing was done", opened.spec.cluster.name);
        return Err(CommandError::new(code::NO_ROLL, message)
            .hint("`slipway plan -f …` shows what differs from the spec"));
    }
    request.options.infrastructure_only = arguments.infrastructure_only;
    if arguments.dry_run {
        let planned = opened.plan(&request).await?;
        let out = arguments.save.out.as_deref();
        plan_source::save_and_show(context, &opened, &planned, out, &arguments.show).await?;
        return Ok(pending(&planned.plan));
    }
    let infrastructure_only = arguments.infrastructure_only;
    // The same command would begin again.
    let next = arguments.restart.then(|| {
        let pools = arguments.pool.iter().map(|pool| format!(" --pool {pool}"));
        format!("slipway roll -f …{}", pools.collect::<String>())
    });
    let dialogue = Dialogue {
        infrastructure_only,
        next: next.as_deref(),
        ..Dialogue::showing(&arguments.run, &arguments.show)
    };
    Ok(done(carry_out(context, &environment, &opened, &request, dialogue).await?))
}
