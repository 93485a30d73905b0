//! `slipway approve`

use std::process::ExitCode;

use slipway_operations::{plans, stop_at_findings};
use slipway_state_store::approvals::{self, Approval};
use slipway_state_store::{ClusterName, Generation};

use crate::cli::state::ApproveArguments;
use crate::error::CommandError;
use crate::program::Context;
use crate::{plan_source, ui};

/// Shows a plan and writes an approval for it.
pub(crate) async fn run(context: &Context, arguments: &ApproveArguments) -> Result<ExitCode, CommandError> {
    let plan = plan_source::read(context, &arguments.plan).await?;
    let digest = plans::digest(&plan)?;
    // A plan that does not fit the state any more could never be applied.
    plans::check_fits(&context.environment()?, &plan).await?;
    let shown = ui::show::Shown { full: arguments.full, several: false };
    context.output.result(&ui::show::text(context, &context.state_url(), &plan, shown))?;
    if plan.is_empty() {
        context.output.message("The plan does nothing; there is nothing to approve.");
        return Ok(ExitCode::SUCCESS);
    }
    stop_at_findings(&plan)?;
    let backend = context.backend()?;
    if !arguments.yes {
        ui::prompt::confirm(context, "Approve this plan?")?;
    }
    let actor = context.actor()?;
    let approval = Approval {
        format: approvals::FORMAT,
        cluster: ClusterName::new(plan.cluster.as_str())?,
        plan: digest,
        generation: Generation(plan.binding.generation.unwrap_or(0)),
        person: actor.person,
        who: actor.who,
        when: jiff::Timestamp::now(),
        comment: arguments.comment.clone(),
    };
    let (asked, counts) = (approval.clone(), approvals::approve(&backend, approval).await?);
    let text = if counts == asked {
        format!("Approved {digest} as {}.", counts.who)
    } else {
        format!("{} approved {digest} before, on {:.0}.", counts.who, counts.when)
    };
    context.output.outcome(&text)?;
    let given = approvals::of(&*backend, &counts.cluster, digest).await?;
    let names: Vec<&str> = given.iter().map(|approval| approval.who.as_str()).collect();
    context.output.message(&format!("Approvals: {}.", names.join(", ")));
    Ok(ExitCode::SUCCESS)
}
