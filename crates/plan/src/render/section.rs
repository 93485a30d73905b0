//! The sections of a plan beside its changes: findings, notes, kept and deferred resources.

use std::collections::HashSet;

use slipway_resource::Address;

use super::block::{Block, INDENT};
use super::clean::clean;
use super::fold::fold;
use super::group::{Group, View};
use super::line::{Line, Mark, Style};
use super::roll::{prerequisites, wrapped};
use super::text::TextOptions;
use crate::scope::LeftOut;
use crate::step::{StepAction, StepId};

/// Maximum number of losses that are named below one confirmation; each lost resource is also shown as a
/// change.
const LOSSES: usize = 10;

/// How many of the changes that are left out are named.
const PENDING: usize = 20;

/// A heading and the lines below it; without lines it is left out.
pub(super) struct Section {
    /// The heading.
    pub(super) title: &'static str,
    /// How many things it tells of.
    pub(super) count: usize,
    /// Its lines.
    pub(super) lines: Vec<Line>,
}

/// Changes that were made outside Slipway.
pub(super) fn drift(view: &View<'_>, options: &TextOptions) -> Section {
    let changes = &view.plan.drift;
    let blocks = changes.iter().map(|change| Block::reported(change, options)).collect();
    let lines = fold(blocks, options).iter().flat_map(|fold| fold.lines(options)).collect();
    Section { title: "Changed outside Slipway", count: changes.len(), lines }
}

/// Resources that stay in the cloud.
pub(super) fn kept(view: &View<'_>, options: &TextOptions) -> Section {
    let changes = &view.plan.kept;
    let blocks = changes.iter().map(|change| Block::reported(change, options)).collect();
    let lines = fold(blocks, options).iter().flat_map(|fold| fold.lines(options)).collect();
    Section { title: "Kept", count: changes.len(), lines }
}

/// Gates on resources that do not change themselves, beside those that a roll tells of.
pub(super) fn gates(view: &View<'_>) -> Section {
    let plan = view.plan;
    let changed: HashSet<&Address> = plan.changes.iter().map(|change| &change.address).collect();
    let rolled =
        plan.changes.iter().filter(|change| !change.machines.is_empty()).map(|change| &change.address);
    let in_rolls: HashSet<StepId> = rolled
        .flat_map(|address| view.steps(address))
        .filter(|step| matches!(step.action, StepAction::Operation { .. }))
        .flat_map(|step| prerequisites(step, plan))
        .map(|step| step.id)
        .collect();
    let lines: Vec<Line> = plan
        .steps
        .iter()
        .filter(|step| matches!(step.action, StepAction::Operation { .. }))
        .filter(|step| {
            step.roll.is_none() && !changed.contains(&step.address) && !in_rolls.contains(&step.id)
        })
        .map(|step| Line::at(0).with(Style::Rolled, "» ").text(clean(&view.titles.title(step))))
        .collect();
    Section { title: "Also runs", count: lines.len(), lines }
}

/// Remarks on fields of the spec.
pub(super) fn notes(view: &View<'_>, options: &TextOptions) -> Section {
    let notes = &view.plan.notes;
    let lines = notes
        .iter()
        .flat_map(|note| {
            let text = format!("{}: {}", clean(&note.field), clean(&note.message));
            wrapped(&text, 0, options, Style::Plain)
        })
        .collect();
    Section { title: "Notes", count: notes.len(), lines }
}

/// Problems that would stop the plan.
pub(super) fn findings(view: &View<'_>, options: &TextOptions) -> Section {
    let findings = &view.plan.findings;
    let lines = findings
        .iter()
        .flat_map(|finding| {
            let subject = finding.address.as_ref().map(|address| format!("{address}: ")).unwrap_or_default();
            let text = format!("! {}: {}{}", finding.class, clean(&subject), clean(&finding.message));
            let mut lines: Vec<Line> = wrapped(&text, 0, options, Style::Warning)
                .into_iter()
                .map(|line| line.marked(Mark::Attention))
                .collect();
            if let Some(hint) = &finding.hint {
                lines.extend(wrapped(&format!("hint: {}", clean(hint)), 2, options, Style::Plain));
            }
            lines
        })
        .collect();
    Section { title: "Problems that will stop this plan", count: findings.len(), lines }
}

