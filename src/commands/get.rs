//! `slipway get`

mod nodes;
mod plans;
mod pools;

use std::process::ExitCode;

use futures_util::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use serde_json::json;
use slipway_reconciler::board::Board;
use slipway_state_store::{Backend, ClusterName, CommitMeta, Head, Locality, list_clusters, read_head};

use super::controller::tell_pauses;
use crate::cli::ReportFormat;
use crate::cli::state::{GetClustersArguments, GetCommand, GetOfClustersArguments};
use crate::error::CommandError;
use crate::program::Context;
use crate::ui::table::table;

/// How many heads are read at once.
const AT_ONCE: usize = 16;

/// Lists what the state store has.
pub(crate) async fn run(context: &Context, command: &GetCommand) -> Result<ExitCode, CommandError> {
    match command {
        GetCommand::Clusters(arguments) => clusters(context, arguments).await,
        GetCommand::Pools(arguments) => pools::run(context, arguments).await,
        GetCommand::Nodes(arguments) => nodes::run(context, arguments).await,
        GetCommand::Plans(arguments) => plans::run(context, arguments).await,
    }
}

/// The clusters that a command is about: the named one, or all that were created and not deleted.
async fn named(context: &Context, cluster: Option<&str>) -> Result<Vec<ClusterName>, CommandError> {
    if let Some(name) = cluster {
        return Ok(vec![ClusterName::new(name)?]);
    }
    let backend = context.backend()?;
    let names = list_clusters(&*backend).await?;
    let look = |name: ClusterName| {
        let backend = &*backend;
        async move {
            match read_head(backend, &name).await {
                Ok(None) => None,
                Ok(Some((head, _))) if head.deleted => None,
                // One that cannot be read says so when it is looked at.
                _ => Some(name),
            }
        }
    };
    Ok(stream::iter(names).map(look).buffered(AT_ONCE).filter_map(|name| async move { name }).collect().await)
}

/// What was read about clusters.
struct Found<T> {
    /// By the name of the cluster, in the order of the names.
    items: Vec<(String, T)>,
    /// Whether all could be read.
    is_whole: bool,
}

/// Reads something about each cluster. One that cannot be read hides no other, unless it was asked for by its name.
async fn over<T>(
    context: &Context,
    arguments: &GetOfClustersArguments,
    names: &[ClusterName],
    look: impl AsyncFn(&str) -> Result<T, slipway_operations::Error>,
) -> Result<Found<T>, CommandError> {
    let mut found = Found { items: Vec::new(), is_whole: true };
    for name in names {
        match look(name.as_str()).await {
            Ok(item) => found.items.push((name.to_string(), item)),
            Err(error) if arguments.cluster.is_some() => return Err(error.into()),
            Err(error) => {
                found.is_whole = false;
                CommandError::from(error).report(&context.output);
            }
        }
    }
    Ok(found)
}

