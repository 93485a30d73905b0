use anyhow::Result;
use serde::Deserialize;
use slipway_engine::State;
use slipway_plan::render::{self, TextOptions};
use slipway_plan::{Error, Mode, Plan, ResourceChange, Snapshot};
use slipway_resource::Value;

use super::{READ_BACK, Verdict};
use crate::corpus::{ends, files};

/// The cluster of all snapshots.
const CLUSTER: &str = "line";

/// The law of plan files that are accepted.
const SHOWN: &str = "the differences of an accepted plan are those of the values that it sends";

fn found(folders: &[&str], takes: impl Fn(&std::path::Path) -> bool) -> Result<Vec<Vec<u8>>> {
    Ok(files(folders, takes)?.into_iter().map(|(_, bytes)| bytes).collect())
}

pub(super) fn plans() -> Result<Vec<Vec<u8>>> {
    let mut all = found(&["fixtures/fuzz/plan"], |_| true)?;
    all.extend(found(&["fixtures/state-formats/stores"], |path| ends(path, &["plan.slipway"]))?);
    Ok(all)
}

pub(super) fn snapshots() -> Result<Vec<Vec<u8>>> {
    let mut all = found(&["fixtures/fuzz/snapshot"], |_| true)?;
    let is_snapshot = |path: &std::path::Path| path.to_string_lossy().contains("/snapshots/");
    all.extend(found(&["fixtures/fuzz/store", "fixtures/state-formats/stores"], is_snapshot)?);
    Ok(all)
}

/// Reads a plan file, and shows it in every form.
///
/// A changed plan does not have its digest any more, and nothing behind the check of the digest would be reached. So it is written
/// with its own digest, and read again.
pub(super) fn plan(input: &[u8]) -> Verdict {
    match Plan::from_bytes_with(input) {
        Err(Error::Damaged) => with_own_digest(input),
        Err(Error::NotAPlan(error)) if !error.is_data() => Verdict::syntax(error),
        Err(Error::NotAPlan(error)) => Verdict::content(error),
        Err(error) => Verdict::content(error),
        Ok((plan, sealed)) => written(&plan, sealed.as_ref()),
    }
}

/// The parts of a plan file without its digest.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    sealed: Option<serde_json::Value>,
    plan: Plan,
}

fn with_own_digest(input: &[u8]) -> Verdict {
    match serde_json::from_slice(input) {
        Err(error) => Verdict::content(error),
        Ok(File { sealed, plan }) => written(&plan, sealed.as_ref()),
    }
}

fn written(plan: &Plan, sealed: Option<&serde_json::Value>) -> Verdict {
    let again = plan.to_bytes_with(sealed).and_then(|bytes| Plan::from_bytes_with(&bytes));
    match again {
        Err(error @ Error::Unsound { .. }) => Verdict::content(error),
        Err(error) => Verdict::lawful(false, &format!("{READ_BACK}: {error}")),
        Ok((again, _)) if again.mode != Mode::Drift && !again.changes.iter().all(sends_what_it_shows) => {
            Verdict::lawful(false, SHOWN)
        }
        Ok((again, again_sealed)) => {
            let mut verdict = Verdict::lawful(again == *plan && again_sealed.as_ref() == sealed, READ_BACK);
            verdict.words.push_str(&shown(plan));
            // As before a plan is shown.
            if let Err(error) = again.check_alone() {
                verdict.words.push_str(&error.to_string());
            }
            verdict
        }
    }
}

/// Whether each difference of a change has the value that its step sends. A value that is not sent has its default, and one that the
/// server sets again is unknown.
fn sends_what_it_shows(change: &ResourceChange) -> bool {
    change.changes.iter().all(|difference| {
        let sent = change.after.at(&difference.path).unwrap_or(&Value::Null);
        sent.is_null() || *sent == difference.after || difference.after == Value::Unknown
    })
}

/// The size of a plan in every form.
fn shown(plan: &Plan) -> String {
    let verbose = TextOptions { verbose: true, ..TextOptions::default() };
    let forms = [
        render::text(plan, &verbose),
        render::markdown(plan, 60_000),
        render::json(plan).to_string(),
        render::dot(plan),
        render::svg(plan),
    ];
    let size = |form: &String| {
        char::from(b'a' + u8::try_from(form.len().checked_ilog2().unwrap_or(0)).unwrap_or(25))
    };
    let actions = plan.changes.iter().map(|change| format!("{:?}", change.action));
    forms.iter().map(size).chain([' ']).collect::<String>() + &actions.collect::<Vec<_>>().join(" ")
}

/// Reads a snapshot. It is written in the newest form that it needs.
pub(super) fn snapshot(input: &[u8]) -> Verdict {
    match State::snapshot_of(CLUSTER, input) {
        Err(error) => Verdict::of_json(input, full(&error)),
        Ok(snapshot) => {
            let again = snapshot.to_bytes().ok().and_then(|bytes| State::snapshot_of(CLUSTER, &bytes).ok());
            let newest = Snapshot { format: snapshot.stored_format(), ..snapshot };
            Verdict::lawful(again.as_ref() == Some(&newest), READ_BACK)
        }
    }
}

/// A message with its causes.
pub(super) fn full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
