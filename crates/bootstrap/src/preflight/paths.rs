//! Files, directories and ports that must be free, and space.

use super::etcd_data::way_out;
use super::facts::{Facts, PathState, PortState};
use super::questions::Questions;
use super::{Checks, when};

pub(super) fn check(questions: &Questions, facts: &Facts, checks: &mut Checks) {
    for port in &questions.ports {
        let taken = match facts.ports.get(&port.number) {
            Some(PortState::Taken(program)) if !facts.owned.contains(&port.owner) => Some(program),
            _ => None,
        };
        let found = taken.map(|program| {
            let by = program.as_ref().map(|program| format!(" by {program}")).unwrap_or_default();
            let message = format!("port {} is in use{by}", port.number);
            (
                message,
                "stop what listens there, or `slipway node reset` what an earlier bootstrap left".to_owned(),
            )
        });
        checks.error(format!("Port-{}", port.number), found);
    }
    for file in &questions.absent_files {
        let there = is_there(facts, &file.path) && !facts.owned.contains(&file.path);
        let message = format!("{} already exists", file.path);
        let hint = "remove it, or `slipway node reset` what an earlier bootstrap left";
        checks.error(format!("FileAvailable{}", dashed(&file.path)), when(there, message, hint));
    }
    for path in &questions.empty_directories {
        let full = matches!(facts.paths.get(path), Some(PathState::Directory | PathState::File))
            && !facts.owned.contains(path);
        let (message, hint) = match facts.etcd_data.get(path) {
            Some(data) => (format!("{path} has {data}"), way_out(path)),
            None => (
                format!("{path} is not empty"),
                "it may hold the data of another cluster: move it away, or name another directory".to_owned(),
            ),
        };
        checks.error(format!("DirAvailable{}", dashed(path)), when(full, message, hint));
    }
    for (path, purpose) in &questions.present_files {
        let missing = !is_there(facts, path);
        let message = format!("{path} is missing: {purpose}");
        let hint = format!("put it there before the bootstrap: {purpose}");
        checks.error(present_check(path, questions), when(missing, message, hint));
    }
    for (path, wanted) in &questions.space_mib {
        let free = facts.free_mib.get(path).copied();
        let short = free.is_some_and(|free| free < *wanted);
        let message = format!("{path} has {} MiB free and needs {wanted} MiB", free.unwrap_or_default());
        let check = format!("DiskSpace{}", dashed(path));
        checks.warning(check, when(short, message, "free some space, or put a larger disk there"));
    }
}

fn present_check(path: &str, questions: &Questions) -> String {
    if questions.external_etcd.is_empty() {
        format!("FileExisting{}", dashed(path))
    } else {
        "ExternalEtcdClientCertificates".to_owned()
    }
}

fn is_there(facts: &Facts, path: &str) -> bool {
    !matches!(facts.paths.get(path), None | Some(PathState::Absent))
}

/// A path at the end of a check's name, as kubeadm writes it.
pub(super) fn dashed(path: &str) -> String {
    format!("-{}", path.replace('/', "-"))
}
