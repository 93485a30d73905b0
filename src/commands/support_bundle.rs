//! `slipway support-bundle`

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use futures_util::{StreamExt as _, stream};
use slipway_operations::node_logs::NodeLogs;
use slipway_operations::support::{self, Report};
use slipway_spec::model::Host;
use tempfile::TempDir;

use super::logs;
use crate::cli::clusters::SupportBundleArguments;
use crate::commands::kubeconfig::open;
use crate::error::CommandError;
use crate::program::Context;

/// How many lines of each log.
const LINES: usize = 500;

/// How many logs are fetched at a time.
const AT_ONCE: usize = 16;

/// The components whose logs are read on each node.
const COMPONENTS: [&str; 5] =
    ["kubelet", "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];

/// Collects information for remote support, without secrets.
pub(crate) async fn run(
    context: &Context,
    arguments: &SupportBundleArguments,
) -> Result<ExitCode, CommandError> {
    let opened = open(context, &arguments.cluster).await?;
    let name = opened.spec.cluster.name.clone();
    let folder = arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("{name}-support")));
    let bundle = Bundle::new(&folder).map_err(|error| CommandError::file("the folder", &folder, error))?;
    bundle.write(&Report::new("slipway.txt", &format!("slipway {}\n", env!("CARGO_PKG_VERSION"))))?;
    for report in support::reports(&opened).await? {
        bundle.write(&report)?;
    }
    let hosts = opened.spec.cluster.all_hosts();
    if hosts.is_empty()
        && let Ok(logs) = NodeLogs::of(&opened).await?
    {
        match logs.reports(LINES).await {
            Ok(reports) => reports.iter().try_for_each(|report| bundle.write(report))?,
            Err(error) => bundle.write(&Report::new("logs.txt", &format!("{}\n", error.message)))?,
        }
    }
    let logs = hosts.iter().flat_map(|host| COMPONENTS.map(|component| (host, component)));
    let read = async |(host, component): (&Host, &str)| {
        // A worker has no API server. If a log cannot be read, the error is written in its place.
        let text = logs::read(host, context.policy.networks(), (component, LINES)).await;
        let text = text.unwrap_or_else(|error| format!("{}\n", error.message()));
        Report::new(format!("{}-{component}.log", host.name), &text)
    };
    let mut read = stream::iter(logs).map(read).buffered(AT_ONCE);
    while let Some(report) = read.next().await {
        bundle.write(&report)?;
    }
    bundle.done(&folder).map_err(|error| CommandError::file("the folder", &folder, error))?;
    context.output.message(&format!(
        "{} has what helps, without secrets; look through it before you give it away.",
        folder.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// A folder that is written beside the requested one, and renamed to it when it is complete.
struct Bundle {
    draft: TempDir,
}

impl Bundle {
    fn new(folder: &Path) -> io::Result<Self> {
        if folder.try_exists()? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        let mut draft = tempfile::Builder::new();
        let draft = draft.prefix(".slipway-support-").tempdir_in(parent.unwrap_or(Path::new(".")));
        Ok(Self { draft: draft? })
    }

    fn done(self, folder: &Path) -> io::Result<()> {
        std::fs::rename(self.draft.path(), folder)?;
        // The folder has its final name now and must not be removed.
        let _ = self.draft.keep();
        Ok(())
    }

    fn write(&self, report: &Report) -> Result<(), CommandError> {
        let path = self.draft.path().join(&report.file);
        std::fs::write(&path, &report.text).map_err(|error| CommandError::file("the file", &path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_whole_or_not_there() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("bundle");
        let entries = |folder: &Path| -> Vec<String> {
            let entries = std::fs::read_dir(folder).unwrap();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        };
        let half = Bundle::new(&folder).unwrap();
        half.write(&Report::new("one.txt", "1")).unwrap();
        drop(half);
        assert!(entries(parent.path()).is_empty());
        let whole = Bundle::new(&folder).unwrap();
        whole.write(&Report::new("one.txt", "1")).unwrap();
        whole.done(&folder).unwrap();
        assert_eq!(
            (entries(parent.path()), entries(&folder)),
            (vec!["bundle".into()], vec!["one.txt".into()])
        );
        assert_eq!(Bundle::new(&folder).err().unwrap().kind(), io::ErrorKind::AlreadyExists);
    }
}
