//! `slipway state history`

use std::process::ExitCode;

use serde_json::json;
use slipway_engine::State;
use slipway_state_store::history::{self, Entry, Gap};
use slipway_state_store::runs::{self, Run};
use slipway_state_store::{Backend, ClusterName, CommitMeta, Head, Key, Locality, Readable, read_head};

use super::moment;
use crate::cli::ReportFormat;
use crate::cli::state::HistoryArguments;
use crate::error::CommandError;
use crate::program::Context;
use crate::ui::table::table;

/// Shows the actor of each generation, and the runs that made no generation.
pub(crate) async fn run(context: &Context, arguments: &HistoryArguments) -> Result<ExitCode, CommandError> {
    let backend = context.backend()?;
    let cluster = ClusterName::new(arguments.cluster.as_str())?;
    let limit = if arguments.limit == 0 { usize::MAX } else { arguments.limit };
    // The version before the oldest generation that is shown is that of the one before it.
    let listed = history::readable(&*backend, &cluster, limit.saturating_add(1)).await?;
    let Readable { records: mut entries, mut unopened } = listed;
    let versions = version_changes(&entries);
    entries.truncate(limit);
    let Readable { records: mut runs, unopened: unopened_runs } = runs::list(&*backend, &cluster).await?;
    unopened.extend(unopened_runs);
    let mut unfinished = None;
    let mut running = None;
    if let Some((head, _)) = read_head(&*backend, &cluster).await? {
        // Runs of older versions have no records; only the head names them.
        unfinished =
            head.unfinished.clone().filter(|unfinished| runs.iter().all(|run| run.run != *unfinished));
        // While the cluster has a holder, the run of this epoch was not interrupted.
        runs.retain(|run| run.epoch != head.epoch || head.holder.is_none());
        running = under_way(&*backend, &cluster, &head).await?;
    }
    // Runs that ended before the oldest generation shown are not shown either.
    let oldest = entries.last().filter(|_| entries.len() >= limit).map(|entry| entry.generation);
    runs.retain(|run| oldest.is_none_or(|oldest| run.generation >= oldest));
    let mut missing = history::missing(&*backend, &cluster).await?;
    missing.retain(|gap| oldest.is_none_or(|oldest| gap.last >= oldest));
    let text = match arguments.output {
        ReportFormat::Text => {
            text(&entries, &versions, &runs, unfinished.as_ref(), running.as_ref())
                + &lacks(&cluster, &missing)
                + &super::passed_over("Not shown", &unopened)
        }
        ReportFormat::Json => {
            let generations: Vec<_> = entries.iter().map(entry_json).collect();
            let last =
                runs.first().filter(|run| Some(run.generation) == entries.first().map(|e| e.generation));
            super::json(&json!({
                "cluster": cluster,
                "generations": generations,
                "missing": missing,
                "unopened": unopened.iter().map(Key::as_str).collect::<Vec<_>>(),
                "runs": runs.iter().map(run_json).collect::<Vec<_>>(),
                "unfinished": unfinished.as_ref().or(last.map(|run| &run.run)).map(commit_json),
                "running": running.as_ref().map(|running| run_json(&running.run)),
            }))?
        }
    };
    context.output.result(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The generations without a record, in a sentence; nothing if every generation has one.
fn lacks(cluster: &ClusterName, missing: &[Gap]) -> String {
    if missing.is_empty() {
        return String::new();
    }
    let gaps: Vec<String> = missing.iter().map(Gap::to_string).collect();
    format!(
        "Missing: {}. Their records were removed from the state store, and not by Slipway. `slipway state verify {cluster}` \
         checks the other objects.\n",
        gaps.join(", ")
    )
}

/// The run of the present holder.
struct Running {
    run: Run,
    /// Whether the process has surely ended; false when it runs on another host, where this cannot be
    /// checked.
    is_gone: bool,
}

async fn under_way(
    backend: &dyn Backend,
    cluster: &ClusterName,
    head: &Head,
) -> Result<Option<Running>, CommandError> {
    let Some(holder) = &head.holder else { return Ok(None) };
    let is_gone = backend.locality() == Locality::Local && holder.process.is_surely_dead();
    // How far the run came is extra information: without it, the run is shown all the same.
    let view = slipway_state_store::read(backend, cluster).await.ok().flatten();
    let run = Run::interrupted(head, view.as_ref().and_then(State::progress));
    Ok(run.map(|run| Running { run, is_gone }))
}

/// The change of the Kubernetes version that each generation made, newest first, as `Kubernetes 1.35.2 → 1.36.1`.
fn version_changes(entries: &[Entry]) -> Vec<Option<String>> {
    let version = |entry: &Entry| entry.commit.about.get("version").cloned();
    let earlier = entries.iter().skip(1).map(Some).chain([None]);
    let change = |(entry, earlier): (&Entry, Option<&Entry>)| {
        let (before, after) = (version(earlier?)?, version(entry)?);
        (before != after).then(|| format!("Kubernetes {before} → {after}"))
    };
    entries.iter().zip(earlier).map(change).collect()
}

fn text(
    entries: &[Entry],
    versions: &[Option<String>],
    runs: &[Run],
    unfinished: Option<&CommitMeta>,
    running: Option<&Running>,
) -> String {
    if entries.is_empty() && runs.is_empty() && unfinished.is_none() && running.is_none() {
        return "No generation was committed yet.\n".to_owned();
    }
    let row = |generation: String, commit: &CommitMeta, outcome: &str| {
        vec![
            generation,
            moment(commit.when),
            commit.who.clone(),
            commit.operation.clone(),
            outcome.to_owned(),
            commit.plan_digest.as_deref().map_or("-", short).to_owned(),
            commit.detail.clone().unwrap_or_default(),
        ]
    };
    let without = |commit: &CommitMeta| row("-".to_owned(), commit, commit.outcome.as_str());
    // A run that made no generation is shown above the generation that it began with.
    let mut rows: Vec<Vec<String>> = running
        .map(|running| {
            let outcome = if running.is_gone { running.run.run.outcome.as_str() } else { "running" };
            row("-".to_owned(), &running.run.run, outcome)
        })
        .into_iter()
        .chain(unfinished.map(&without))
        .collect();
    let mut runs = runs.iter().peekable();
    for (entry, version) in entries.iter().zip(versions) {
        while let Some(run) = runs.next_if(|run| run.generation >= entry.generation) {
            rows.push(without(&run.run));
        }
        let mut cells = row(entry.generation.to_string(), &entry.commit, entry.commit.outcome.as_str());
        if let (Some(what), Some(version)) = (cells.last_mut(), version) {
            *what = if what.is_empty() { version.clone() } else { format!("{what}; {version}") };
        }
        rows.push(cells);
    }
    rows.extend(runs.map(|run| without(&run.run)));
    table(&["GENERATION", "WHEN", "WHO", "OPERATION", "OUTCOME", "PLAN", "WHAT"], &rows)
}

/// The first twelve digits of a digest.
fn short(digest: &str) -> &str {
    digest.strip_prefix("sha256:").and_then(|digits| digits.get(..12)).unwrap_or(digest)
}

/// A generation for programs.
pub(super) fn entry_json(entry: &Entry) -> serde_json::Value {
    let mut value = commit_json(&entry.commit);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("generation".to_owned(), json!(entry.generation));
        fields.insert("deleted".to_owned(), json!(entry.deleted));
        fields.insert("digest".to_owned(), json!(entry.snapshot.as_ref().map(|snapshot| snapshot.digest)));
    }
    value
}

/// A run that made no generation, for programs.
fn run_json(run: &Run) -> serde_json::Value {
    let mut value = commit_json(&run.run);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("after_generation".to_owned(), json!(run.generation));
        fields.insert("epoch".to_owned(), json!(run.epoch));
    }
    value
}

fn commit_json(commit: &CommitMeta) -> serde_json::Value {
    json!({
        "when": commit.when,
        "who": commit.who,
        "operation": commit.operation,
        "outcome": commit.outcome,
        "plan": commit.plan_digest,
        "what": commit.detail,
        "about": commit.about,
    })
}
