//! Running programs of the node.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use slipway_resource::{ErrorClass, ProviderError};
use tokio::process::Command;

use crate::error::{permanent, transient};
use crate::host::Host;

/// How long a program may take that only asks or switches something.
const LIMIT: Duration = Duration::from_secs(90);

/// The output of a program.
pub(crate) struct Output {
    pub(crate) success: bool,
    /// Its standard output.
    pub(crate) out: String,
    /// Its standard error, or else its output, for people; the last lines.
    pub(crate) text: String,
}

/// The place of a program, if there is one.
pub(crate) fn find(host: &Host, name: &str) -> Option<PathBuf> {
    let own = std::env::var("PATH").unwrap_or_default();
    let path = if host.config.path.is_empty() { own } else { host.config.path.clone() };
    // A login by SSH without a shell has no sbin in it.
    let more = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin"];
    let more = if host.config.path.is_empty() { &more[..] } else { &[] };
    let folders = path.split(':').filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let mut places = folders.chain(more.iter().map(PathBuf::from)).map(|folder| folder.join(name));
    places.find(|place| place.is_file())
}

/// Runs a program to its end.
pub(crate) async fn run(host: &Host, name: &str, arguments: &[&str]) -> Result<Output, ProviderError> {
    let Some(program) = find(host, name) else {
        return Err(permanent(format!("there is no program {name} on this node")));
    };
    run_at(&program, arguments).await
}

/// Runs the program at a place to its end.
pub(crate) async fn run_at(program: &Path, arguments: &[&str]) -> Result<Output, ProviderError> {
    let name = program.display();
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).kill_on_drop(true).env("LC_ALL", "C");
    let run = tokio::time::timeout(LIMIT, command.output());
    match run.await {
        Err(_) => {
            let text = format!("{name} {} did not end within {} s", arguments.join(" "), LIMIT.as_secs());
            Err(ProviderError::new(ErrorClass::OutcomeUnknown, text))
        }
        Ok(Err(error)) => Err(transient(format!("{name}: {error}"))),
        Ok(Ok(output)) => {
            let out = String::from_utf8_lossy(&output.stdout).into_owned();
            let printed = String::from_utf8_lossy(&output.stderr);
            let printed = if printed.trim().is_empty() { out.as_str() } else { &printed };
            let lines: Vec<&str> = printed.trim().lines().collect();
            let text = lines.get(lines.len().saturating_sub(5)..).unwrap_or_default().join("; ");
            Ok(Output { success: output.status.success(), out, text })
        }
    }
}
