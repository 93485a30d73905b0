//! The changes: those that are dangerous first, then the others by group.

use std::collections::HashMap;

use super::super::block::Block;
use super::super::clean::plural;
use super::super::duration::duration;
use super::super::effect::effects;
use super::super::fold::{Fold, fold_alike};
use super::super::group::{Group, View};
use super::super::markup;
use super::super::ranked::Ranked;
use super::entry::Manner;
use super::section::Section;
use super::{OPTIONS, entry};
use crate::change::ResourceChange;

/// Above this number of entries, those of each type are folded together, and no entry is unfolded from the start.
const MANY: usize = 20;

/// Rows of the table of effects that are always visible.
const EFFECTS: usize = 12;

/// The sections of the planned changes, with those of changes made outside Slipway after the dangerous ones.
pub(super) fn sections(ranked: Ranked<'_>, view: &View<'_>) -> Vec<Option<Section>> {
    let Ranked { mut dangerous, harmless } = ranked;
    dangerous.sort_by_key(|block| std::cmp::Reverse(block.group));
    let mut sections = vec![effect_table(view), planned("dangerous", "Dangerous changes", dangerous)];
    sections.push(reported("drift", "Changed outside Slipway", &view.plan.drift));
    for (group, blocks) in harmless {
        sections.push(planned(entry::name(group), group.title(), blocks));
    }
    sections
}

/// Changes that no step makes: drift, or resources that are kept.
pub(super) fn reported(id: &'static str, title: &str, changes: &[ResourceChange]) -> Option<Section> {
    let blocks: Vec<Block<'_>> = changes.iter().map(|change| Block::reported(change, &OPTIONS)).collect();
    of_blocks(id, title, blocks, Manner::Reported(id))
}

fn planned(id: &'static str, title: &str, blocks: Vec<Block<'_>>) -> Option<Section> {
    of_blocks(id, title, blocks, Manner::Planned)
}

fn of_blocks(id: &'static str, title: &str, blocks: Vec<Block<'_>>, manner: Manner) -> Option<Section> {
    if blocks.is_empty() {
        return None;
    }
    let count = blocks.len();
    let is_urgent = blocks.iter().any(|block| block.dangerous);
    let folds = fold_alike(blocks);
    let mut body = String::new();
    if folds.len() <= MANY {
        folds.iter().for_each(|fold| entry::push(&mut body, fold, manner, true));
    } else {
        push_by_type(&mut body, &folds, manner);
    }
    Some(Section { id, title: title.to_owned(), count: Some(count), is_urgent, body })
}

/// Many entries, those of each type and group in a part of their own that can be unfolded.
fn push_by_type(out: &mut String, folds: &[Fold<'_>], manner: Manner) {
    let mut types: Vec<((Group, &str), Vec<&Fold<'_>>)> = Vec::new();
    let mut places: HashMap<(Group, &str), usize> = HashMap::new();
    for fold in folds {
        let Some(block) = fold.blocks().first() else { continue };
        let key = (block.group, block.change.address.kind());
        let place = *places.entry(key).or_insert_with(|| {
            types.push((key, Vec::new()));
            types.len() - 1
        });
        if let Some((_, folds)) = types.get_mut(place) {
            folds.push(fold);
        }
    }
    for (key, folds) in types {
        if let [single] = folds.as_slice() {
            entry::push(out, single, manner, false);
            continue;
        }
        let resources: usize = folds.iter().map(|fold| fold.blocks().len()).sum();
        entry::push_type(out, key, manner, resources);
        folds.into_iter().for_each(|fold| entry::push(out, fold, manner, false));
        out.push_str("</details>\n");
    }
}

/// The effects on users of the cluster, a row for each change.
fn effect_table(view: &View<'_>) -> Option<Section> {
    let effects = effects(view);
    if effects.is_empty() {
        return None;
    }
    let head = "<thead><tr><th scope=\"col\">Resource</th><th scope=\"col\">How</th>\
                <th scope=\"col\" class=\"number\">Machines</th><th scope=\"col\">Held up by</th>\
                <th scope=\"col\" class=\"number\">Work</th></tr></thead>\n";
    let rows: Vec<String> = effects
        .iter()
        .map(|effect| {
            let machines = if effect.machines > 0 { effect.machines.to_string() } else { String::new() };
            format!(
                "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"number\">{machines}</td><td>{}</td>\
                 <td class=\"number\">{}</td></tr>\n",
                markup::text(&effect.address.to_string()),
                effect.how,
                markup::text(&effect.blockers.join(", ")),
                duration(effect.work_ms),
            )
        })
        .collect();
    Some(Section {
        id: "effects",
        title: "Effects on the cluster".to_owned(),
        count: (effects.len() > 1).then_some(effects.len()),
        is_urgent: false,
        body: table(head, &rows, EFFECTS),
    })
}

/// A table of which the first rows are visible, and the others after they are unfolded.
pub(super) fn table(head: &str, rows: &[String], visible: usize) -> String {
    let (shown, folded) = rows.split_at(visible.min(rows.len()));
    let open = |rows: &[String]| {
        format!("<div class=\"wide\"><table>\n{head}<tbody>\n{}</tbody></table></div>\n", rows.concat())
    };
    let mut out = if shown.is_empty() { String::new() } else { open(shown) };
    if !folded.is_empty() {
        let more = plural(folded.len(), "more row", "more rows");
        out.push_str(&format!(
            "<details class=\"rest\"><summary>{more}</summary>\n{}</details>\n",
            open(folded)
        ));
    }
    out
}
