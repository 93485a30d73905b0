//! The history's entry for a run.

use std::collections::BTreeMap;

use slipway_plan::{ChangeAction, Plan};
use slipway_state_store::Outcome;

use crate::report::Report;

/// The outcome of a run.
pub(crate) fn outcome(plan: &Plan, report: &Report) -> Outcome {
    if !report.failures.is_empty() {
        Outcome::Failed
    } else if !report.is_complete() {
        Outcome::Stopped
    } else if plan.has_deferred() {
        Outcome::Deferred
    } else {
        Outcome::Complete
    }
}

/// A sentence on the work of a run: its changes when it is complete, its steps when it is not.
pub(crate) fn summary(plan: &Plan, report: &Report) -> String {
    if !report.is_complete() {
        let done = report.done + report.done_before;
        let failed = report.failures.len();
        let under_way = match report.under_way {
            0 => String::new(),
            steps => format!("{steps} left under way, "),
        };
        return format!("{done} steps done, {failed} failed, {under_way}{} not started", report.not_begun);
    }
    let mut counts: BTreeMap<usize, (&str, usize)> = BTreeMap::new();
    for change in &plan.changes {
        let (rank, word) = match change.action {
            ChangeAction::Create => (0, "created"),
            ChangeAction::Update => (1, "updated"),
            ChangeAction::NoOp if !change.machines.is_empty() => (2, "rolled"),
            ChangeAction::ReplaceDeleteFirst | ChangeAction::ReplaceCreateFirst => (3, "replaced"),
            ChangeAction::Delete => (4, "deleted"),
            ChangeAction::Forget => (5, "forgotten"),
            ChangeAction::NoOp | ChangeAction::Adopt | ChangeAction::Record => (6, "recorded"),
            ChangeAction::Deferred => (7, "deferred"),
        };
        counts.entry(rank).or_insert((word, 0)).1 += 1;
    }
    if counts.is_empty() {
        return "nothing changed".to_owned();
    }
    counts.into_values().map(|(word, count)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// Facts about a cluster for lists, from the applied spec.
#[must_use]
pub fn about(spec: &serde_json::Value) -> BTreeMap<String, String> {
    let fields = [("provider", "/provider/name"), ("version", "/kubernetesVersion"), ("region", "/region")];
    let known =
        |(name, pointer): (&str, &str)| Some((name.to_owned(), spec.pointer(pointer)?.as_str()?.to_owned()));
    fields.into_iter().filter_map(known).collect()
}
