use slipway_limits::count;

use crate::{
    diagnostic::{Diagnostic, code},
    source::{SourceFile, Span},
};

/// How many fields or items are looked through for the cost of one value.
const SEARCHED: usize = 64;

/// How many values may still be rendered. Environments can repeat their bases, so that few lines stand for many values. Long texts
/// count as several values: see [`crate::yaml::Node::size`].
#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { left: count::RENDERED_VALUES }
    }
}

impl Budget {
    /// Takes a number of values. Returns whether so many were left.
    pub(super) fn take(&mut self, values: usize) -> bool {
        self.left = self.left.saturating_sub(values);
        self.left > 0
    }

    /// Takes what it costs to look through some fields or items. Returns whether so much was left.
    pub(super) fn search(&mut self, among: usize) -> bool {
        self.take(among / SEARCHED)
    }

    /// Whether nothing is left.
    pub(super) const fn is_spent(&self) -> bool {
        self.left == 0
    }
}

/// The error of an environment for which the budget does not suffice.
pub(super) fn spent(file: &SourceFile, span: Span) -> Diagnostic {
    let message =
        format!("the environments of this command render more than {} values", count::RENDERED_VALUES);
    Diagnostic::error(code::OVER_BUDGET, message)
        .at(file, span)
        .hint("name fewer environments with `-f`, or let fewer environments share large bases")
}
