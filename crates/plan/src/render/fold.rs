//! Folds changes that look the same into one entry.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::attribute::{Attribute, layout};
use super::block::{Block, INDENT};
use super::clean::clean;
use super::group::Group;
use super::line::{Line, Style};
use super::names;
use super::roll::wrapped;
use super::text::TextOptions;
use crate::change::ChangeAction;
use crate::reason::ReasonCode;

/// Minimum number of new resources of one type with the same attributes that are folded into one entry.
const FOLDED_CREATES: usize = 4;

/// Minimum number of lines of a new resource that would hide the others. Where a type has such resources,
/// those of one field of the spec are folded and only named: the objects of an add-on.
const LONG: usize = 60;

/// Minimum number of types whose resources change in the same way that are folded into one entry, as when all get a new tag.
const TYPES: usize = 5;

/// How many names of harmless changes are listed.
const NAMES: usize = 24;

/// Changes that look the same.
pub(super) struct Fold<'p> {
    blocks: Vec<Block<'p>>,
    /// The field of the spec that asks for all of them, where their attributes are not shown.
    field: Option<String>,
}

/// The field of the spec that a new resource comes from.
fn field_of<'b>(block: &'b Block<'_>) -> Option<&'b str> {
    let reason = block.change.reasons.iter().find(|reason| reason.code == ReasonCode::Wanted)?;
    reason.origin.as_deref().filter(|_| block.group == Group::Create && !block.dangerous)
}

/// The types and fields of which there are so many new resources, and so long ones, that they would hide the others.
fn long_fields(blocks: &[Block<'_>]) -> HashSet<(String, String)> {
    let mut counts: HashMap<(&str, &str), usize> = HashMap::new();
    let mut long: HashSet<&str> = HashSet::new();
    for block in blocks {
        let Some(field) = field_of(block) else { continue };
        let kind = block.change.address.kind();
        *counts.entry((kind, field)).or_default() += 1;
        if block.attributes.len() > LONG {
            long.insert(kind);
        }
    }
    let many =
        counts.into_iter().filter(|((kind, _), count)| long.contains(kind) && *count >= FOLDED_CREATES);
    many.map(|((kind, field), _)| (kind.to_owned(), field.to_owned())).collect()
}

/// Whether a block lists the attributes of one object instead of differences.
fn is_listed(block: &Block<'_>) -> bool {
    matches!(block.change.action, ChangeAction::Create | ChangeAction::Delete)
}

/// The equal parts of two blocks that are folded into one entry.
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
        let listed = is_listed(block);
        Self {
            group: block.group,
            kind: block.change.address.kind(),
            how: block.how,
            // Resources differ in their names and ranges at least: it is enough that they have the same attributes.
            paths: if listed { block.attributes.iter().map(Attribute::path).collect() } else { Vec::new() },
            attributes: if listed { &[] } else { &block.attributes },
            notes: &block.notes,
        }
    }
}

/// Puts those that look the same together, each where the first one stood.
pub(super) fn fold<'p>(blocks: Vec<Block<'p>>, options: &TextOptions) -> Vec<Fold<'p>> {
    if options.verbose {
        return blocks.into_iter().map(|block| Fold { blocks: vec![block], field: None }).collect();
    }
    let long = long_fields(&blocks);
    let key = |block: &Block<'_>| {
        let key = (block.change.address.kind().to_owned(), field_of(block)?.to_owned());
        long.contains(&key).then_some(key)
    };
    let mut folds: Vec<Fold<'p>> = Vec::new();
    let mut found: HashMap<(String, String), usize> = HashMap::new();
    let mut rest = Vec::new();
    for block in blocks {
        let Some(key) = key(&block) else {
            rest.push(block);
            continue;
        };
        let field = key.1.clone();
        let position = *found.entry(key).or_insert(folds.len());
        match folds.get_mut(position) {
            Some(fold) => fold.blocks.push(block),
            None => folds.push(Fold { blocks: vec![block], field: Some(field) }),
        }
    }
    let mut all = across_types(alike(rest));
    all.extend(folds);
    sorted(all)
}