/// Properties of the spec that the infrastructure does not implement.
pub(super) fn infrastructure_only(view: &View<'_>, options: &TextOptions) -> Section {
    let missing = &view.plan.infrastructure_only;
    let mut lines: Vec<Line> = missing
        .iter()
        .flat_map(|text| wrapped(&format!("! {}", clean(text)), 0, options, Style::Warning))
        .map(|line| line.marked(Mark::Attention))
        .collect();
    if !missing.is_empty() && !view.plan.infrastructure_accepted {
        let hint = "hint: to make the infrastructure alone, run apply with --infrastructure-only";
        lines.extend(wrapped(hint, 2, options, Style::Plain));
    }
    Section { title: "Infrastructure only", count: missing.len(), lines }
}

/// Which names have to be given before the plan may be carried out, and what is lost then.
pub(super) fn confirmations(view: &View<'_>, options: &TextOptions) -> Section {
    let confirmations = view.plan.confirmations();
    let shown = if options.verbose { usize::MAX } else { LOSSES };
    let mut lines = Vec::new();
    for confirmation in &confirmations {
        let cluster = if options.several { format!("{}/", clean(&view.plan.cluster)) } else { String::new() };
        let flag = format!("! --confirm {cluster}{}", clean(&confirmation.name));
        lines.push(Line::at(0).with(Style::Warning, flag).marked(Mark::Attention));
        for loss in confirmation.losses.iter().take(shown) {
            let text = format!("{}: {}", clean(&loss.address), clean(loss.reason.trim_end_matches('.')));
            lines.extend(wrapped(&text, INDENT, options, Style::Plain));
        }
        if confirmation.losses.is_empty() {
            lines.extend(wrapped("the cluster is deleted", INDENT, options, Style::Plain));
        }
        let more = confirmation.losses.len().saturating_sub(shown);
        if more > 0 {
            lines.push(Line::at(INDENT).with(Style::Faint, format!("… and {more} more")));
        }
    }
    Section { title: "Needs a confirmation by name", count: confirmations.len(), lines }
}

/// Pending changes that a plan of a part leaves out.
pub(super) fn pending(view: &View<'_>, options: &TextOptions) -> Section {
    let pending = &view.plan.pending;
    let shown = if options.verbose { usize::MAX } else { PENDING };
    let line = |left_out: &LeftOut| {
        let group = Group::of_action(left_out.action, left_out.rolls);
        let word = group.title().to_lowercase();
        let line = Line::at(0).with(group.style(), format!("{} ", group.symbol()));
        line.text(clean(&left_out.address.to_string())).with(Style::Faint, format!("  {word}"))
    };
    let mut lines: Vec<Line> = pending.iter().take(shown).map(line).collect();
    let more = pending.len().saturating_sub(shown);
    if more > 0 {
        lines.push(Line::at(0).with(Style::Faint, format!("… and {more} more")));
    }
    Section { title: "Pending, left out of this plan", count: pending.len(), lines }
}

/// Differences of unchanged resources that the spec says to leave alone.
pub(super) fn ignored(view: &View<'_>, options: &TextOptions) -> Section {
    let ignored = &view.plan.ignored;
    let shown = if options.verbose { usize::MAX } else { PENDING };
    let mut lines = Vec::new();
    for resource in ignored.iter().take(shown) {
        let attributes: Vec<String> = resource.attributes.iter().map(ToString::to_string).collect();
        let text = format!("{}: {}", clean(&resource.address.to_string()), clean(&attributes.join(", ")));
        lines.extend(wrapped(&text, 0, options, Style::Plain));
    }
    let more = ignored.len().saturating_sub(shown);
    if more > 0 {
        lines.push(Line::at(0).with(Style::Faint, format!("… and {more} more")));
    }
    Section { title: "Left alone by ignoreChanges", count: ignored.len(), lines }
}

/// The plans that will follow.
pub(super) fn outlook(view: &View<'_>, options: &TextOptions) -> Section {
    let outlook = &view.plan.outlook;
    let lines = outlook.iter().flat_map(|text| wrapped(&clean(text), 0, options, Style::Plain)).collect();
    Section { title: "Afterwards", count: outlook.len(), lines }
}
