//! Pods that were started before the cluster published its present authorities.

use std::process::ExitCode;

use slipway_operations::Opened;
use slipway_operations::rotation::{Workload, older_workloads, restart_change, restart_pods};

use crate::cli::rotate::RotateCaArguments;
use crate::error::CommandError;
use crate::program::Context;
use crate::specs::{self, Selection};
use crate::ui;
use crate::ui::table::table;
use crate::unplanned::{self, Treatment};

/// The command that starts them again.
const COMMAND: &str = "slipway rotate ca --restart-pods";

/// Lists the workloads with older pods, and has them start their pods again.
pub(super) async fn restart(
    context: &Context,
    arguments: &RotateCaArguments,
) -> Result<ExitCode, CommandError> {
    let rotate = &arguments.rotate;
    let written = specs::one(context, &Selection::from(&rotate.specs))?;
    let environment = context.environment()?;
    let opened = Opened::open(&environment, written).await?;
    opened.check_exists("rotate")?;
    let workloads = older_workloads(&opened).await?;
    if workloads.is_empty() {
        context.output.message("All pods were started after the cluster published its authorities.");
        return Ok(ExitCode::SUCCESS);
    }
    context.output.result(&listed(&workloads))?;
    if rotate.dry_run {
        return Ok(ExitCode::from(2));
    }
    let cluster = opened.spec.cluster.name.to_string();
    let treatment = Treatment { approve: arguments.approve, yes: rotate.run.yes };
    let change = restart_change(&environment, &cluster, &workloads).await?;
    let Some(allowed) = unplanned::allow(context, &environment, change, treatment).await? else {
        return Ok(ExitCode::SUCCESS);
    };
    if !rotate.run.yes {
        ui::prompt::confirm(context, "Start these pods again?")?;
    }
    restart_pods(&opened, &workloads, &allowed).await?;
    context.output.message("The workloads start their pods again by their own rollouts.");
    Ok(ExitCode::SUCCESS)
}

/// Names the workloads with older pods, if there are any. An API that does not answer does not make a stage fail.
pub(super) async fn warn(context: &Context, opened: &Opened) {
    let text = match older_workloads(opened).await {
        Ok(workloads) if workloads.is_empty() => return,
        Ok(workloads) => format!(
            "These workloads have pods that were started before the cluster published its present authorities:\n\n{}\nPods that do not \
             read their authorities again do not know the new ones, and still trust removed ones. `{COMMAND}` starts them again.",
            listed(&workloads)
        ),
        Err(error) => format!("Pods that are older than the authorities cannot be listed: {error}"),
    };
    context.output.message(&text);
}

fn listed(workloads: &[Workload]) -> String {
    let row = |workload: &Workload| {
        let how = if workload.can_restart() { "" } else { "not started again by this command" };
        let Workload { namespace, kind, name } = workload.clone();
        vec![namespace, kind, name, how.to_owned()]
    };
    table(&["NAMESPACE", "KIND", "NAME", ""], &workloads.iter().map(row).collect::<Vec<_>>())
}
