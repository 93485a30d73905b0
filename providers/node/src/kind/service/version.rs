//! The version of the program that a service runs.

use std::fs;
use std::path::Path;

use slipway_resource::provider::{Disruption, Planned};
use slipway_resource::{ProviderError, Value};

use crate::attributes::Attributes;
use crate::kind::program::printed;
use crate::program;

/// The attribute with the desired version.
pub(super) const WANTED: &str = "program_version";
/// The attribute with the version that runs.
pub(super) const RUNNING: &str = "version";

/// The version of the program that a service runs. Absent when the service does not declare a program, or when its process is unknown.
pub(super) async fn of_running(
    service: &str,
    wanted: Attributes<'_>,
    pid: Option<u32>,
) -> Result<Option<String>, ProviderError> {
    match pid {
        Some(pid) if wanted.optional_text("steady_node")?.is_some() => Ok(of_process(service, pid).await),
        _ => Ok(None),
    }
}

/// Whether a version is the desired one, as far as it is known.
pub(super) fn is_wanted(wanted: Attributes<'_>, running: Option<&str>) -> Result<bool, ProviderError> {
    let wanted = wanted.optional_text(WANTED)?;
    Ok(running.zip(wanted).is_none_or(|(running, wanted)| running == wanted))
}

/// The output of a process' program for `--version`; its file may have been replaced since the process began.
/// A program with another name than its service starts the service's program, and is seen only for a moment.
async fn of_process(service: &str, pid: u32) -> Option<String> {
    let program = format!("/proc/{pid}/exe");
    let file = fs::read_link(&program).ok()?;
    file.file_name()?.to_str().filter(|name| name.starts_with(service))?;
    let output = program::run_at(Path::new(&program), &["--version"]).await.ok()?;
    output.success.then(|| printed(&output.out)).flatten()
}

/// Adds the reason how a change of version is made. Kubernetes supports a change of the minor version only on
/// a node without pods; with a patch release, running pods continue.
pub(super) fn explain(observed: &Value, planned: &mut Planned) {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let (Some(from), Some(to)) = (text(observed, RUNNING), text(&planned.normalised, WANTED)) else { return };
    if from == to {
        return;
    }
    if minor(&from) == minor(&to) {
        planned.disruption = planned.disruption.max(Disruption::Brief);
        planned
            .reasons
            .push(format!("{from} and {to} have the same minor version: pods on the node keep running"));
    } else {
        planned.disruption = Disruption::Rolling;
        planned
            .reasons
            .push(format!("the minor version changes from {from} to {to}: the node is drained before"));
    }
}

/// The part of a version before its patch release.
fn minor(version: &str) -> Option<(&str, &str)> {
    let mut parts = version.split('.');
    parts.next().zip(parts.next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minor_version_drains_and_a_patch_release_does_not() {
        let change = |from: &str, to: &str| {
            let wanted = Value::map([(WANTED, Value::from(to))]);
            let mut planned = Planned { normalised: wanted, ..Planned::default() };
            explain(&Value::map([(RUNNING, Value::from(from))]), &mut planned);
            (planned.disruption, planned.reasons.len())
        };
        assert_eq!(change("1.34.4", "1.34.4"), (Disruption::None, 0));
        assert_eq!(change("1.34.4", "1.34.5"), (Disruption::Brief, 1));
        assert_eq!(change("1.33.9", "1.34.0"), (Disruption::Rolling, 1));
    }

    #[test]
    fn a_version_that_is_not_known_is_no_difference() {
        let wanted = Value::map([(WANTED, Value::from("1.34.4"))]);
        let is = |running: Option<&str>| is_wanted(Attributes(&wanted), running).unwrap();
        assert!(is(Some("1.34.4")) && is(None) && !is(Some("1.34.5")));
        assert!(is_wanted(Attributes(&Value::Null), Some("1.34.5")).unwrap());
    }
}
