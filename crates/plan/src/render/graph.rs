//! The steps' graph as it is drawn: without edges that others imply, and gathered when it is too large to see.

mod gather;
mod reduce;

use super::clean::clean;
use super::duration::duration;
use super::line::Style;
use crate::step::{Step, StepAction};

pub(super) use gather::gathered;
pub(super) use reduce::reduce;

/// A graph to draw; a node's edges come from nodes before it.
#[derive(Clone, Debug, Default)]
pub(super) struct Drawing {
    /// The nodes, in an order in which they could be done.
    pub(super) nodes: Vec<Node>,
    /// For each node, the positions of those that must be done before, sorted, each once.
    pub(super) before: Vec<Vec<usize>>,
}

/// A node to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// The action.
    pub(super) verb: String,
    /// To what.
    pub(super) subject: String,
    /// The duration, and the number of steps.
    pub(super) remark: String,
    /// The style, shown as colour.
    pub(super) style: Style,
}

impl Drawing {
    /// Every step, with the edges that are not implied by others.
    pub(super) fn of(steps: &[Step]) -> Self {
        Self { nodes: steps.iter().map(node).collect(), before: reduce(edges(steps)) }
    }
}

/// For each step the positions of its dependencies that come before it.
fn edges(steps: &[Step]) -> Vec<Vec<usize>> {
    steps
        .iter()
        .enumerate()
        .map(|(position, step)| {
            let mut before: Vec<usize> =
                step.depends_on.iter().map(|id| id.index()).filter(|index| *index < position).collect();
            before.sort_unstable();
            before.dedup();
            before
        })
        .collect()
}

fn node(step: &Step) -> Node {
    let verb = step.action.verb();
    let title = step.title();
    let subject = title.strip_prefix(verb).unwrap_or(&title).trim_start();
    Node {
        verb: clean(verb).into_owned(),
        subject: clean(subject).into_owned(),
        remark: if step.estimate_ms > 0 { duration(step.estimate_ms) } else { String::new() },
        style: style(&step.action),
    }
}

/// The colour of an action.
fn style(action: &StepAction) -> Style {
    match action {
        StepAction::Create => Style::Added,
        StepAction::Update | StepAction::Tag => Style::Changed,
        StepAction::Delete { .. } | StepAction::RemovedWithParent { .. } => Style::Removed,
        StepAction::Record | StepAction::Forget => Style::Faint,
        StepAction::Operation { .. } => Style::Rolled,
    }
}
