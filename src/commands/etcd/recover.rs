//! `slipway etcd recover`

use std::process::ExitCode;

use slipway_operations::Unplanned;
use slipway_operations::etcd::{self, ControlPlane, MemberData, Progress, Recovery, Source};

use super::{bytes, json, number, to_the_second};
use crate::cli::ReportFormat;
use crate::cli::etcd::RecoverArguments;
use crate::commands::kubeconfig::open;
use crate::error::CommandError;
use crate::program::Context;
use crate::ui;
use crate::unplanned::{self, Treatment};

/// Shows what a recovery does and loses, and does it when the cluster's name confirms that.
pub(super) async fn run(context: &Context, arguments: &RecoverArguments) -> Result<ExitCode, CommandError> {
    let environment = context.environment()?;
    let opened = open(context, &arguments.cluster).await?;
    let output = &context.output;
    let name = opened.spec.cluster.name.to_string();
    let treatment = Treatment { approve: arguments.approve, yes: arguments.confirm.as_ref() == Some(&name) };
    if arguments.undo {
        output.message(&format!(
            "The old data and the manifests of {name} are put back on all machines where a recovery has begun."
        ));
        let effect = "the old data of etcd is put back where a recovery has begun".to_owned();
        let change = Unplanned::of(&environment, "etcd recover --undo", &name, vec![effect]).await?;
        let Some(allowed) = unplanned::allow(context, &environment, change, treatment).await? else {
            return Ok(ExitCode::SUCCESS);
        };
        confirmed(context, arguments, &name)?;
        etcd::undo_recovery(&environment, &opened, &allowed).await?;
        output.result("The recovery was undone.")?;
        return Ok(ExitCode::SUCCESS);
    }
    let plan = etcd::plan_recovery(&opened, arguments.from_snapshot.as_deref()).await?;
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
    if let Err(error) = etcd::recover(&environment, &opened, (&plan, &allowed), &tell).await {
        return Err(CommandError::from(error)
            .hint(format!("`slipway etcd recover {name}` goes on where it stopped"))
            .hint(format!("`slipway etcd recover {name} --undo` puts the old data back")));
    }
    output.message(&done(&plan));
    Ok(ExitCode::SUCCESS)
}

/// Asks for the name of the cluster, unless it was given.
fn confirmed(context: &Context, arguments: &RecoverArguments, cluster: &str) -> Result<(), CommandError> {
    let question = ("To go on, type the cluster's name:", cluster);
    ui::prompt::named(context, arguments.confirm.as_deref(), question)
}

/// The result, and the next command.
fn done(plan: &Recovery) -> String {
    let Recovery { cluster, machines, absent, .. } = plan;
    let mut text = format!("etcd of {cluster} runs on {}.", machines.join(", "));
    if !absent.is_empty() {
        text.push_str(&format!(
            "\nFor each of the others, {}: set `lost: true` in its Host document, or write the address and key of the machine that replaces \
             it. Then run `slipway apply`.",
            names(plan)
        ));
    }
    text
}

fn names(plan: &Recovery) -> String {
    plan.absent.iter().map(|absent| absent.machine.as_str()).collect::<Vec<_>>().join(", ")
}

fn preview(plan: &Recovery) -> String {
    let mut text = found(&plan.control_planes);
    text.push_str(&source(plan));
    text.push_str(&lost(plan));
    text.push_str(&left_out(plan));
    if plan.progress == Progress::New || plan.progress == Progress::Interrupted {
        text.push_str("\nThe API does not answer until the recovery is done.\n");
    }
    text.push_str(&format!("\nEach step ends on {} before the next one begins:\n", plan.machines.join(", ")));
    for (number, stage) in plan.stages.iter().enumerate() {
        text.push_str(&format!("  {}  {stage}\n", number + 1));
    }
    text
}

