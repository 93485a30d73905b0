//! Changes that look the same, told once.

use std::collections::HashMap;

use super::attribute::{Attribute, layout};
use super::block::{Block, INDENT};
use super::clean::clean;
use super::group::Group;
use super::line::{Line, Style};
use super::names;
use super::roll::wrapped;
use super::text::TextOptions;

/// From how many new resources of one type on that have the same attributes they are told together.
const FOLDED_CREATES: usize = 4;

/// How many names of harmless changes are listed.
const NAMES: usize = 24;

/// Changes that look the same.
pub(super) struct Fold<'p> {
    blocks: Vec<Block<'p>>,
}

/// What two blocks must have in common to be told as one.
#[derive(PartialEq, Eq, Hash)]
struct Shape<'b> {
    group: Group,
    kind: &'b str,
    how: Option<&'b str>,
    paths: Vec<&'b str>,
    attributes: &'b [Attribute],
    notes: &'b [Line],
}

impl<'b> Shape<'b> {
    fn of(block: &'b Block<'_>) -> Self {
        let create = block.group == Group::Create;
        Self {
            group: block.group,
            kind: block.change.address.kind(),
            how: block.how,
            // New resources differ in their names and ranges at least: it is enough that they have the same
            // attributes.
            paths: if create { block.attributes.iter().map(Attribute::path).collect() } else { Vec::new() },
            attributes: if create { &[] } else { &block.attributes },
            notes: &block.notes,
        }
    }
}

/// Puts those that look the same together, each where the first one stood.
pub(super) fn fold<'p>(blocks: Vec<Block<'p>>, options: &TextOptions) -> Vec<Fold<'p>> {
    if options.verbose {
        return blocks.into_iter().map(|block| Fold { blocks: vec![block] }).collect();
    }
    let mut sizes: HashMap<Shape<'_>, (usize, usize)> = HashMap::new();
    for block in &blocks {
        let next = sizes.len();
        sizes.entry(Shape::of(block)).or_insert((next, 0)).1 += 1;
    }
    let mut order = sizes.len();
    let places: Vec<usize> = blocks
        .iter()
        .map(|block| {
            let (place, size) = sizes.get(&Shape::of(block)).copied().unwrap_or_default();
            let enough = if block.group == Group::Create { FOLDED_CREATES } else { 2 };
            if size >= enough {
                place
            } else {
                order += 1;
                order
            }
        })
        .collect();
    drop(sizes);
    let mut folds: Vec<Fold<'p>> = Vec::new();
    let mut found: HashMap<usize, usize> = HashMap::new();
    for (block, place) in blocks.into_iter().zip(places) {
        let position = *found.entry(place).or_insert(folds.len());
        match folds.get_mut(position) {
            Some(fold) => fold.blocks.push(block),
            None => folds.push(Fold { blocks: vec![block] }),
        }
    }
    for fold in &mut folds {
        fold.blocks
            .sort_by(|left, right| names::compare(left.change.address.name(), right.change.address.name()));
    }
    folds
}

impl Fold<'_> {
    /// The lines: of the one block, or of all at once.
    pub(super) fn lines(&self, options: &TextOptions) -> Vec<Line> {
        match self.blocks.as_slice() {
            [] => Vec::new(),
            [one] => one.lines(),
            [first, ..] => {
                let kind = clean(first.change.address.kind());
                let mut out = vec![first.with_how(first.head(format!("{kind} × {}", self.blocks.len())))];
                out.extend(self.names(first.dangerous, options));
                out.extend(layout(&self.common(), INDENT));
                out.extend(first.notes.iter().cloned());
                out
            }
        }
    }

    /// The attributes of all, those that differ only counted.
    fn common(&self) -> Vec<Attribute> {
        let Some(first) = self.blocks.first() else { return Vec::new() };
        if first.group != Group::Create {
            return first.attributes.clone();
        }
        (0..first.attributes.len())
            .filter_map(|position| {
                let same: Vec<&Attribute> =
                    self.blocks.iter().filter_map(|block| block.attributes.get(position)).collect();
                Attribute::common(&same)
            })
            .collect()
    }

    /// The names, all of them when the change is dangerous.
    fn names(&self, all: bool, options: &TextOptions) -> Vec<Line> {
        let names: Vec<&str> = self.blocks.iter().map(|block| block.change.address.name()).collect();
        let shown = names::listed(&names);
        if all || names.len() <= NAMES || shown.len() <= options.width * 2 {
            return wrapped(&shown, INDENT, options, Style::Plain);
        }
        let first = names::listed(names.get(..NAMES).unwrap_or_default());
        let text = format!("{first}, … and {} more", names.len() - NAMES);
        wrapped(&text, INDENT, options, Style::Plain)
    }
}
