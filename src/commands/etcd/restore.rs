//! `slipway etcd restore`

use std::process::ExitCode;

use slipway_operations::Unplanned;
use slipway_operations::etcd::{self, Restore};

use super::{bytes, json, number, to_the_second};
use crate::cli::ReportFormat;
use crate::cli::etcd::RestoreArguments;
use crate::commands::kubeconfig::open;
use crate::error::CommandError;
use crate::program::Context;
use crate::ui;
use crate::unplanned::{self, Treatment};

/// Shows what a restore does and loses, and does it when the cluster's name confirms that.
pub(super) async fn run(context: &Context, arguments: &RestoreArguments) -> Result<ExitCode, CommandError> {
    let environment = context.environment()?;
    let opened = open(context, &arguments.cluster).await?;
    let output = &context.output;
    let name = opened.spec.cluster.name.to_string();
    let treatment = Treatment { approve: arguments.approve, yes: arguments.confirm.as_ref() == Some(&name) };
    let Some(snapshot) = arguments.snapshot.as_ref().filter(|_| !arguments.undo) else {
        output.message(&format!(
            "The old data and the manifests of {name} are put back on all control planes."
        ));
        let effect = "the old data of etcd is put back on all control planes".to_owned();
        let change = Unplanned::of(&environment, "etcd restore --undo", &name, vec![effect]).await?;
        let Some(allowed) = unplanned::allow(context, &environment, change, treatment).await? else {
            return Ok(ExitCode::SUCCESS);
        };
        confirmed(context, arguments, &name)?;
        etcd::undo_restore(&environment, &opened, &allowed).await?;
        output.outcome("The restore was undone.")?;
        return Ok(ExitCode::SUCCESS);
    };
    let plan = etcd::plan_restore(&opened, snapshot).await?;
    let text = match arguments.output {
        ReportFormat::Json => json(&plan)?,
        ReportFormat::Text => preview(&plan),
    };
    output.result(&text)?;
    if arguments.dry_run {
        return Ok(ExitCode::from(2));
    }
    let change = plan.change(&environment).await?;
    let Some(allowed) = unplanned::allow(context, &environment, change, treatment).await? else {
        return Ok(ExitCode::SUCCESS);
    };
    confirmed(context, arguments, &name)?;
    let tell = |text: &str| output.message(text);
    if let Err(error) = etcd::restore(&environment, &opened, (&plan, &allowed), &tell).await {
        let again = format!("slipway etcd restore {name} --snapshot {snapshot}");
        return Err(CommandError::from(error)
            .hint(format!("`{again}` goes on where it stopped"))
            .hint(format!("`slipway etcd restore {name} --undo` puts the old data back")));
    }
    output.outcome(&format!("{name} was restored from {snapshot}. `slipway validate {name}` checks it."))?;
    Ok(ExitCode::SUCCESS)
}

/// Asks for the name of the cluster, unless it was given.
fn confirmed(context: &Context, arguments: &RestoreArguments, cluster: &str) -> Result<(), CommandError> {
    let question = ("To go on, type the cluster's name:", cluster);
    ui::prompt::named(context, arguments.confirm.as_deref(), question)
}

fn preview(plan: &Restore) -> String {
    let Restore { cluster, snapshot, .. } = plan;
    let taken = snapshot.taken.as_deref().map(to_the_second).unwrap_or_default();
    let mut text = format!(
        "{cluster} is restored from {}, taken {taken}, revision {}, {}.\n\n",
        snapshot.name,
        number(snapshot.revision),
        bytes(snapshot.size)
    );
    text.push_str(&match (plan.lost_revisions, plan.current_revision, snapshot.revision) {
        (Some(lost), Some(now), Some(then)) if lost > 0 => {
            format!("LOST  revisions {} to {now}: all {lost} that were written since {taken}\n", then + 1)
        }
        (Some(_), ..) => "LOST  nothing: no revision was written since\n".to_owned(),
        _ => format!("LOST  all that was written since {taken}; etcd does not tell its revision\n"),
    });
    text.push_str("      The API does not answer until the restore is done.\n\n");
    text.push_str(&format!(
        "Each step ends on all control planes ({}) before the next one begins:\n",
        plan.machines.join(", ")
    ));
    for (number, stage) in plan.stages.iter().enumerate() {
        text.push_str(&format!("  {}  {stage}\n", number + 1));
    }
    text
}
