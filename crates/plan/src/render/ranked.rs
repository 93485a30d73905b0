//! The planned changes by danger, for renderings that do not show all of them alike.

use super::block::Block;
use super::group::{Group, View};
use crate::change::ResourceChange;

/// The changes of a plan, those that lose data or interrupt the cluster apart from the others.
pub(super) struct Ranked<'p> {
    /// The dangerous changes, in the order of their groups.
    pub(super) dangerous: Vec<Block<'p>>,
    /// The other changes by group; groups that need most attention come first.
    pub(super) harmless: Vec<(Group, Vec<Block<'p>>)>,
}

impl<'p> Ranked<'p> {
    /// Sorts the changes to show, each with its block.
    pub(super) fn of(view: &View<'p>, block: impl Fn(&'p ResourceChange) -> Block<'p>) -> Self {
        let mut ranked = Self { dangerous: Vec::new(), harmless: Vec::new() };
        for (group, changes) in view.shown() {
            let blocks = changes.iter().map(|change| block(change));
            let (dangers, rest): (Vec<_>, Vec<_>) = blocks.partition(|block| block.dangerous);
            ranked.dangerous.extend(dangers);
            if !rest.is_empty() {
                ranked.harmless.push((group, rest));
            }
        }
        ranked.harmless.sort_by_key(|(group, _)| std::cmp::Reverse(*group));
        ranked
    }
}
