//! `slipway approve`

use std::process::ExitCode;

use serde_json::json;
use slipway_operations::{plans, stop_at_findings};
use slipway_reconciler::status::Status;
use slipway_state_store::approvals::{self, Approval};
use slipway_state_store::{Backend, ClusterName, Digest, Generation, controllers};

use crate::cli::ReportFormat;
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
        return revoke(context, arguments, &cluster, digest).await;
    }
    // A plan that does not fit the state any more could never be applied.
    plans::check_fits(&context.environment()?, &plan).await?;
    let shown = ui::show::Shown { full: arguments.full, several: false };
    let text = ui::show::text(context, &context.state_url(), &plan, shown);
    ui::report::found(context, &arguments.result, arguments.yes, &text)?;
    if plan.is_empty() {
        context.output.message("The plan does nothing; there is nothing to approve.");
        if arguments.result.output == ReportFormat::Json {
            tell(context, arguments, (&cluster, digest), "nothing", "").await?;
        }
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
    tell(context, arguments, (&counts.cluster, digest), "approved", &text).await?;
    if let Some(status) = of_controller(&*backend, &counts).await {
        context.output.message(&format!(
            "The controller {} counts this approval only if its `approvers` name {}, or nobody. `slipway controller show {}` has \
             the number of those that count.",
            status.controller, counts.person, counts.cluster
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The status of the controller that waits for approvals of this plan, if there is one.
async fn of_controller(backend: &dyn Backend, approval: &Approval) -> Option<Status> {
    // The approval is stored: a status that cannot be read does not undo it.
    let read = controllers::read::<Status>(backend, &controllers::status(&approval.cluster)).await;
    let waits = |status: &Status| {
        let plan = status.plan.as_ref().filter(|plan| plan.needed > 0);
        plan.is_some_and(|plan| plan.digest.parse::<Digest>().is_ok_and(|digest| digest == approval.plan))
    };
    read.ok().flatten().filter(waits)
}

/// Removes the approval of the caller. A plan that does not fit the state any more can be named too.
async fn revoke(
    context: &Context,
    arguments: &ApproveArguments,
    cluster: &ClusterName,
    plan: Digest,
) -> Result<ExitCode, CommandError> {
    let (backend, actor) = (context.backend()?, context.actor()?);
    let (outcome, text) = match approvals::revoke(&*backend, cluster, plan, &actor.person).await? {
        Some(approval) => ("revoked", format!("Took the approval of {plan} by {} back.", approval.who)),
        None => ("nothing", format!("{} has not approved {plan}; nothing was changed.", actor.who)),
    };
    tell(context, arguments, (cluster, plan), outcome, &text).await?;
    Ok(ExitCode::SUCCESS)
}

/// Says what became of an approval, and names the persons who approve the plan.
async fn tell(
    context: &Context,
    arguments: &ApproveArguments,
    (cluster, plan): (&ClusterName, Digest),
    outcome: &str,
    text: &str,
) -> Result<(), CommandError> {
    let given = approvals::of(&*context.backend()?, cluster, plan).await?;
    let names: Vec<&str> = given.iter().map(|approval| approval.who.as_str()).collect();
    if arguments.result.output == ReportFormat::Json {
        let result = json!({ "cluster": cluster, "plan": plan, "outcome": outcome, "approvals": names });
        return context.output.outcome(&result.to_string());
    }
    context.output.outcome(text)?;
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    context.output.message(&format!("Approvals: {names}."));
    Ok(())
}
