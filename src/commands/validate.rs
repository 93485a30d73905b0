//! `slipway validate`

use std::process::ExitCode;
use std::time::Duration;

use slipway_operations::Opened;
use slipway_operations::health::{self, Health};
use tokio::time::Instant;

use super::done;
use crate::cli::ReportFormat;
use crate::cli::clusters::ValidateArguments;
use crate::commands::kubeconfig::open;
use crate::error::CommandError;
use crate::program::Context;
use crate::ui::table::table;

/// How often a cluster that is waited for is looked at.
const PERIOD: Duration = Duration::from_secs(2);

/// Reports the health of a cluster; with `--wait`, waits until it is healthy.
pub(crate) async fn run(context: &Context, arguments: &ValidateArguments) -> Result<ExitCode, CommandError> {
    let until = arguments.wait.map(|wait| Instant::now() + wait);
    let (opened, health) = loop {
        // A run that is under way changes the state meanwhile.
        let opened = open(context, &arguments.cluster).await?;
        let health = health::look(&opened).await?;
        let waits = until.is_some_and(|until| Instant::now() + PERIOD < until);
        if health.is_healthy() || !waits {
            break (opened, health);
        }
        tokio::time::sleep(PERIOD).await;
    };
    match arguments.output {
        ReportFormat::Json => {
            let text = serde_json::to_string_pretty(&health.to_json())
                .map_err(|error| CommandError::internal("the report cannot be written", error))?;
            context.output.result(&text)?;
        }
        ReportFormat::Text => context.output.result(&report(&opened, &health))?,
    }
    Ok(done(health.is_healthy()))
}

fn report(opened: &Opened, health: &Health) -> String {
    let mut text = match &health.api {
        None => "API     answers\n".to_owned(),
        Some(reason) => format!("API     {reason}\n"),
    };
    if !health.nodes.is_empty() {
        text.push('\n');
        let rows: Vec<Vec<String>> = health
            .nodes
            .iter()
            .map(|node| {
                let error = node.error.clone().unwrap_or_default();
                vec![node.name.clone(), node.pool.clone(), node.phase.as_str().to_owned(), error]
            })
            .collect();
        text.push_str(&table(&["NODE", "POOL", "PHASE", "LAST ERROR"], &rows));
    }
    for node in health.nodes.iter().filter(|node| !node.console.is_empty()) {
        text.push_str(&format!("\nCONSOLE of {}\n", node.name));
        node.console.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    }
    if !health.pods.is_empty() {
        text.push('\n');
        let rows: Vec<Vec<String>> =
            health.pods.iter().map(|(name, reason)| vec![name.clone(), reason.clone()]).collect();
        text.push_str(&table(&["POD", "NOT READY BECAUSE"], &rows));
    }
    if !health.missing.is_empty() {
        text.push_str("\nMACHINES\n");
        health.missing.iter().for_each(|problem| text.push_str(&format!("{problem}\n")));
    }
    if !health.etcd.is_empty() {
        text.push_str("\nETCD\n");
        health.etcd.iter().for_each(|problem| text.push_str(&format!("{problem}\n")));
    }
    let verdict = if health.is_healthy() { "is healthy" } else { "is not healthy" };
    text.push_str(&format!("\n{} {verdict}.\n", opened.spec.cluster.name));
    text
}