/// The control planes as a table, and the reasons below it.
fn found(control_planes: &[ControlPlane]) -> String {
    let row = |one: &ControlPlane| {
        let number_of = |of: fn(&MemberData) -> i64| number(one.data.as_ref().map(of));
        let etcd = match (&one.unreachable, &one.status) {
            (Some(_), _) => "not reachable",
            (None, Some(status)) if status.has_majority => "has a majority",
            (None, Some(_)) => "has no majority",
            (None, None) => "does not answer",
        };
        let data = match (&one.unreachable, &one.data) {
            (Some(_), _) => "unknown",
            (None, Some(_)) => "intact",
            (None, None) => "none",
        };
        let written = one.data.as_ref().and_then(|data| data.written.as_deref());
        vec![
            one.machine.clone(),
            etcd.to_owned(),
            data.to_owned(),
            number_of(|data| data.revision),
            number_of(|data| data.term),
            number_of(|data| data.commit),
            bytes(one.data.as_ref().map(|data| data.size)),
            written.map(to_the_second).unwrap_or_default(),
        ]
    };
    let rows: Vec<Vec<String>> = control_planes.iter().map(row).collect();
    let head = ["MACHINE", "ETCD", "DATA", "REVISION", "TERM", "COMMIT", "SIZE", "LAST WRITTEN"];
    let mut text = ui::table::table(&head, &rows);
    for one in control_planes {
        let reasons = [&one.unreachable, &one.damage];
        for reason in reasons.into_iter().flatten() {
            text.push_str(&format!("{}: {reason}\n", one.machine));
        }
    }
    text.push('\n');
    text
}

fn source(plan: &Recovery) -> String {
    let Recovery { cluster, id, .. } = plan;
    let revision = number(plan.revision);
    let written = plan.written.as_deref().map(to_the_second).unwrap_or_default();
    match (plan.progress, &plan.source) {
        (Progress::New, Source::Survivor(machine)) => {
            format!(
                "{cluster} is recovered from the data of {machine}: revision {revision}, last written {written}.\n"
            )
        }
        (Progress::New, Source::Snapshot(name)) => {
            format!(
                "{cluster} is recovered from the snapshot {name}: revision {revision}, taken {written}.\n"
            )
        }
        (Progress::Interrupted, Source::Survivor(machine)) => {
            format!(
                "The recovery {id} of {cluster} from the data of {machine} was interrupted, and goes on.\n"
            )
        }
        (Progress::Interrupted, Source::Snapshot(name)) => {
            format!("The recovery {id} of {cluster} from the snapshot {name} was interrupted, and goes on.\n")
        }
        (Progress::Restored, _) => {
            format!("The recovery {id} of {cluster} is done, but for the last step.\n")
        }
        (Progress::Needless, _) => format!(
            "etcd of {cluster} has a majority again. The recovery {id} was interrupted before it changed any data.\n"
        ),
    }
}

/// The writes that are lost, and the newest snapshot beside a survivor.
fn lost(plan: &Recovery) -> String {
    if plan.progress != Progress::New {
        return String::new();
    }
    if let Source::Snapshot(_) = plan.source {
        return match plan.lost_revisions {
            Some(0) => "LOST  nothing that a reachable control plane has\n".to_owned(),
            Some(lost) => format!(
                "LOST  {lost} revisions that the data of a reachable control plane has; without --from-snapshot they are kept\n"
            ),
            None => "LOST  all that was written since the snapshot was taken\n".to_owned(),
        };
    }
    let mut text =
        "LOST  writes that only the other members have: those of the last moments before the majority was lost\n"
            .to_owned();
    match plan.unconfirmed {
        Some(0) | None => {}
        Some(1) => text.push_str("      1 request in the log that was never known to be confirmed\n"),
        Some(count) => {
            text.push_str(&format!(
                "      {count} requests in the log that were never known to be confirmed\n"
            ));
        }
    }
    match &plan.newest_snapshot {
        Some(newest) => text.push_str(&format!(
            "      The newest snapshot, {} of {}, is {} revisions older; it is not used.\n",
            newest.snapshot.name,
            newest.snapshot.taken.as_deref().map(to_the_second).unwrap_or_default(),
            number(newest.behind)
        )),
        None => text.push_str("      No control plane that can be reached has a snapshot.\n"),
    }
    text
}

/// The machines that take no part, and what has to be made sure.
fn left_out(plan: &Recovery) -> String {
    if plan.absent.is_empty() {
        return String::new();
    }
    let names = names(plan);
    format!(
        "\nNot recovered: {names}. The new etcd does not know their members and refuses them. Make sure that these machines \
         are off or disconnected: those that run and reach each other can be a majority of the old etcd, and then they answer with \
         old data. Slipway cannot stop what it cannot reach.\n"
    )
}

#[cfg(test)]
mod tests;
