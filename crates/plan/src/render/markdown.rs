//! The plan as a comment on a pull request.
//!
//! First the verdict, then the disruption, then the dangerous changes, which are never folded. The other
//! parts fold into `<details>`. Changes that do not fit are counted instead.

mod escape;
mod part;

use std::collections::BTreeMap;

use super::block::Block;
use super::clean::{clean, plural};
use super::duration::duration;
use super::effect::effects;
use super::fold::fold;
use super::group::{Group, View};
use super::ranked::Ranked;
use super::text::{TextOptions, estimate, nothing_to_do};
use super::verdict::{kind, verdict};
use super::{markup, section};
use crate::file::Plan;
use escape::fence;
pub use escape::{code, quoted};
use part::{Part, assemble};

/// Maximum size of a comment in bytes. It fits platforms with a limit of 64 kB, with room for a frame.
pub const COMMENT_LIMIT: usize = 60_000;

/// Rows of the disruption table.
const ROWS: usize = 20;

/// Types named in a summary.
const TYPES: usize = 8;

const OPTIONS: TextOptions =
    TextOptions { color: false, width: 110, fits: true, verbose: false, notes: true, several: false };

/// The plan as GitHub-flavoured markdown of at most `limit` bytes, 60,000 for a comment ([`COMMENT_LIMIT`]).
///
/// Values of the plan are always in code spans, so they cannot act as markdown, HTML or mentions of users.
#[must_use]
pub fn markdown(plan: &Plan, limit: usize) -> String {
    let view = View::of(plan);
    let Ranked { dangerous, harmless } = Ranked::of(&view, |change| Block::of(change, &view, &OPTIONS));
    let head = head(&view, dangerous.len());
    let foot = foot(plan);
    let mut parts = vec![
        findings(&view),
        infrastructure_only(&view),
        confirmations(&view),
        table(&view),
        dangers(dangerous),
    ];
    parts.extend(harmless.into_iter().map(|(group, blocks)| details(group, blocks)));
    for section in [
        section::drift(&view, &OPTIONS),
        section::gates(&view),
        section::kept(&view, &OPTIONS),
        section::pending(&view, &OPTIONS),
        section::ignored(&view, &OPTIONS),
        section::notes(&view, &OPTIONS),
        section::outlook(&view, &OPTIONS),
    ] {
        let title = plural_title(section.title, section.count);
        parts.push(folded(&title, section.count, &section.lines));
    }
    assemble(&head, parts, &foot, limit)
}

/// The number of dangerous changes of a plan: those that [`markdown`] never folds.
#[must_use]
pub fn dangerous(plan: &Plan) -> usize {
    let view = View::of(plan);
    Ranked::of(&view, |change| Block::of(change, &view, &OPTIONS)).dangerous.len()
}

fn head(view: &View<'_>, dangerous: usize) -> String {
    let plan = view.plan;
    let title = format!("### {} for {}\n\n", kind(plan.mode), code(&plan.cluster));
    if let Some(sentence) = nothing_to_do(view, &code(&plan.cluster)) {
        return format!("{title}{sentence}\n");
    }
    let verdict: String =
        verdict(view, dangerous).iter().map(|(_, sentence)| format!("**{sentence}** ")).collect();
    let time = estimate(plan).map(|time| format!(" {time}")).unwrap_or_default();
    let price = plan
        .prices
        .as_ref()
        .map(|prices| format!("\n{}\n", code(&clean(&prices.sentence()))))
        .unwrap_or_default();
    format!("{title}{verdict}Plan: {}.{time}\n{price}", view.counts)
}

fn foot(plan: &Plan) -> String {
    let mut out = String::new();
    if let Ok(digest) = plan.digest() {
        out.push_str(&format!("Digest `{digest}`"));
        match plan.binding.generation {
            Some(generation) => out.push_str(&format!(", made from state generation {generation}.\n")),
            None => out.push_str(", made without state.\n"),
        }
    }
    if !plan.steps.is_empty() {
        out.push_str("Apply exactly this plan with `slipway apply <plan file>`.\n");
    }
    out
}

