//! `slipway get nodes`

use std::process::ExitCode;

use serde_json::json;
use slipway_operations::health::{self, NodeHealth};
use slipway_operations::{Opened, state};

use super::{Found, named, over};
use crate::cli::ReportFormat;
use crate::cli::state::GetOfClustersArguments;
use crate::commands::state as shown;
use crate::error::CommandError;
use crate::program::Context;
use crate::ui::table::table;

/// Lists the nodes of clusters, and machines that are not nodes yet. Asks the API of each cluster, its provider, or its hosts.
pub(super) async fn run(
    context: &Context,
    arguments: &GetOfClustersArguments,
) -> Result<ExitCode, CommandError> {
    let environment = context.environment()?;
    let names = named(context, arguments.cluster.as_deref()).await?;
    let look = async |name: &str| {
        let recorded = state::recorded(&environment, name).await?;
        health::look(&Opened::open(&environment, recorded).await?).await
    };
    let Found { items, mut is_whole } = over(context, arguments, &names, look).await?;
    for (name, health) in &items {
        if let Some(reason) = &health.api {
            is_whole = false;
            context.output.message(&format!("{name}: the API is not reached: {reason}"));
        }
    }
    let nodes: Vec<(&str, &NodeHealth)> = items
        .iter()
        .flat_map(|(name, health)| health.nodes.iter().map(move |node| (name.as_str(), node)))
        .collect();
    let text = match arguments.output {
        // What could not be read was named already.
        ReportFormat::Text if nodes.is_empty() && !is_whole => return Ok(super::super::done(false)),
        ReportFormat::Text if nodes.is_empty() => "No nodes were found.\n".to_owned(),
        ReportFormat::Text => {
            let rows: Vec<Vec<String>> = nodes.iter().map(|(cluster, node)| row(cluster, node)).collect();
            table(&["CLUSTER", "NODE", "POOL", "PHASE", "LAST ERROR"], &rows)
        }
        ReportFormat::Json => {
            let nodes: Vec<_> = nodes
                .iter()
                .map(|(cluster, node)| {
                    json!({
                        "cluster": cluster,
                        "name": node.name,
                        "pool": node.pool,
                        "phase": node.phase.as_str(),
                        "error": node.error,
                    })
                })
                .collect();
            shown::json(&json!({ "nodes": nodes }))?
        }
    };
    context.output.result(&text)?;
    Ok(super::super::done(is_whole))
}

fn row(cluster: &str, node: &NodeHealth) -> Vec<String> {
    let pool = if node.pool.is_empty() { "-".to_owned() } else { node.pool.clone() };
    let error = node.error.clone().unwrap_or_default();
    vec![cluster.to_owned(), node.name.clone(), pool, node.phase.as_str().to_owned(), error]
}
