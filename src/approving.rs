//! Whether a plan has the approvals that its apply needs.

use slipway_plan::Plan;
use slipway_state_store::{ClusterName, approvals};

use crate::actor::Actor;
use crate::cli::RunArguments;
use crate::error::CommandError;
use crate::plan_source;
use crate::program::Context;
use crate::protection;

/// How many approvals are needed, as the options or the configuration say.
fn needed(context: &Context, arguments: &RunArguments) -> u16 {
    let by_other = u16::from(arguments.require_approval_by_other);
    let named = arguments.require_approval.unwrap_or(0);
    named.max(by_other).max(context.configuration.require_approval.unwrap_or(0))
}

/// Refuses a plan that too few persons have approved. An approval counts for the plan of its digest and for no other.
pub(crate) async fn check(
    context: &Context,
    plan: &Plan,
    arguments: &RunArguments,
) -> Result<(), CommandError> {
    let needed = needed(context, arguments);
    if needed == 0 || protection::is_nothing(plan) {
        return Ok(());
    }
    let digest = plan_source::digest(plan)?;
    let cluster = ClusterName::new(plan.cluster.as_str())?;
    let given = approvals::of(&*context.backend()?, &cluster, digest).await?;
    let actor = Actor::current(context);
    let by_other = arguments.require_approval_by_other;
    let (counted, own): (Vec<_>, Vec<_>) =
        given.into_iter().partition(|approval| !by_other || approval.person != actor.person);
    if counted.len() >= usize::from(needed) {
        let names: Vec<&str> = counted.iter().map(|approval| approval.who.as_str()).collect();
        context.output.message(&format!("Approved by {}.", names.join(", ")));
        return Ok(());
    }
    let wanted = if needed == 1 { "an approval".to_owned() } else { format!("{needed} approvals") };
    let found = match counted.len() {
        0 => "none".to_owned(),
        count => count.to_string(),
    };
    let mut error = CommandError::new(
        "CLI0035",
        format!("plan {digest} needs {wanted} and has {found}; nothing was done"),
    );
    if !own.is_empty() {
        error = error.cause(format!("{} approved it, and is who applies it", actor.who));
    }
    Err(error.hint("store the plan with `slipway plan … --out state:`, have it approved with `slipway approve state:DIGEST`, and apply that"))
}