/// One listing of the store's first level, and one read for each cluster.
async fn clusters(context: &Context, arguments: &GetClustersArguments) -> Result<ExitCode, CommandError> {
    let backend = context.backend()?;
    let names = list_clusters(&*backend).await?;
    let look = |name: ClusterName| {
        let backend = &*backend;
        async move { Ok::<_, CommandError>((read_or_damage(backend, &name).await?, name)) }
    };
    let all: Vec<_> = stream::iter(names).map(look).buffered(AT_ONCE).try_collect().await?;
    let mut sound = true;
    let mut shown = Vec::new();
    for (found, name) in all {
        match found {
            Ok(None)
                if slipway_state_store::read(&*backend, &name).await.is_ok_and(|view| view.is_none()) =>
            {
                context.output.message(&format!("{name}: it was not created yet, and has stored plans"));
            }
            Ok(None) => {
                sound = false;
                context.output.message(&format!(
                    "{name}: it has objects and no head; `slipway state verify` tells more"
                ));
                shown.push((name, None));
            }
            Ok(Some(head)) if head.deleted && !arguments.deleted => {}
            Ok(Some(head)) => shown.push((name, Some(head))),
            Err(problem) => {
                sound = false;
                context.output.message(&format!("{name}: {problem}"));
                shown.push((name, None));
            }
        }
    }
    let board = tell_pauses(context, shown.iter().map(|(name, _)| name.as_str())).await?;
    let is_local = backend.locality() == Locality::Local;
    let text = match arguments.output {
        ReportFormat::Text if shown.is_empty() => format!("No clusters in {}.\n", context.state_url()),
        ReportFormat::Text => {
            let rows: Vec<Vec<String>> =
                shown.iter().map(|(name, head)| row(name, head.as_ref(), is_local)).collect();
            table(&["NAME", "PROVIDER", "VERSION", "GENERATION", "HELD BY", "LAST RUN", "WHEN"], &rows)
        }
        ReportFormat::Json => {
            let clusters: Vec<_> = shown
                .iter()
                .map(|(name, head)| with_pause(cluster_json(name, head.as_ref(), is_local), &board))
                .collect();
            super::state::json(&json!({ "clusters": clusters }))?
        }
    };
    context.output.result(&text)?;
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The same with the pause of the cluster, where controllers are paused.
fn with_pause(mut cluster: serde_json::Value, board: &Board) -> serde_json::Value {
    let pause = cluster["name"].as_str().and_then(|name| board.pause(name, Timestamp::now()));
    if let Some(pause) = pause {
        cluster["pause"] = json!(pause);
    }
    cluster
}

/// The head, or what is wrong with it: one damaged cluster hides no other.
async fn read_or_damage(
    backend: &dyn Backend,
    name: &ClusterName,
) -> Result<Result<Option<Head>, String>, CommandError> {
    use slipway_state_store::Error;
    use slipway_state_store::backend::Error::Corrupt;
    match read_head(backend, name).await {
        Ok(found) => Ok(Ok(found.map(|(head, _)| head))),
        Err(error @ (Error::Backend(Corrupt { .. }) | Error::NewerFormat { .. })) => {
            Ok(Err(error.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}

/// The run that ended last, with or without a commit.
fn last(head: &Head) -> Option<&CommitMeta> {
    head.unfinished.as_ref().or(head.last_commit.as_ref())
}

fn row(name: &ClusterName, head: Option<&Head>, is_local: bool) -> Vec<String> {
    let Some(head) = head else {
        return vec![name.to_string(), "damaged".to_owned()];
    };
    let about = |what: &str| {
        let known = [last(head), head.last_commit.as_ref()].into_iter().flatten();
        known.filter_map(|commit| commit.about.get(what)).next().cloned().unwrap_or_else(|| "-".to_owned())
    };
    let holder = head.holder.as_ref().map_or_else(
        || "-".to_owned(),
        |holder| {
            let gone = if is_local && holder.process.is_surely_dead() { ", and is gone" } else { "" };
            format!("{} ({}{gone})", holder.who, holder.operation)
        },
    );
    let (run, when) = last(head).map_or_else(
        || ("-".to_owned(), "-".to_owned()),
        |commit| {
            let run = format!("{} {}", commit.operation, commit.outcome.as_str());
            (run, super::state::moment(commit.when))
        },
    );
    let generation = if head.deleted { "deleted".to_owned() } else { head.generation.to_string() };
    vec![name.to_string(), about("provider"), about("version"), generation, holder, run, when]
}

fn cluster_json(name: &ClusterName, head: Option<&Head>, is_local: bool) -> serde_json::Value {
    let Some(head) = head else {
        return json!({ "name": name, "damaged": true });
    };
    let commit_json = |commit: &CommitMeta| {
        json!({
            "operation": commit.operation,
            "outcome": commit.outcome,
            "who": commit.who,
            "when": commit.when,
            "plan": commit.plan_digest,
            "what": commit.detail,
        })
    };
    json!({
        "name": name,
        "uid": head.uid,
        "generation": head.generation,
        "epoch": head.epoch,
        "deleted": head.deleted,
        "about": last(head).map(|commit| &commit.about),
        "holder": head.holder.as_ref().map(|holder| json!({
            "who": holder.who,
            "operation": holder.operation,
            "host": holder.process.host,
            "process": holder.process.pid,
            "since": holder.since,
            "term_seconds": holder.lease.term_seconds,
            "renewals": holder.lease.renewals,
            "gone": is_local && holder.process.is_surely_dead(),
        })),
        "last_run": last(head).map(commit_json),
        "last_commit": head.last_commit.as_ref().map(commit_json),
    })
}