/// Puts those that look the same together, none of them without its attributes.
pub(super) fn fold_alike(blocks: Vec<Block<'_>>) -> Vec<Fold<'_>> {
    sorted(alike(blocks))
}

/// The folds with their resources in the order of the types and of the names.
fn sorted(mut folds: Vec<Fold<'_>>) -> Vec<Fold<'_>> {
    for fold in &mut folds {
        fold.blocks.sort_by(|left, right| {
            let (left, right) = (&left.change.address, &right.change.address);
            left.kind().cmp(right.kind()).then_with(|| names::compare(left.name(), right.name()))
        });
    }
    folds
}

/// What harmless changes in place of different types have in common: their differences and their notes.
type Difference<'b> = (&'b [Attribute], &'b [Line]);

fn difference<'b>(fold: &'b Fold<'_>) -> Option<Difference<'b>> {
    let first = fold.blocks.first()?;
    let is_plain = first.group == Group::Update && first.how.is_none() && !first.dangerous;
    (is_plain && !is_listed(first) && !first.attributes.is_empty())
        .then_some((first.attributes.as_slice(), first.notes.as_slice()))
}

/// Puts the changes of many types together that are made in the same way.
fn across_types(folds: Vec<Fold<'_>>) -> Vec<Fold<'_>> {
    let mut kinds: HashMap<Difference<'_>, (usize, HashSet<&str>)> = HashMap::new();
    for (position, fold) in folds.iter().enumerate() {
        if let (Some(difference), Some(first)) = (difference(fold), fold.blocks.first()) {
            let (_, kinds) = kinds.entry(difference).or_insert_with(|| (position, HashSet::new()));
            kinds.insert(first.change.address.kind());
        }
    }
    let mut places = Vec::with_capacity(folds.len());
    for (position, fold) in folds.iter().enumerate() {
        let first = difference(fold).and_then(|key| kinds.get(&key));
        let first = first.filter(|(_, kinds)| kinds.len() >= TYPES);
        places.push(first.map_or(position, |(first, _)| *first));
    }
    drop(kinds);
    let mut out: Vec<Fold<'_>> = Vec::new();
    let mut found: HashMap<usize, usize> = HashMap::new();
    for (fold, place) in folds.into_iter().zip(places) {
        let position = *found.entry(place).or_insert(out.len());
        match out.get_mut(position) {
            Some(other) => other.blocks.extend(fold.blocks),
            None => out.push(fold),
        }
    }
    out
}

/// Puts those together that have the same attributes.
fn alike(blocks: Vec<Block<'_>>) -> Vec<Fold<'_>> {
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
    let mut folds: Vec<Fold<'_>> = Vec::new();
    let mut found: HashMap<usize, usize> = HashMap::new();
    for (block, place) in blocks.into_iter().zip(places) {
        let position = *found.entry(place).or_insert(folds.len());
        match folds.get_mut(position) {
            Some(fold) => fold.blocks.push(block),
            None => folds.push(Fold { blocks: vec![block], field: None }),
        }
    }
    folds
}

impl Fold<'_> {
    /// How many resources are shown as one; none where each is shown.
    pub(super) fn folded(&self) -> usize {
        if self.blocks.len() > 1 { self.blocks.len() } else { 0 }
    }

    /// The blocks, in the order of their names.
    pub(super) fn blocks(&self) -> &[Block<'_>] {
        &self.blocks
    }

    /// The positions of the attributes that differ between the resources.
    pub(super) fn differing(&self) -> Vec<usize> {
        let Some((first, others)) = self.blocks.split_first() else { return Vec::new() };
        let differs = |position: &usize| {
            let own = first.attributes.get(*position);
            others.iter().any(|other| other.attributes.get(*position) != own)
        };
        (0..first.attributes.len()).filter(differs).collect()
    }

    /// The lines: of the one block, or of all at once.
    pub(super) fn lines(&self, options: &TextOptions) -> Vec<Line> {
        match self.blocks.as_slice() {
            [] => Vec::new(),
            [one] => one.lines(),
            [first, ..] => {
                let (count, kinds) = (self.blocks.len(), self.by_kind());
                let head = match kinds.len() {
                    1 => first.head(format!("{} × {count}", clean(first.change.address.kind()))),
                    kinds => first.head(format!("{count} resources of {kinds} types")),
                };
                if let Some(field) = &self.field {
                    let mut out = vec![head.with(Style::Faint, format!("  for {}", clean(field)))];
                    out.extend(self.names(false, options));
                    return out;
                }
                let mut out = vec![first.with_how(head)];
                if kinds.len() > 1 {
                    out.extend(kinds.iter().flat_map(|(kind, names)| of_kind(kind, names, options)));
                } else {
                    out.extend(self.names(first.dangerous, options));
                }
                out.extend(layout(&self.common(), INDENT));
                out.extend(first.notes.iter().cloned());
                out
            }
        }
    }

    /// The names by type.
    fn by_kind(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut kinds: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for block in &self.blocks {
            kinds.entry(block.change.address.kind()).or_default().push(block.change.address.name());
        }
        kinds
    }

    /// The attributes of all, those that differ only counted.
    fn common(&self) -> Vec<Attribute> {
        let Some(first) = self.blocks.first() else { return Vec::new() };
        if !is_listed(first) {
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
        let shown = if all { names::listed(&names) } else { shortened(&names, options) };
        wrapped(&shown, INDENT, options, Style::Plain)
    }
}

/// The names of one type in a fold of several.
fn of_kind(kind: &str, names: &[&str], options: &TextOptions) -> Vec<Line> {
    let text = format!("{}: {}", clean(kind), shortened(names, options));
    wrapped(&text, INDENT, options, Style::Plain)
}

/// The names, or the first ones where they would take too many lines.
fn shortened(names: &[&str], options: &TextOptions) -> String {
    let shown = names::listed(names);
    if names.len() <= NAMES || shown.len() <= options.width * 2 {
        return shown;
    }
    let first = names::listed(names.get(..NAMES).unwrap_or_default());
    format!("{first}, … and {} more", names.len() - NAMES)
}
