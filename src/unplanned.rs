//! Changes of a cluster beside its plans: approved by one person, and made by another.

use slipway_operations::{Allowed, Environment, Unplanned};

use crate::error::CommandError;
use crate::program::Context;
use crate::ui;

/// How a command treats a change that it has shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Treatment {
    /// Whether the change is approved instead of made.
    pub approve: bool,
    /// Whether the approval is not asked about.
    pub yes: bool,
}

/// Stores an approval of the change where the caller asked for that; otherwise checks that it has the approvals that the
/// policy demands. `None` when it was approved, and nothing is left to do.
pub(crate) async fn allow(
    context: &Context,
    environment: &Environment,
    change: Unplanned,
    Treatment { approve, yes }: Treatment,
) -> Result<Option<Allowed>, CommandError> {
    if !approve {
        return Ok(Some(change.allow(environment).await?));
    }
    if !yes {
        ui::prompt::confirm(context, "Approve this change?")?;
    }
    let approval = change.approve(environment).await?;
    context.output.outcome(&format!("Approved by {}: {change}.", approval.who))?;
    context.output.message("Nothing was changed. The same command without `--approve` makes the change.");
    Ok(None)
}
