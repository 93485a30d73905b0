//! `slipway state break-lease`

use std::process::ExitCode;
use std::sync::Arc;

use slipway_operations::recorded::unknown;
use slipway_state_store::{Acquire, ClusterName, Holder, SystemClock, read_head};

use super::moment;
use crate::cli::state::BreakLeaseArguments;
use crate::error::CommandError;
use crate::program::Context;
use crate::ui;

/// Takes a cluster away from its holder, after a confirmation by name.
pub(crate) async fn run(
    context: &Context,
    arguments: &BreakLeaseArguments,
) -> Result<ExitCode, CommandError> {
    let backend = context.backend()?;
    let cluster = ClusterName::new(arguments.cluster.as_str())?;
    let head = read_head(&*backend, &cluster).await?.map(|(head, _)| head);
    let head = head.ok_or_else(|| unknown(cluster.as_str(), &context.state_url()))?;
    let Some(holder) = head.holder else {
        context.output.result(&format!("No process holds {cluster}; there is no lease to break."))?;
        return Ok(ExitCode::SUCCESS);
    };
    context.output.message(&format!(
        "{cluster} is held by {} (process {} on {}), who runs `{}` since {}, in epoch {}.\n\
         A holder that is silent for {} s is replaced by whoever waits that long; one that lives renews its lease.\n\
         When it is taken away, what is on its way to the cloud may still arrive there; the next apply finds it.",
        holder.who,
        holder.process.pid,
        holder.process.host,
        holder.operation,
        moment(holder.since),
        head.epoch,
        holder.lease.term_seconds,
    ));
    let question = "To go on, type the cluster's name:";
    ui::prompt::named(context, arguments.confirm.as_deref(), (question, cluster.as_str()))?;
    let actor = context.actor()?;
    let acquire = Acquire::new(actor.doing("state break-lease"))
        .replace(holder.id)
        .describe(slipway_engine::State::progress);
    let taken = Holder::acquire(backend, &cluster, acquire, Arc::new(SystemClock)).await?;
    let epoch = taken.epoch();
    taken.release(None).await?;
    context.output.outcome(&format!(
        "{cluster} is free, in epoch {epoch}. The state rejects all later writes of {}.",
        holder.who
    ))?;
    Ok(ExitCode::SUCCESS)
}
