//! The plan for people at a terminal.

use std::collections::BTreeSet;

use super::block::Block;
use super::clean::{clean, plural};
use super::duration::duration;
use super::fold::{Fold, fold};
use super::group::{Group, View};
use super::line::{Line, Style};
use super::roll::wrapped;
use super::section::{self, Section};
use crate::change::{ChangeAction, ResourceChange};
use crate::file::{Mode, Plan};
use crate::reason::{Reason, ReasonCode};

/// How a plan is written for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Whether escape sequences colour the text.
    pub color: bool,
    /// Columns of the terminal; texts are folded to it, a diff never is.
    pub width: usize,
    /// Whether a value is cut that does not fit into the width, and the last lines are folded to it: the text is for a person at a
    /// terminal. Programs get every value whole.
    pub fits: bool,
    /// Whether everything is shown: nothing folded or shortened, including the attributes of deleted
    /// resources.
    pub verbose: bool,
    /// Whether remarks on fields of the spec are shown.
    pub notes: bool,
    /// Whether the command has plans of several clusters: a name that confirms a loss then begins with its cluster.
    pub several: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { color: false, width: 100, fits: false, verbose: false, notes: true, several: false }
    }
}

/// The plan as text: changes made outside Slipway, the changes with the dangerous ones last, kept resources,
/// problems that would stop it, and the counts with the digest at the end.
#[must_use]
pub fn text(plan: &Plan, options: &TextOptions) -> String {
    let view = View::of(plan);
    let mut out = String::new();
    let mut put = |section: &Section, why: &str| {
        if section.lines.is_empty() {
            return;
        }
        let count = if section.count > 1 { format!(" ({})", section.count) } else { String::new() };
        Line::at(0)
            .with(Style::Strong, format!("{}{count}{why}", section.title))
            .write(&mut out, options.color);
        for line in &section.lines {
            line.clone().indented(2).write(&mut out, options.color);
        }
        out.push('\n');
    };
    put(&section::drift(&view, options), "");
    let mut count = 0;
    for (group, changes) in view.shown() {
        let (section, more) = with_folded(group, changes, &view, options);
        put(&section, if is_of_deletion(changes) { ": the cluster is deleted" } else { "" });
        count += more;
    }
    put(&section::gates(&view), "");
    put(&section::kept(&view, options), "");
    put(&section::pending(&view, options), "");
    put(&section::ignored(&view, options), "");
    if options.notes {
        put(&section::notes(&view, options), "");
    }
    put(&section::infrastructure_only(&view, options), "");
    put(&section::findings(&view, options), "");
    put(&section::confirmations(&view, options), "");
    put(&section::outlook(&view, options), "");
    if count > 0 {
        let sentence =
            format!("{count} resources are shown together with similar ones; `--full` shows each of them.");
        out.push_str(&folded(&sentence, options));
    }
    out.push_str(&closing(&view, options));
    out
}

/// The symbols of a plan with their meanings, as `Symbols: + create, » roll`; `None` for a plan that shows no resource.
#[must_use]
pub fn legend(plan: &Plan) -> Option<String> {
    let view = View::of(plan);
    let mut groups: BTreeSet<Group> = view.shown().map(|(group, _)| group).collect();
    groups.extend(plan.drift.iter().chain(&plan.kept).map(Group::of));
    groups.extend(plan.pending.iter().map(|left_out| Group::of_action(left_out.action, left_out.rolls)));
    let meaning = |group: &Group| format!("{} {}", group.symbol(), group.title().to_lowercase());
    let symbols: Vec<String> = groups.iter().map(meaning).collect();
    (!symbols.is_empty()).then(|| format!("Symbols: {}", symbols.join(", ")))
}

/// The section of one group.
pub(super) fn changes_of(
    group: Group,
    changes: &[&ResourceChange],
    view: &View<'_>,
    options: &TextOptions,
) -> Section {
    with_folded(group, changes, view, options).0
}

/// Whether all these changes are made because the cluster is deleted.
fn is_of_deletion(changes: &[&ResourceChange]) -> bool {
    let is_cause = |reason: &Reason| reason.code == ReasonCode::ClusterDeleted;
    changes.iter().all(|change| change.reasons.iter().any(is_cause))
}

