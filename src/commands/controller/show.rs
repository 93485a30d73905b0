//! `slipway controller show`

mod life;
mod waves;

use std::process::ExitCode;

use jiff::Timestamp;
use serde_json::json;
use slipway_reconciler::board::{self, Board};
use slipway_reconciler::status::{SourceStatus, Status};
use slipway_state_store::controllers::{self, Group};

use super::check_known;
use crate::cli::ReportFormat;
use crate::cli::controller::ShowControllerArguments;
use crate::commands::state::{json as to_text, moment};
use crate::error::CommandError;
use crate::program::Context;
use crate::ui::table::table;
use life::Life;

/// How many digits of a commit or digest a table shows.
const DIGITS: usize = 12;

/// The beginning of a further line of a fact, below its first one.
const INDENT: &str = "\n             ";

/// Shows what controllers reported last.
pub(super) async fn run(
    context: &Context,
    arguments: &ShowControllerArguments,
) -> Result<ExitCode, CommandError> {
    if let Some(source) = &arguments.waves {
        return waves::run(context, source, arguments.output).await;
    }
    let backend = context.backend()?;
    let board = board::read(&*backend).await?;
    let mut statuses: Vec<(String, Status)> = controllers::read_all(&*backend, Group::Statuses).await?;
    let mut sources: Vec<(String, SourceStatus)> = controllers::read_all(&*backend, Group::Sources).await?;
    if let Some(cluster) = &arguments.cluster {
        check_known(&backend, cluster).await?;
        statuses.retain(|(name, _)| name == cluster);
        let source = statuses.first().map(|(_, status)| status.source.clone());
        sources.retain(|(name, _)| source.as_ref() == Some(name));
    }
    let names = statuses.iter().map(|(_, status)| &status.controller);
    let names = names.chain(sources.iter().map(|(_, source)| &source.controller));
    let life = Life::read(&*backend, names).await?;
    let text = match (arguments.output, &arguments.cluster) {
        (ReportFormat::Json, _) => {
            let now = Timestamp::now();
            let clusters: Vec<_> = statuses
                .iter()
                .map(|(name, status)| {
                    let overdue = status.is_overdue(now);
                    json!({ "status": status, "pause": board.pause(name, now), "overdue": overdue })
                })
                .collect();
            let sources: Vec<_> =
                sources.iter().map(|(name, status)| json!({ "name": name, "status": status })).collect();
            to_text(&json!({ "sources": sources, "clusters": clusters, "controllers": life.report() }))?
        }
        (ReportFormat::Text, Some(cluster)) if statuses.is_empty() => {
            let pause = board.pause(cluster, Timestamp::now());
            let pause = pause.map(|pause| format!("It is paused: {pause}\n")).unwrap_or_default();
            format!("No controller has reported the cluster {cluster} to {}.\n{pause}", context.state_url())
        }
        (ReportFormat::Text, Some(_)) => {
            statuses.iter().map(|(_, status)| details(status, &board, &life)).collect()
        }
        (ReportFormat::Text, None) if statuses.is_empty() && sources.is_empty() => {
            format!("No controller has reported to {}.\n", context.state_url())
        }
        (ReportFormat::Text, None) => {
            let silences = life.silences();
            let gap = if silences.is_empty() { "" } else { "\n" };
            let tables = (source_table(&sources), cluster_table(&statuses, &board));
            format!("{}\n{}{gap}{silences}", tables.0, tables.1)
        }
    };
    context.output.result(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn source_table(sources: &[(String, SourceStatus)]) -> String {
    let row = |(name, status): &(String, SourceStatus)| {
        let problem = match status.problems.as_slice() {
            [] => "-".to_owned(),
            [only] => with_place(&only.message),
            [first, more @ ..] => format!("{} (and {} more)", with_place(&first.message), more.len()),
        };
        let clusters = status.clusters.to_string();
        vec![name.clone(), short(&status.revision), at(status.since), clusters, problem]
    };
    let rows: Vec<Vec<String>> = sources.iter().map(row).collect();
    table(&["SOURCE", "REVISION", "SINCE", "CLUSTERS", "PROBLEM"], &rows)
}

fn cluster_table(statuses: &[(String, Status)], board: &Board) -> String {
    let now = Timestamp::now();
    let row = |(name, status): &(String, Status)| {
        let (ready, reason) = match status.ready() {
            Some(ready) => (ready.status.clone(), ready.reason.clone()),
            None => ("Unknown".to_owned(), "-".to_owned()),
        };
        let ready = if status.is_overdue(now) { format!("{ready}, overdue") } else { ready };
        let paused = board.pause(name, now).map_or("-", |pause| pause.who.as_str()).to_owned();
        let facts = status.plan.as_ref().map(|plan| &plan.facts);
        // The last plan was made before the spec had problems or was gone.
        let plan =
            facts.filter(|_| !status.is_about_spec()).map_or_else(|| "-".to_owned(), ToString::to_string);
        let drift = facts.map_or(0, |facts| facts.drift).to_string();
        let revision = short(&status.revision);
        let wave = status.rollout.as_ref().map_or_else(|| "-".to_owned(), |rollout| rollout.wave.to_string());
        let waits = status.rollout.as_ref().and_then(|rollout| rollout.waits_for.clone());
        let waits = waits.unwrap_or_else(|| "-".to_owned());
        vec![name.clone(), ready, reason, policy(status), plan, drift, revision, wave, waits, paused]
    };
    let rows: Vec<Vec<String>> = statuses.iter().map(row).collect();
    let headings = [
        "CLUSTER",
        "READY",
        "REASON",
        "APPLY",
        "PLAN",
        "DRIFT",
        "REVISION",
        "WAVE",
        "WAITS FOR",
        "PAUSED BY",
    ];
    table(&headings, &rows)
}

/// Everything about one cluster, one fact a line.
fn details(status: &Status, board: &Board, life: &Life) -> String {
    let mut lines: Vec<(&str, String)> = vec![
        ("cluster", status.cluster.clone()),
        ("controller", status.controller.clone()),
        ("source", source(status)),
        ("apply", policy(status)),
    ];
    if let Some(silence) = life.silence(&status.controller) {
        lines.push(("warning", silence));
    }
    for condition in &status.conditions {
        let message =
            if condition.message.is_empty() { String::new() } else { format!(": {}", condition.message) };
        lines.push((
            "condition",
            format!("{} {} {}{message}", condition.type_, condition.status, condition.reason),
        ));
    }
    if let Some(rollout) = &status.rollout {
        lines.push(("wave", rollout.wave.to_string()));
    }
    if let Some(waits) = waves::waits_for(status) {
        lines.push(("waits for", waits.to_owned()));
    }
    if let Some(pause) = board.pause(&status.cluster, Timestamp::now()) {
        lines.push(("pause", pause.to_string()));
    }
    if let Some(plan) = &status.plan {
        let (title, name) = match plan.place.as_str() {
            "" => ("plan digest", &plan.digest),
            _ => ("stored plan", &plan.place),
        };
        let before = if status.is_about_spec() { "; made before this problem" } else { "" };
        lines.push(("plan", format!("{}, {} changed outside Slipway{before}", plan.facts, plan.facts.drift)));
        lines.push((title, name.clone()));
        if plan.needed > 0 {
            lines.push(("approvals", format!("{} of {}", plan.approvals, plan.needed)));
        }
    }
    if let Some(applied) = &status.applied {
        let generation =
            applied.generation.map_or_else(|| "-".to_owned(), |generation| generation.to_string());
        let text =
            format!("generation {generation} at {}, from {}", moment(applied.when), short(&applied.revision));
        lines.push(("applied", text));
    }
    if let Some(problem) = &status.problem {
        lines.extend(problem.code.iter().map(|code| ("code", code.clone())));
        if status.failures > 0 {
            lines.push(("failures", status.failures.to_string()));
        }
        lines.extend(problem.hints.iter().map(|hint| ("hint", hint.clone())));
    }
    lines.push(("checked", at(status.checked)));
    let overdue = if status.is_overdue(Timestamp::now()) { ", overdue" } else { "" };
    lines.push(("next", format!("{}{overdue}", at(status.next))));
    lines.iter().map(|(name, value)| format!("{name:<12} {}\n", value.replace('\n', INDENT))).collect()
}

/// The source that a cluster comes from, with the path and the revision of its spec. A cluster that was only found in the state has none.
fn source(status: &Status) -> String {
    match status.source.as_str() {
        "" => "-".to_owned(),
        source => format!("{source}, {} at {}", status.path, short(&status.revision)),
    }
}

/// Which plans of a cluster are applied. No policy is known before a source has the cluster.
fn policy(status: &Status) -> String {
    let is_known = !status.source.is_empty();
    if is_known { status.apply.clone() } else { "-".to_owned() }
}

fn at(time: Option<Timestamp>) -> String {
    time.map_or_else(|| "-".to_owned(), moment)
}

fn short(revision: &str) -> String {
    let digits = revision.strip_prefix("sha256:").unwrap_or(revision);
    match digits.get(..DIGITS) {
        Some(digits) => digits.to_owned(),
        None if digits.is_empty() => "-".to_owned(),
        None => digits.to_owned(),
    }
}

/// The first line of a problem, with its place where the second one has it (`  --> FILE:LINE:COLUMN`).
fn with_place(text: &str) -> String {
    let place = text.lines().nth(1).and_then(|line| line.trim_start().strip_prefix("--> "));
    match place {
        Some(place) => format!("{} ({place})", first_line(text)),
        None => first_line(text),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use slipway_reconciler::Facts;
    use slipway_state_store::MemoryBackend;

    use super::*;

    /// The status of a cluster that has a plan of an earlier spec.
    fn invalid() -> Status {
        let ready = json!({
            "type": "Ready", "status": "False", "reason": "SpecInvalid",
            "message": "error[SPEC0003]: unknown field\n  --> clusters/prod/a.yaml:4:3",
            "lastTransitionTime": "2026-11-26T12:00:00Z",
        });
        let facts = Facts { create: 44, ..Facts::default() };
        let plan = json!({
            "digest": "sha256:0123", "generation": 1, "when": "2026-11-26T12:00:00Z", "place": "",
            "approvals": 0, "needed": 0, "facts": facts,
        });
        let status = json!({
            "cluster": "prod", "controller": "default", "source": "local", "path": "clusters/prod",
            "revision": "", "spec_digest": "", "apply": "always", "conditions": [ready], "plan": plan,
            "problem": { "code": "SPEC0003", "message": "unknown field", "hints": [] },
            "failures": 0, "request": 0,
        });
        serde_json::from_value(status).unwrap()
    }

    #[tokio::test]
    async fn a_spec_with_problems_is_not_shown_with_the_plan_before_it() {
        let life = Life::read(&MemoryBackend::new(), std::iter::empty::<&String>()).await.unwrap();
        let (status, board) = (invalid(), Board::default());
        let text = details(&status, &board, &life);
        assert!(text.contains("made before this problem"), "{text}");
        assert!(text.contains("\ncode         SPEC0003\n") && !text.contains("failures"), "{text}");
        assert!(text.contains("\n               --> clusters/prod/a.yaml:4:3\n"), "{text}");
        let table = cluster_table(&[("prod".to_owned(), status)], &board);
        assert!(!table.contains("44"), "{table}");
    }

    #[test]
    fn a_cluster_without_a_source_has_no_path() {
        let known = invalid();
        assert_eq!(source(&known), "local, clusters/prod at -");
        assert_eq!(source(&Status { source: String::new(), path: String::new(), ..known }), "-");
    }
}
