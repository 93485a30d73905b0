//! The plan as a page: one file that needs nothing else, to look at in a browser and to print.
//!
//! The page works without its script, which adds search and filters. A policy in the page lets a browser load nothing and run
//! nothing but this script. Every text of the plan passes through [`markup`](super::markup) before it becomes a part of the
//! page. Size and time are linear in the plan.

mod attributes;
mod changes;
mod document;
mod entry;
mod graph;
mod head;
mod lines;
mod prices;
mod section;
mod timeline;
mod words;

use super::block::Block;
use super::group::View;
use super::ranked::Ranked;
use super::section as shared;
use super::text::TextOptions;
use crate::file::Plan;
use section::Section;

/// Nothing is shortened, and the browser breaks the lines.
const OPTIONS: TextOptions =
    TextOptions { color: false, width: 1_000_000, fits: false, verbose: true, notes: true, several: false };

/// The plan as an HTML document that loads no other files: counts, dangerous changes first, the other changes, the rolls on a time
/// axis, the graph of steps, prices, and all remarks.
///
/// The document has no reference to anything outside of it.
#[must_use]
pub fn html(plan: &Plan) -> String {
    let view = View::of(plan);
    let ranked = Ranked::of(&view, |change| Block::without_gates(change, &view, &OPTIONS));
    let dangerous = ranked.dangerous.len();
    let tiles = head::tiles(&view, dangerous);
    let mut sections = vec![
        lines::callout("problems", &shared::findings(&view, &OPTIONS)),
        lines::callout("infrastructure", &shared::infrastructure_only(&view, &OPTIONS)),
        lines::callout("confirmations", &shared::confirmations(&view, &OPTIONS)),
    ];
    sections.extend(changes::sections(ranked, &view));
    sections.extend([
        timeline::section(&view),
        graph::section(plan),
        prices::section(plan),
        lines::listing("gates", &shared::gates(&view)),
        changes::reported("kept", "Kept", &plan.kept),
        lines::listing("pending", &shared::pending(&view, &OPTIONS)),
        lines::listing("ignored", &shared::ignored(&view, &OPTIONS)),
        lines::listing("notes", &shared::notes(&view, &OPTIONS)),
        lines::listing("outlook", &shared::outlook(&view, &OPTIONS)),
    ]);
    let sections: Vec<Section> = sections.into_iter().flatten().collect();
    document::document(&view, &head::head(&view, dangerous), &tiles, &sections)
}
