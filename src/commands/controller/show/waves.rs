//! `slipway controller show --waves`

use std::collections::BTreeMap;
use std::process::ExitCode;

use jiff::Timestamp;
use serde_json::json;
use slipway_reconciler::Error;
use slipway_reconciler::board::{self, Board};
use slipway_reconciler::status::{Reason, SourceStatus, Status};
use slipway_state_store::controllers::{self, Group};

use super::{at, short};
use crate::cli::ReportFormat;
use crate::commands::state::json as to_text;
use crate::error::CommandError;
use crate::program::Context;
use crate::ui::table::table;

/// The clusters of a source, by their waves.
type Waves<'a> = BTreeMap<i32, Vec<&'a Status>>;

/// Shows the waves of a source as its controller reported them last.
pub(super) async fn run(
    context: &Context,
    source: &str,
    output: ReportFormat,
) -> Result<ExitCode, CommandError> {
    let backend = context.backend()?;
    let key = controllers::source(source)?;
    let read: Option<SourceStatus> = controllers::read(&*backend, &key).await?;
    let board = board::read(&*backend).await?;
    let mut statuses: Vec<(String, Status)> = controllers::read_all(&*backend, Group::Statuses).await?;
    statuses.retain(|(_, status)| status.source == source);
    if read.is_none() && statuses.is_empty() {
        return Err(Error::UnknownSource { name: source.to_owned() }.into());
    }
    let revision = read.map(|read| read.revision).unwrap_or_default();
    let mut waves: Waves<'_> = BTreeMap::new();
    for (_, status) in &statuses {
        if let Some(rollout) = &status.rollout {
            waves.entry(rollout.wave).or_default().push(status);
        }
    }
    let text = match output {
        ReportFormat::Json => to_text(&report((source, revision.as_str()), &waves, &board))?,
        ReportFormat::Text if waves.is_empty() => {
            format!("The clusters of the source {source} have no order.\n")
        }
        ReportFormat::Text => {
            format!("{source} at {}\n\n{}\n{}", short(&revision), clusters(&waves), summary(&waves))
        }
    };
    context.output.result(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn report((name, revision): (&str, &str), waves: &Waves<'_>, board: &Board) -> serde_json::Value {
    let now = Timestamp::now();
    let wave = |(number, statuses): (&i32, &Vec<&Status>)| {
        let pause = |status: &Status| board.pause(&status.cluster, now).cloned();
        let clusters: Vec<_> =
            statuses.iter().map(|status| json!({ "status": status, "pause": pause(status) })).collect();
        json!({
            "wave": number,
            "ready": statuses.iter().filter(|status| is_ready(status)).count(),
            "waits_for": statuses.iter().find_map(|status| waits_for(status)),
            "clusters": clusters,
        })
    };
    let waves: Vec<_> = waves.iter().map(wave).collect();
    json!({ "source": name, "revision": revision, "waves": waves })
}

fn clusters(waves: &Waves<'_>) -> String {
    let mut rows = Vec::new();
    for (wave, statuses) in waves {
        for status in statuses {
            let ready = status.ready();
            rows.push(vec![
                wave.to_string(),
                status.cluster.clone(),
                ready.map_or("Unknown", |ready| ready.status.as_str()).to_owned(),
                ready.map_or("-", |ready| ready.reason.as_str()).to_owned(),
                at(ready.map(|ready| ready.last_transition_time.0)),
                short(&status.revision),
                waits_for(status).unwrap_or("-").to_owned(),
            ]);
        }
    }
    table(&["WAVE", "CLUSTER", "READY", "REASON", "SINCE", "REVISION", "WAITS FOR"], &rows)
}

/// A line for each wave.
fn summary(waves: &Waves<'_>) -> String {
    let line = |(wave, statuses): (&i32, &Vec<&Status>)| {
        let ready = statuses.iter().filter(|status| is_ready(status)).count();
        let waits = statuses.iter().find_map(|status| waits_for(status));
        let waits = waits.map(|waits| format!("; waits for {waits}")).unwrap_or_default();
        format!("wave {wave}: {ready} of {} clusters in line{waits}\n", statuses.len())
    };
    waves.iter().map(line).collect()
}

fn is_ready(status: &Status) -> bool {
    status.ready().is_some_and(|ready| ready.status == "True")
}

/// The cluster that one waits for, and why.
pub(super) fn waits_for(status: &Status) -> Option<&str> {
    let ready = status.ready().filter(|_| status.is(Reason::WaitsFor))?;
    Some(ready.message.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A status as it is stored.
    fn status(cluster: &str, wave: i32, ready: &str, reason: &str, message: &str) -> Status {
        let condition = json!({
            "type": "Ready",
            "status": ready,
            "reason": reason,
            "message": message,
            "lastTransitionTime": "2026-11-26T12:00:00Z",
        });
        let conditions = serde_json::from_value(json!([condition])).unwrap();
        let rollout = serde_json::from_value(json!({
            "wave": wave,
            "spec_digest": null,
            "waits_for": (reason == "WaitsFor").then_some("canary"),
        }))
        .unwrap();
        let (cluster, revision) = (cluster.to_owned(), "0123456789abcdef".to_owned());
        Status { cluster, revision, conditions, rollout: Some(rollout), ..Status::default() }
    }

    #[test]
    fn waves_are_shown_with_what_they_wait_for() {
        let canary = status("canary", 0, "False", "Failed", "no machine");
        let message = "canary: the last attempt failed: no machine";
        let others = ["eu", "us"].map(|name| status(name, 1, "False", "WaitsFor", message));
        let waves: Waves<'_> = BTreeMap::from([(0, vec![&canary]), (1, others.iter().collect())]);
        assert_eq!(
            summary(&waves),
            format!(
                "wave 0: 0 of 1 clusters in line\nwave 1: 0 of 2 clusters in line; waits for {message}\n"
            )
        );
        let table = clusters(&waves);
        assert!(table.starts_with("WAVE  CLUSTER  READY  REASON"), "{table}");
        assert_eq!(table.lines().filter(|line| line.ends_with(message)).count(), 2, "{table}");
        let shown = report(("fleet", "0123"), &waves, &Board::default());
        assert_eq!(shown["waves"][1]["waits_for"], message);
        assert_eq!(shown["waves"][1]["clusters"][0]["status"]["rollout"]["wave"], 1);
        assert_eq!(shown["waves"][0]["ready"], 0);
    }
}
