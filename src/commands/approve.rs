//! `slipway approve`

use std::process::ExitCode;

use slipway_operations::{plans, stop_at_findings};
use slipway_state_store::approvals::{self, Approval};
use slipway_state_store::{Backend, ClusterName, Digest, Generation};

use crate::cli::state::ApproveArguments;
use crate::error::CommandError;
use crate::program::Context;
use crate::{plan_source, ui};

/// Shows a plan and writes an approval for it, or removes the one that the caller gave.
pub(crate) async fn run(context: &Context, arguments: &ApproveArguments) -> Result<ExitCode, CommandError> {
    let plan = plan_source::read(context, &arguments.plan).await?;
    let digest = plans::digest(&plan)?;
    let cluster = ClusterName::new(plan.cluster.as_str())?;
    if arguments.revoke {
        return revoke(context, &cluster, digest).await;
    }
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
        cluster,
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
    list(context, &*backend, &counts.cluster, digest).await?;
    Ok(ExitCode::SUCCESS)
}

/// Removes the approval of the caller. A plan that does not fit the state any more can be named too.
async fn revoke(context: &Context, cluster: &ClusterName, plan: Digest) -> Result<ExitCode, CommandError> {
    let (backend, actor) = (context.backend()?, context.actor()?);
    let text = match approvals::revoke(&*backend, cluster, plan, &actor.person).await? {
        Some(approval) => format!("Took the approval of {plan} by {} back.", approval.who),
        None => format!("{} has not approved {plan}; nothing was changed.", actor.who),
    };
    context.output.outcome(&text)?;
    list(context, &*backend, cluster, plan).await?;
    Ok(ExitCode::SUCCESS)
}

/// Names the persons who approve a plan.
async fn list(
    context: &Context,
    backend: &dyn Backend,
    cluster: &ClusterName,
    plan: Digest,
) -> Result<(), CommandError> {
    let given = approvals::of(backend, cluster, plan).await?;
    let names: Vec<&str> = given.iter().map(|approval| approval.who.as_str()).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    context.output.message(&format!("Approvals: {names}."));
    Ok(())
}