/// The effects on users of the cluster, a row for each change.
fn table(view: &View<'_>) -> Part {
    let effects = effects(view);
    if effects.is_empty() {
        return Part::default();
    }
    let mut out = String::from(
        "| Disrupts | How | Machines | Held up by | Work |\n| --- | --- | ---: | --- | ---: |\n",
    );
    for effect in effects.iter().take(ROWS) {
        let blockers: Vec<String> = effect.blockers.iter().take(3).map(|blocker| code(blocker)).collect();
        out.push_str(&format!(
            "| {} | {} | {} | {} | {} |\n",
            code(&effect.address.to_string()),
            effect.how,
            effect.machines,
            blockers.join("<br>"),
            duration(effect.work_ms),
        ));
    }
    if effects.len() > ROWS {
        out.push_str(&format!("| … and {} more | | | | |\n", effects.len() - ROWS));
    }
    let short =
        format!("{} noticed by users of the cluster.\n", plural(effects.len(), "change is", "changes are"));
    Part { full: out, short }
}

/// The dangerous changes in full, or as a table of how many there are of each type.
fn dangers(blocks: Vec<Block<'_>>) -> Part {
    if blocks.is_empty() {
        return Part::default();
    }
    let title = format!("#### Dangerous: {}\n\n", plural(blocks.len(), "change", "changes"));
    let mut counts: BTreeMap<(Group, String), usize> = BTreeMap::new();
    for block in &blocks {
        *counts.entry((block.group, block.change.address.kind().to_owned())).or_default() += 1;
    }
    let mut counts: Vec<((Group, String), usize)> = counts.into_iter().collect();
    counts.sort_by(|left, right| right.0.0.cmp(&left.0.0).then(right.1.cmp(&left.1)));
    let mut short = format!("{title}Too many to list here; the plan itself has all of them.\n\n");
    short.push_str("| | Type | How many |\n| --- | --- | ---: |\n");
    let rows = 4 * ROWS;
    for ((group, kind), count) in counts.iter().take(rows) {
        short.push_str(&format!("| {} | {} | {count} |\n", group.title(), code(kind)));
    }
    if let Some(rest) = counts.get(rows..).filter(|rest| !rest.is_empty()) {
        let sum: usize = rest.iter().map(|(_, count)| count).sum();
        short.push_str(&format!("| | {} more types | {sum} |\n", rest.len()));
    }
    let lines: Vec<_> = fold(blocks, &OPTIONS).iter().flat_map(|fold| fold.lines(&OPTIONS)).collect();
    Part { full: format!("{title}{}", fence(&lines)), short }
}

/// A group's harmless changes, folded away under their counts by type.
fn details(group: Group, blocks: Vec<Block<'_>>) -> Part {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for block in &blocks {
        *counts.entry(block.change.address.kind()).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(kind, count)| (std::cmp::Reverse(*count), *kind));
    let mut types: Vec<String> =
        counts.iter().take(TYPES).map(|(kind, count)| format!("{count} {}", markup::text(kind))).collect();
    if counts.len() > TYPES {
        types.push(format!("{} more types", counts.len() - TYPES));
    }
    let title = format!("{} ({}): {}", group.title(), blocks.len(), types.join(", "));
    let lines: Vec<_> = fold(blocks, &OPTIONS).iter().flat_map(|fold| fold.lines(&OPTIONS)).collect();
    let mut part = folded(&title, counts.len(), &lines);
    if group == Group::Deferred {
        part.full = format!("#### Deferred\n\n{}", fence(&lines));
    }
    part
}

fn findings(view: &View<'_>) -> Part {
    let section = section::findings(view, &OPTIONS);
    let short = format!("{} would stop this plan.\n", plural(section.count, "finding", "findings"));
    open(&section, short)
}

fn infrastructure_only(view: &View<'_>) -> Part {
    let section = section::infrastructure_only(view, &OPTIONS);
    open(&section, "Its machines will not become nodes; `slipway show` tells why.\n".to_owned())
}

fn confirmations(view: &View<'_>) -> Part {
    let section = section::confirmations(view, &OPTIONS);
    let names = plural(section.count, "confirmation", "confirmations");
    open(&section, format!("It needs {names} by name; `slipway show` lists them.\n"))
}

/// A section that is never folded away.
fn open(section: &section::Section, short: String) -> Part {
    if section.lines.is_empty() {
        return Part::default();
    }
    Part { full: format!("#### {}\n\n{}", section.title, fence(&section.lines)), short }
}

fn folded(title: &str, count: usize, lines: &[super::line::Line]) -> Part {
    if count == 0 || lines.is_empty() {
        return Part::default();
    }
    Part {
        full: format!("<details>\n<summary>{title}</summary>\n\n{}\n</details>\n", fence(lines)),
        short: format!("{title}. Left out here for its length.\n"),
    }
}

fn plural_title(title: &str, count: usize) -> String {
    if count > 1 { format!("{title} ({count})") } else { title.to_owned() }
}
