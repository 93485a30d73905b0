//! `slipway state history`

use std::process::ExitCode;

use serde_json::json;
use slipway_state_store::history::{self, Entry};
use slipway_state_store::{ClusterName, CommitMeta, read_head};

use super::moment;
use crate::cli::ReportFormat;
use crate::cli::state::HistoryArguments;
use crate::error::CommandError;
use crate::program::Context;
use crate::ui::table::table;

/// Shows who made which generation.
pub(crate) async fn run(context: &Context, arguments: &HistoryArguments) -> Result<ExitCode, CommandError> {
    let backend = context.backend()?;
    let cluster = ClusterName::new(arguments.cluster.as_str())?;
    let limit = if arguments.limit == 0 { usize::MAX } else { arguments.limit };
    let entries = history::list(&*backend, &cluster, limit).await?;
    let head = read_head(&*backend, &cluster).await?.map(|(head, _)| head);
    let unfinished = head.and_then(|head| head.unfinished);
    let text = match arguments.output {
        ReportFormat::Text => text(&entries, unfinished.as_ref()),
        ReportFormat::Json => {
            let generations: Vec<_> = entries.iter().map(entry_json).collect();
            super::json(&json!({
                "cluster": cluster,
                "generations": generations,
                "unfinished": unfinished.as_ref().map(commit_json),
            }))?
        }
    };
    context.output.result(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn text(entries: &[Entry], unfinished: Option<&CommitMeta>) -> String {
    if entries.is_empty() && unfinished.is_none() {
        return "No generation was committed yet.\n".to_owned();
    }
    let row = |generation: String, commit: &CommitMeta| {
        vec![
            generation,
            moment(commit.when),
            commit.who.clone(),
            commit.operation.clone(),
            commit.outcome.as_str().to_owned(),
            commit.plan_digest.as_deref().map_or("-", short).to_owned(),
            commit.detail.clone().unwrap_or_default(),
        ]
    };
    // What made no generation stands where the next one would.
    let rows: Vec<Vec<String>> = unfinished
        .into_iter()
        .map(|commit| row("-".to_owned(), commit))
        .chain(entries.iter().map(|entry| row(entry.generation.to_string(), &entry.commit)))
        .collect();
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
