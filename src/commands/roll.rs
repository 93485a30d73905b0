//! `slipway roll`

use std::process::ExitCode;

use slipway_plan::{Mode, Options};

use super::{done, pending};
use crate::applying;
use crate::cli::RollArguments;
use crate::error::CommandError;
use crate::plan_source;
use crate::planning::{Prepared, Request};
use crate::program::Context;
use crate::specs::{self, Selection};
use crate::{composition, ui, upgrade};

/// Replaces the machines of pools under their budgets.
pub(crate) async fn run(context: &Context, arguments: &RollArguments) -> Result<ExitCode, CommandError> {
    let wanted = specs::one(context, &Selection::from(&arguments.specs))?;
    for pool in &arguments.pool {
        if wanted.cluster.pool(pool).is_none() {
            let names: Vec<&str> = wanted.cluster.pools.iter().map(|pool| pool.name.as_str()).collect();
            return Err(CommandError::new(
                "CLI0016",
                format!("{} has no pool `{pool}`", wanted.cluster.name),
            )
            .hint(format!("its pools are {}", names.join(", "))));
        }
    }
    let prepared = Prepared::open(context, wanted, false).await?;
    upgrade::check_exists(context, &prepared, "roll")?;
    if prepared.providers.iter().any(|(_, handle)| composition::works_on_hosts(&handle.schema)) {
        let cluster = &prepared.wanted.cluster;
        let message =
            format!("{} is on hosts, which Slipway does not replace; nothing was done", cluster.name);
        return Err(CommandError::new("CLI0092", message).hint(
            "take a host out of the spec and add another one, each with `slipway apply`; changes of settings roll by \
             themselves in an apply",
        ));
    }
    let request = Request {
        mode: Mode::Apply,
        options: Options { preflight: true, ..Options::default() },
        offline: false,
        roll: Some(arguments.pool.clone()),
        version_change: None,
        unprotect: false,
    };
    if arguments.dry_run {
        let plan = prepared.plan(&request).await?.plan;
        plan_source::save(context, &prepared, &plan, arguments.save.out.as_deref()).await?;
        ui::show::plan(context, &plan, &arguments.show)?;
        return Ok(pending(&plan));
    }
    Ok(done(applying::bring(context, &prepared, &request, &arguments.run, arguments.show.full).await?))
}
