//! The steps' graph as it is drawn: without edges that others imply, and gathered when it is too large to see.

mod gather;
mod reduce;

use super::clean::clean;
use super::duration::duration;
use super::line::Style;
use crate::file::Plan;
use crate::step::{Step, StepAction};
use crate::titles::Titles;

pub(super) use gather::{chosen, gathered, gathered_of};
pub(super) use reduce::reduce;

/// A graph to draw; a node's edges come from nodes before it.
#[derive(Clone, Debug, Default)]
pub(super) struct Drawing {
    /// The nodes, in an order in which they could be done.
    pub(super) nodes: Vec<Node>,
    /// For each node, the positions of those that must be done before, sorted, each once.
    pub(super) before: Vec<Vec<usize>>,
    /// For each node, the positions of its steps, sorted.
    pub(super) members: Vec<Vec<usize>>,
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
    pub(super) fn of(plan: &Plan) -> Self {
        let all: Vec<&Step> = plan.steps.iter().collect();
        Self::each(&all, edges(&plan.steps), &Titles::of(plan))
    }

    /// A node for each of these steps, with the edges between them.
    fn each(steps: &[&Step], before: Vec<Vec<usize>>, titles: &Titles<'_>) -> Self {
        Self {
            nodes: steps.iter().map(|step| node(step, titles)).collect(),
            before: reduce(before),
            members: (0..steps.len()).map(|position| vec![position]).collect(),
        }
    }

    /// For each node the length of the longest chain that leads to it: the level on which it is drawn from the left.
    pub(super) fn levels(&self) -> Vec<usize> {
        levels(&self.before)
    }
}

/// For each node the length of the longest chain that leads to it.
pub(super) fn levels(before: &[Vec<usize>]) -> Vec<usize> {
    let mut levels: Vec<usize> = Vec::with_capacity(before.len());
    for before in before {
        let level =
            before.iter().filter_map(|earlier| levels.get(*earlier)).max().map_or(0, |level| level + 1);
        levels.push(level);
    }
    levels
}

/// The edges between some of the steps, given by their sorted positions: positions among them.
pub(super) fn inner(before: &[Vec<usize>], members: &[usize]) -> Vec<Vec<usize>> {
    let own = |member: &usize| {
        let before = before.get(*member).map(Vec::as_slice).unwrap_or_default();
        before.iter().filter_map(|earlier| members.binary_search(earlier).ok()).collect()
    };
    members.iter().map(own).collect()
}

/// For each step the positions of its dependencies that come before it.
pub(super) fn edges(steps: &[Step]) -> Vec<Vec<usize>> {
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

fn node(step: &Step, titles: &Titles<'_>) -> Node {
    let verb = step.action.verb();
    let title = titles.title(step);
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
