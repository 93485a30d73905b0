//! `slipway state gc`

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use slipway_operations::recorded::unknown;
use slipway_state_store::{
    Acquire, ClusterName, Error, Garbage, Holder, Retention, SystemClock, find_garbage, read_head,
};

use crate::cli::ReportFormat;
use crate::cli::state::GcArguments;
use crate::error::CommandError;
use crate::program::Context;
use crate::ui;

/// How many earlier generations are kept when nothing is said.
const GENERATIONS: usize = 10;

/// For how many days earlier generations are kept when nothing is said.
const DAYS: u32 = 30;

/// Removes the objects that the retention settings do not keep.
pub(crate) async fn run(context: &Context, arguments: &GcArguments) -> Result<ExitCode, CommandError> {
    let backend = context.backend()?;
    let retention = retention(context, arguments);
    let clusters = super::verify::named(&*backend, &arguments.clusters).await?;
    let (mut found, mut count) = (Vec::new(), 0);
    for cluster in clusters {
        let Some((head, _)) = read_head(&*backend, &cluster).await? else {
            if arguments.clusters.is_empty() {
                continue;
            }
            return Err(unknown(cluster.as_str(), &context.state_url()).into());
        };
        let garbage = find_garbage(&*backend, &head, retention, jiff::Timestamp::now()).await?;
        count += garbage.len();
        found.push((cluster, garbage));
    }
    if arguments.dry_run || count == 0 {
        return report(context, arguments, &found, false);
    }
    if !arguments.change.yes {
        let question = format!("Remove {}?", objects(count));
        context.output.message(&text(&found));
        ui::prompt::confirm(context, &question)?;
    }
    let mut removed = Vec::new();
    for (cluster, garbage) in found {
        if garbage.is_empty() {
            continue;
        }
        let garbage = collect(context, arguments, &cluster, retention).await?;
        removed.push((cluster, garbage));
    }
    report(context, arguments, &removed, true)
}

/// Removes objects while holding the cluster, so that no other run commits a state that refers to them.
async fn collect(
    context: &Context,
    arguments: &GcArguments,
    cluster: &ClusterName,
    retention: Retention,
) -> Result<Garbage, CommandError> {
    let mut acquire = Acquire::new(context.actor()?.doing("state gc"));
    acquire.wait = arguments.change.wait;
    let holder = match Holder::acquire(context.backend()?, cluster, acquire, Arc::new(SystemClock)).await {
        // A tombstone cannot be held; its history stays.
        Err(Error::NoCluster { .. }) => return Ok(Garbage::default()),
        holder => holder?,
    };
    let garbage = holder.collect_garbage(retention).await;
    holder.release(None).await?;
    Ok(garbage?)
}

fn retention(context: &Context, arguments: &GcArguments) -> Retention {
    let configured = &context.configuration.retention;
    // If the command line gives one of the two limits, the configuration does not add the other one.
    let is_said = arguments.keep.is_some() || arguments.keep_days.is_some();
    let (keep, days) =
        if is_said { (arguments.keep, arguments.keep_days) } else { (configured.keep, configured.keep_days) };
    let is_default = keep.is_none() && days.is_none();
    let generations = keep.unwrap_or(if is_default { GENERATIONS } else { 0 });
    let days = days.unwrap_or(if is_default { DAYS } else { 0 });
    Retention { generations, age: Duration::from_secs(u64::from(days) * 24 * 60 * 60) }
}

fn report(
    context: &Context,
    arguments: &GcArguments,
    found: &[(ClusterName, Garbage)],
    is_removed: bool,
) -> Result<ExitCode, CommandError> {
    let count: usize = found.iter().map(|(_, garbage)| garbage.len()).sum();
    let answer = match arguments.output {
        ReportFormat::Text => {
            let verb = if is_removed { "Removed" } else { "Would remove" };
            format!("{}{verb} {}.\n", text(found), objects(count))
        }
        ReportFormat::Json => {
            let clusters: Vec<_> = found
                .iter()
                .map(|(cluster, garbage)| json!({ "cluster": cluster, "garbage": garbage }))
                .collect();
            super::json(&json!({ "removed": is_removed, "objects": count, "clusters": clusters }))?
        }
    };
    context.output.outcome(&answer)?;
    Ok(if !is_removed && count > 0 { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

fn text(found: &[(ClusterName, Garbage)]) -> String {
    let line = |(cluster, garbage): &(ClusterName, Garbage)| {
        let groups = [
            (garbage.snapshots.len(), "snapshot", "snapshots"),
            (garbage.segments.len(), "journal segment", "journal segments"),
            (garbage.plans.len(), "plan", "plans"),
            (garbage.approvals.len(), "approval", "approvals"),
            (garbage.strays.len(), "stray snapshot", "stray snapshots"),
        ];
        let parts: Vec<String> = groups
            .into_iter()
            .filter(|(count, _, _)| *count > 0)
            .map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }))
            .collect();
        let what = if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") };
        format!("{cluster}: {what}\n{}", super::passed_over("Kept", &garbage.unopened))
    };
    found.iter().map(line).collect()
}

fn objects(count: usize) -> String {
    match count {
        0 => "nothing".to_owned(),
        1 => "1 object".to_owned(),
        _ => format!("{count} objects"),
    }
}
