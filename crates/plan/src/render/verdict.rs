//! The first sentences about a plan: whether it is complete, may start, and is dangerous.

use super::clean::plural;
use super::group::View;
use super::line::Style;
use crate::file::Mode;

/// The kind of a plan, as its title begins.
pub(super) fn kind(mode: Mode) -> &'static str {
    match mode {
        Mode::Apply => "Plan",
        Mode::Delete => "Deletion plan",
        Mode::Drift => "Drift",
    }
}

/// The verdict on a plan that does something, as sentences with the style of their weight. `dangerous` is the number of its
/// dangerous changes.
pub(super) fn verdict(view: &View<'_>, dangerous: usize) -> Vec<(Style, String)> {
    let plan = view.plan;
    let mut sentences = Vec::new();
    if view.counts.deferred > 0 {
        let count = usize::try_from(view.counts.deferred).unwrap_or(usize::MAX);
        let resources = plural(count, "resource", "resources");
        sentences.push((Style::Changed, format!("Incomplete: {resources} could not be decided.")));
    }
    if !plan.findings.is_empty() {
        let findings = plural(plan.findings.len(), "finding", "findings");
        sentences.push((Style::Warning, format!("Would be stopped by {findings}.")));
    }
    if dangerous > 0 {
        let changes = plural(dangerous, "dangerous change", "dangerous changes");
        sentences.push((Style::Warning, format!("{changes}.")));
    } else if plan.findings.is_empty() {
        sentences.push((Style::Added, "No dangerous changes.".to_owned()));
    }
    sentences
}
