//! `slipway node logs`: the log of the kubelet or of a component of this machine.

mod follow;
mod growing;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use slipway_node_agent::facts::{below, init_system};
use tokio::process::Command;

use crate::cli::node::LogsArguments;
use crate::code;
use crate::error::CommandError;
use crate::program::Context;

/// Where the kubelet keeps the logs of containers, by pod.
const PODS: &str = "/var/log/pods";
/// Where a kubelet that no init system runs writes to.
const KUBELET: &str = "/var/log/slipway/kubelet.log";

pub(super) async fn run(context: &Context, arguments: &LogsArguments) -> Result<ExitCode, CommandError> {
    if arguments.follow {
        return follow::run(context, arguments).await;
    }
    let root = &arguments.rootfs;
    let text = if arguments.component == "kubelet" {
        kubelet(root, arguments.tail).await?
    } else {
        component(root, &arguments.component, arguments.tail)?
    };
    context.output.result(&text)?;
    Ok(ExitCode::SUCCESS)
}

async fn kubelet(root: &Path, tail: usize) -> Result<String, CommandError> {
    let file = below(root, KUBELET);
    if !is_in_journal(root) {
        let text = slipway_limits::file::read_text(&file, slipway_limits::size::LOG)
            .map_err(|error| CommandError::file("the log", &file, error))?;
        return Ok(last(&text, tail));
    }
    let lines = tail.to_string();
    let arguments = ["--unit", "kubelet", "--no-pager", "--output", "cat", "--lines", &lines];
    let output = Command::new("journalctl")
        .args(arguments)
        .output()
        .await
        .map_err(|error| CommandError::new(code::FILE, "journalctl cannot be run").cause(error))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether systemd keeps the log of the kubelet.
fn is_in_journal(root: &Path) -> bool {
    init_system(root) == "systemd" && !below(root, KUBELET).exists()
}

/// The newest log of a component's container.
fn component(root: &Path, name: &str, tail: usize) -> Result<String, CommandError> {
    let pods = below(root, PODS);
    let Some(file) = newest(&pods, name) else { return Err(no_log(&pods, name)) };
    let text = slipway_limits::file::read_text(&file, slipway_limits::size::LOG)
        .map_err(|error| CommandError::file("the log", &file, error))?;
    Ok(last(&text, tail).lines().map(said).collect::<Vec<_>>().join("\n"))
}

/// Why there is no log of a component.
fn no_log(pods: &Path, name: &str) -> CommandError {
    let mut names = components(pods);
    names.sort();
    names.dedup();
    let error = CommandError::new(
        code::NO_COMPONENT_LOG,
        format!("no container called {name} has a log on this machine"),
    );
    match names.is_empty() {
        true => error.hint("no container has one here: `slipway node logs` shows what the kubelet says"),
        false => error.hint(format!("these have: {}", names.join(", "))),
    }
}

/// The log files of containers: `<namespace>_<pod>_<uid>/<container>/<restart>.log`.
fn files(pods: &Path) -> Vec<(String, PathBuf)> {
    let folders = |path: &Path| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let containers = folders(pods).into_iter().flat_map(|pod| folders(&pod));
    containers
        .flat_map(|container| {
            let name = container.file_name().unwrap_or_default().to_string_lossy().into_owned();
            folders(&container).into_iter().map(move |file| (name.clone(), file))
        })
        .filter(|(_, file)| file.extension().is_some_and(|extension| extension == "log"))
        .collect()
}

fn components(pods: &Path) -> Vec<String> {
    files(pods).into_iter().map(|(name, _)| name).collect()
}

fn newest(pods: &Path, name: &str) -> Option<PathBuf> {
    let named = files(pods).into_iter().filter(|(container, _)| container == name);
    named
        .max_by_key(|(_, file)| std::fs::metadata(file).and_then(|metadata| metadata.modified()).ok())
        .map(|(_, file)| file)
}

/// The message in a line of a container's log, without time, stream and mark.
fn said(line: &str) -> &str {
    line.splitn(4, ' ').nth(3).unwrap_or(line)
}

fn last(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(count)..).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_log_of_a_component_is_shown_without_its_marks() {
        let root = tempfile::tempdir().unwrap();
        let error = format!("{:?}", component(root.path(), "nothing", 1).unwrap_err());
        assert!(error.contains("no container has one here"), "{error}");
        let folder = root.path().join("var/log/pods/kube-system_etcd-n1_abc/etcd");
        std::fs::create_dir_all(&folder).unwrap();
        let old = std::fs::File::create(folder.join("0.log")).unwrap();
        old.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        std::fs::write(
            folder.join("1.log"),
            "2026-01-01T00:00:00Z stderr F one\n2026-01-01T00:00:01Z stderr F two words\n",
        )
        .unwrap();
        assert_eq!(component(root.path(), "etcd", 1).unwrap(), "two words");
        let error = format!("{:?}", component(root.path(), "nothing", 1).unwrap_err());
        assert!(error.contains("these have: etcd"), "{error}");
    }
}