/// The section of one group, and how many of its resources are shown together with others.
fn with_folded(
    group: Group,
    changes: &[&ResourceChange],
    view: &View<'_>,
    options: &TextOptions,
) -> (Section, usize) {
    let blocks = changes.iter().map(|change| Block::of(change, view, options)).collect();
    let folds = fold(blocks, options);
    let folded = folds.iter().map(Fold::folded).sum();
    let lines = folds.iter().flat_map(|fold| fold.lines(options)).collect();
    (Section { title: group.title(), count: changes.len(), lines }, folded)
}

fn closing(view: &View<'_>, options: &TextOptions) -> String {
    if let Some(sentence) = nothing_to_do(view, &clean(&view.plan.cluster)) {
        return folded(&sentence, options);
    }
    let mut sentence = format!("Plan: {}.", view.counts);
    if let Some(time) = estimate(view.plan) {
        sentence.push(' ');
        sentence.push_str(&time);
    }
    let mut out = folded(&sentence, options);
    if let Some(prices) = &view.plan.prices {
        out.push_str(&folded(&clean(&prices.sentence()), options));
    }
    if let Ok(digest) = view.plan.digest() {
        out.push_str(&format!("Digest: {digest}\n"));
    }
    out
}

/// A sentence as lines of the terminal; as one line for a program.
fn folded(sentence: &str, options: &TextOptions) -> String {
    if !options.fits {
        return format!("{sentence}\n");
    }
    let mut out = String::new();
    for line in wrapped(sentence, 0, options, Style::Plain) {
        line.write(&mut out, false);
    }
    out
}

/// The sentence for a plan that does nothing, and for one that only looks.
pub(super) fn nothing_to_do(view: &View<'_>, cluster: &str) -> Option<String> {
    if view.plan.mode == Mode::Drift {
        return Some(match view.plan.drift.len() {
            0 if view.counts.deferred > 0 => format!("{cluster} could not be read completely."),
            0 => match unrecorded(view.plan) {
                0 => format!("No drift. Nothing of {cluster} was changed outside Slipway."),
                count => {
                    let resources = plural(count, "resource", "resources");
                    format!(
                        "No drift is known. The state does not have the values that were applied to {resources} of {cluster}; the next apply records them."
                    )
                }
            },
            count => {
                let resources = plural(count, "resource", "resources");
                format!("Drift: {resources} of {cluster} changed outside Slipway.")
            }
        });
    }
    if !view.plan.is_empty() {
        return None;
    }
    Some(match view.plan.mode {
        _ if view.plan.left_out > 0 => {
            format!("No changes to what was named; {} other pending are left out.", view.plan.left_out)
        }
        Mode::Delete => format!("No changes. Nothing of {cluster} is left to delete."),
        _ if !view.plan.drift.is_empty() => {
            format!("No changes to make. {cluster} is not as its spec says: it was changed outside Slipway.")
        }
        _ if !view.plan.ignored.is_empty() => {
            let count: usize = view.plan.ignored.iter().map(|resource| resource.attributes.len()).sum();
            let differences = plural(count, "difference", "differences");
            format!("No changes. {cluster} has {differences} from its spec that ignoreChanges leaves alone.")
        }
        _ if !view.plan.infrastructure_only.is_empty() => {
            format!("No changes. The infrastructure of {cluster} is as its spec says.")
        }
        _ => format!("No changes. {cluster} is as its spec says."),
    })
}

/// How many resources are in the state without what was applied to them: nothing tells whether they were changed since.
fn unrecorded(plan: &Plan) -> usize {
    let is_unrecorded = |change: &&ResourceChange| {
        change.action == ChangeAction::Adopt
            || change.reasons.iter().any(|reason| reason.code == ReasonCode::Unrecorded)
    };
    plan.changes.iter().filter(is_unrecorded).count()
}

/// How long it takes, as sentences; `None` for a plan that takes no time.
pub(super) fn estimate(plan: &Plan) -> Option<String> {
    if plan.steps.is_empty() || plan.estimate_ms == 0 {
        return None;
    }
    let (estimate, longest) = (duration(plan.estimate_ms), duration(plan.critical_path_ms));
    // The chain is of interest where limits of rates make the run longer.
    Some(match estimate == longest {
        true => format!("Estimated time {estimate}."),
        false => format!("Estimated time {estimate} (longest chain {longest})."),
    })
}
