//! `slipway node logs --follow`: the lines of a log as they are written.

use std::os::unix::process::parent_id;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use slipway_node_agent::facts::below;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use super::growing::Growing;
use super::{KUBELET, PODS, is_in_journal, newest, no_log, said};
use crate::cli::node::LogsArguments;
use crate::code;
use crate::error::CommandError;
use crate::program::Context;

/// How often a file is read.
const PACE: Duration = Duration::from_millis(500);

/// Shows the last lines and then each new line, until the reader or the caller has gone.
pub(super) async fn run(context: &Context, arguments: &LogsArguments) -> Result<ExitCode, CommandError> {
    let root = &arguments.rootfs;
    if arguments.component == "kubelet" {
        if is_in_journal(root) {
            return journal(context, arguments.tail).await;
        }
        let path = below(root, KUBELET);
        return file(context, arguments.tail, || Some(path.clone()), |line| line).await;
    }
    let pods = below(root, PODS);
    let name = &arguments.component;
    if newest(&pods, name).is_none() {
        return Err(no_log(&pods, name));
    }
    file(context, arguments.tail, || newest(&pods, name), said).await
}

/// Follows the newest file, which may be another one after a restart of the container.
async fn file<F: AsRef<Path>>(
    context: &Context,
    tail: usize,
    newest: impl Fn() -> Option<F>,
    message: fn(&str) -> &str,
) -> Result<ExitCode, CommandError> {
    // A connection that ends leaves this process to another parent, and nobody reads what it writes.
    let parent = parent_id();
    let mut growing = Growing::default();
    let mut shown = tail;
    while parent_id() == parent {
        if let Some(path) = newest() {
            let path = path.as_ref();
            let lines = growing.added(path).map_err(|error| CommandError::file("the log", path, error))?;
            let lines = lines.get(lines.len().saturating_sub(shown)..).unwrap_or_default();
            // Only the lines that exist at the beginning are limited.
            shown = usize::MAX;
            if !lines.is_empty() {
                let text: Vec<&str> = lines.iter().map(|line| message(line)).collect();
                context.output.result(&text.join("\n"))?;
            }
        }
        tokio::time::sleep(PACE).await;
    }
    Ok(ExitCode::SUCCESS)
}

async fn journal(context: &Context, tail: usize) -> Result<ExitCode, CommandError> {
    let failed =
        |error: std::io::Error| CommandError::new(code::FILE, "journalctl cannot be run").cause(error);
    let lines = tail.to_string();
    let mut command = Command::new("journalctl");
    command.args(["--unit", "kubelet", "--no-pager", "--output", "cat", "--follow", "--lines", &lines]);
    let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().map_err(failed)?;
    let Some(out) = child.stdout.take() else { return Ok(ExitCode::SUCCESS) };
    let mut lines = BufReader::new(out).lines();
    while let Some(line) = lines.next_line().await.map_err(failed)? {
        context.output.result(&line)?;
    }
    Ok(ExitCode::SUCCESS)
}
